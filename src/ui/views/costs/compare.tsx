import type { CostRow, CostTotal } from "../../../contract/costs.ts";
import { escapeText } from "../../../kernel/text.ts";
import { count, plural } from "../../format/number.ts";
import { useData, usePages } from "../../hooks/data.ts";
import { hrefWith, type QueryChange, useRoute } from "../../hooks/route.ts";
import { Card, Stat, Stats } from "../../parts/card.tsx";
import type { Choice } from "../../parts/filters.tsx";
import { Link } from "../../parts/link.tsx";
import { Empty, Loaded } from "../../parts/loaded.tsx";
import { Money } from "../../parts/money.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import { countColumn, moneyColumn } from "../cells.tsx";
import { CoverageNote } from "../coverage.tsx";
import { type Span, useSpan } from "../spans/span.ts";
import { describeSpan } from "../spans/days.ts";
import { change, Difference } from "./difference.tsx";
import { type Factors, factorsOf } from "./factors.ts";
import { filterOf, GROUPS, keyOf, nameOf, titleOf } from "./group.tsx";
import { GroupSelect } from "./group_select.tsx";
import { costPath, hrefTo } from "./scope.ts";

/** A span beside the one before: what it cost, why that changed, and where, what moved most first. */
export function Compare() {
  const { query } = useRoute();
  const span = useSpan();
  const { from, to, time_zone, compare_from, compare_to } = span;
  const by = query.get("by") ?? "agent";
  if (compare_from === undefined) {
    return (
      <Card title="Compare">
        <Empty title={`There is no span before the one ${span.title}`}>
          Choose a span with a first day, such as{" "}
          <Link href={hrefWith({ span: "yesterday", from: undefined, to: undefined })}>yesterday</Link>.
        </Empty>
      </Card>
    );
  }
  return <Compared {...{ span, by }} spans={{ from, to, time_zone, compare_from, compare_to }} />;
}

/** The two spans, as a request has them. */
type Spans = Pick<Span, "from" | "to" | "time_zone" | "compare_from" | "compare_to">;

function Compared({ span, spans, by }: { span: Span; spans: Spans; by: string }) {
  const { query } = useRoute();
  const total = useData<CostTotal>(costPath("/costs/total", query, spans));
  const modelPath = costPath("/costs", query, { group_by: "model", ...spans, limit: 1000 });
  const models = usePages<CostRow>(modelPath);
  const path = by === "model"
    ? modelPath
    : costPath("/costs", query, { group_by: by, ...spans, limit: 1000 });
  const others = usePages<CostRow>(by === "model" ? undefined : path);
  const groups = by === "model" ? models : others;
  return (
    <>
      <CoverageNote of={total.value} href={hrefTo("coverage")} />
      <Card title={`${capital(span.title)}, and ${span.before}`}>
        <Loaded data={total}>
          {(value) => <Figures total={value} span={span} spans={spans} />}
        </Loaded>
      </Card>
      <Card
        title="Where it changed"
        aside={<GroupSelect name="by" label="Group by" all="By agent" choices={CHOICES} span={span} />}
      >
        <Loaded
          data={groups}
          empty={<Empty title="No calls in either" />}
        >
          {(rows) => (
            <>
              {total.value && <Moved rows={rows} by={by} total={total.value} />}
              <Table
                caption={`Costs by ${titleOf(by)}, compared`}
                columns={columnsOf(by, span, spans)}
                rows={rows.toSorted((a, b) => movedOf(b) - movedOf(a))}
                keyOf={(row) => keyOf(row, by)}
                source={{ path, name: `costs-compared-by-${titleOf(by).replaceAll(/\W+/g, "-")}` }}
                more={groups.more}
                foot={
                  <>
                    See also the <Link href={hrefTo("", { by: "session" })}>sessions</Link>{" "}
                    of the first span, the dearest first
                  </>
                }
              />
            </>
          )}
        </Loaded>
      </Card>
      <Card title="Why it changed">
        <Loaded data={models}>
          {(rows) => total.value && <FactorTable total={total.value} models={rows} />}
        </Loaded>
      </Card>
    </>
  );
}

const CHOICES: readonly Choice[] = GROUPS.filter(({ value }) => ["model", "provider", "key"].includes(value));

/** Returns the size of the difference of a group, for the order; what is not known is last. */
const movedOf = ({ difference_usd }: CostRow) => difference_usd == null ? -1 : Math.abs(difference_usd);

const capital = (text: string) => text[0]!.toUpperCase() + text.slice(1);

/** Names the group that moved most. */
function Moved({ rows, by, total }: { rows: readonly CostRow[]; by: string; total: CostTotal }) {
  const [most] = rows.toSorted((a, b) => movedOf(b) - movedOf(a));
  if (!most?.difference_usd || rows.length < 2) return null;
  return (
    <p class="finding">
      {escapeText(nameOf(most, by))} moved most: <Difference usd={most.difference_usd} />
      {total.difference_usd != null && (
        <>
          , of <Difference usd={total.difference_usd} /> in all
        </>
      )}
    </p>
  );
}

/** Returns the costs of a span, or of the one before, of the calls that a filter selects; undefined without a filter of them. */
function hrefOfSpan(spans: Spans, isBefore: boolean, filter: QueryChange | undefined): string | undefined {
  const { from, to, compare_from, compare_to } = spans;
  return filter &&
    hrefTo("", {
      ...filter,
      span: undefined,
      ...isBefore ? { from: compare_from, to: compare_to } : { from, to },
    });
}

function Figures({ total, span, spans }: { total: CostTotal; span: Span; spans: Spans }) {
  const { cost_usd, previous } = total;
  return (
    <Stats>
      <Stat label={capital(span.title)} note={plural(total.model_calls, "call")}>
        <Link href={hrefOfSpan(spans, false, {})}>
          <Money usd={cost_usd} />
        </Link>
      </Stat>
      <Stat
        label={capital(span.before)}
        note={
          <>
            {plural(previous?.model_calls ?? 0, "call")}{" "}
            {describeSpan(spans.compare_from, spans.compare_to, spans.time_zone)}
          </>
        }
      >
        <Link href={hrefOfSpan(spans, true, {})}>
          <Money usd={previous?.cost_usd} />
        </Link>
      </Stat>
      <Stat
        label="Difference"
        note={cost_usd && previous?.cost_usd ? change(cost_usd / previous.cost_usd) : undefined}
      >
        <Difference usd={total.difference_usd} />
      </Stat>
    </Stats>
  );
}

function columnsOf(by: string, span: Span, spans: Spans): Column<CostRow>[] {
  return [
    {
      id: "name",
      title: capital(titleOf(by)),
      sortBy: (row) => nameOf(row, by),
      cell: (row) => <Link href={compareHref(row, by)}>{escapeText(nameOf(row, by))}</Link>,
    },
    countColumn("calls", "Calls", ({ model_calls }) => model_calls),
    countColumn("calls_before", "Calls before", ({ previous }) => previous?.model_calls),
    moneyColumn("cost_usd", capital(span.title), {
      hrefOf: (row) => hrefOfSpan(spans, false, filterOf(row, by)),
    }),
    {
      id: "before",
      title: capital(span.before),
      isMoney: true,
      sortBy: ({ previous }) => previous?.cost_usd,
      cell: (row) => (
        <Link href={hrefOfSpan(spans, true, filterOf(row, by))}>
          <Money usd={row.previous?.cost_usd} />
        </Link>
      ),
    },
    {
      id: "difference",
      title: "Difference",
      isMoney: true,
      sortBy: ({ difference_usd }) => difference_usd,
      cell: ({ difference_usd }) => <Difference usd={difference_usd} />,
    },
    {
      id: "change",
      title: "Change",
      isNumber: true,
      sortBy: changeOf,
      cell: (row) => {
        const ratio = changeOf(row);
        if (ratio !== null) return change(ratio);
        return row.previous?.model_calls === 0
          ? <span class="muted">new</span>
          : <span class="muted">–</span>;
      },
    },
  ];
}

/** Returns the same comparison within a row's calls: of an agent by model, of the others by agent. */
function compareHref(row: CostRow, by: string): string | undefined {
  const filter = filterOf(row, by);
  return filter && hrefWith({ ...filter, by: by === "agent" ? "model" : undefined, sort: undefined });
}

function changeOf({ cost_usd, previous }: CostRow): number | null {
  return cost_usd !== null && previous?.cost_usd ? cost_usd / previous.cost_usd : null;
}

/** The change of the cost as a product of its factors. */
function FactorTable({ total, models }: { total: CostTotal; models: readonly CostRow[] }) {
  const { previous } = total;
  const factors = factorsOf(total, previous, models);
  if (!factors || !previous) {
    return (
      <Empty title="Nothing to compare">
        Both spans need calls with a price.
      </Empty>
    );
  }
  const rows: [string, string, number][] = [
    ["Calls", `${count(previous.model_calls)} → ${count(total.model_calls)}`, factors.calls],
    ["Tokens per call", `${perCall(previous)} → ${perCall(total)}`, factors.tokens],
    ["Mix of models", "tokens that moved to dearer or cheaper models", factors.mix],
    ["Price per token within a model", "prices, share of output, reads from caches", factors.price],
  ];
  return (
    <>
      <p class="finding">{findingOf(factors)}</p>
      <div class="table-scroll" tabIndex={0} role="region" aria-label="Factors of the change">
        <table class="factors">
          <caption class="hidden">Factors of the change, which multiply to that of the cost</caption>
          <thead>
            <tr>
              <th scope="col">Factor</th>
              <th scope="col">From → to</th>
              <th scope="col" class="number">Effect on the cost</th>
            </tr>
          </thead>
          <tbody>
            {rows.map(([name, values, ratio]) => (
              <tr key={name}>
                <th scope="row">{name}</th>
                <td class="muted">{values}</td>
                <td class="number">{change(ratio)}</td>
              </tr>
            ))}
            <tr class="sum">
              <th scope="row">Cost</th>
              <td class="muted">all factors multiplied</td>
              <td class="number">{change(factors.cost)}</td>
            </tr>
          </tbody>
        </table>
      </div>
      {total.unpriced_calls + previous.unpriced_calls > 0 && (
        <p class="muted factor-note">Calls without a price count as calls and tokens, not as cost.</p>
      )}
    </>
  );
}

const perCall = ({ total_tokens, model_calls }: { total_tokens: number; model_calls: number }) =>
  count(Math.round(total_tokens / Math.max(1, model_calls)));

function findingOf({ cost, ...factors }: Factors): string {
  const names: Readonly<Record<keyof typeof factors, [more: string, less: string]>> = {
    calls: ["more calls", "fewer calls"],
    tokens: ["more tokens per call", "fewer tokens per call"],
    mix: ["dearer models", "cheaper models"],
    price: ["a higher price per token", "a lower price per token"],
  };
  const strongest = (Object.keys(names) as (keyof typeof factors)[])
    .filter((name) => (factors[name] > 1) === (cost > 1))
    .sort((a, b) => Math.abs(Math.log(factors[b])) - Math.abs(Math.log(factors[a])))[0];
  const verb = cost > 1 ? "rose" : "fell";
  const cause = strongest &&
    `, mostly by ${names[strongest][factors[strongest] > 1 ? 0 : 1]} (${change(factors[strongest])})`;
  return Math.abs(cost - 1) < 0.005
    ? "The cost is the same"
    : `The cost ${verb} (${change(cost)})${cause ?? ""}`;
}
