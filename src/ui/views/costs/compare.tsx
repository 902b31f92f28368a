import type { CostRow, CostTotal } from "../../../contract/costs.ts";
import { count, plural } from "../../format/number.ts";
import { useNow } from "../../hooks/clock.ts";
import { useData, usePages } from "../../hooks/data.ts";
import { type QueryChange, useRoute } from "../../hooks/route.ts";
import { Card, Stat, Stats } from "../../parts/card.tsx";
import { Segments } from "../../parts/filters.tsx";
import { Link } from "../../parts/link.tsx";
import { Empty, Loaded } from "../../parts/loaded.tsx";
import { Money } from "../../parts/money.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import { Time } from "../../parts/time.tsx";
import { CoverageNote } from "../coverage.tsx";
import { countColumn } from "../cells.tsx";
import { change, Difference } from "./difference.tsx";
import { filterOf, GroupLink, nameOf } from "./group.tsx";
import { costPath, hrefTo } from "./scope.ts";
import { comparisonOf } from "./span.ts";
import { type Factors, factorsOf } from "./factors.ts";

/** This week or month beside the one before, up to the same hour of it. */
export function Compare() {
  const { query } = useRoute();
  const { title, ...spans } = comparisonOf(query.get("period") ?? "week", useNow(60_000));
  const by = query.get("by") ?? "agent";
  const total = useData<CostTotal>(costPath("/costs/total", query, spans));
  const modelPath = costPath("/costs", query, { group_by: "model", ...spans, limit: 1000 });
  const models = usePages<CostRow>(modelPath);
  const path = by === "model" ? modelPath : costPath("/costs", query, { group_by: by, ...spans, limit: 100 });
  const others = usePages<CostRow>(by === "model" ? undefined : path);
  const groups = by === "model" ? models : others;
  return (
    <>
      <CoverageNote
        of={total.value}
        href={hrefTo("coverage", { from: spans.from, to: undefined, span: undefined })}
      />
      <Card title={`This ${title} so far and the ${title} before`}>
        <Loaded data={total}>
          {(value) => <Figures total={value} title={title} spans={spans} />}
        </Loaded>
      </Card>
      <Card title="Why it changed">
        <Loaded data={models}>
          {(rows) => total.value && <FactorTable total={total.value} models={rows} title={title} />}
        </Loaded>
      </Card>
      <Card
        title="Where it changed"
        aside={
          <Segments
            name="by"
            label="Group by"
            fallback="agent"
            choices={[
              { value: "agent", label: "Agent" },
              { value: "model", label: "Model" },
              { value: "provider", label: "Provider" },
            ]}
          />
        }
      >
        <Loaded
          data={groups}
          isEmpty={(rows) => rows.length === 0}
          empty={<Empty title="No calls in either" />}
        >
          {(rows) => (
            <Table
              caption={`Costs by ${by}, compared`}
              columns={columnsOf(by, title, spans)}
              rows={rows}
              keyOf={(row) => nameOf(row, by)}
              source={{ path, name: `costs-compared-by-${by}` }}
              more={groups.hasMore ? groups.more : undefined}
            />
          )}
        </Loaded>
      </Card>
    </>
  );
}

/** The two spans. */
type Spans = Omit<ReturnType<typeof comparisonOf>, "title">;

/** Returns the costs of the present span, or of the one before, of the calls that a filter selects. */
function hrefOfSpan({ from, ...before }: Spans, isBefore: boolean, filter: QueryChange = {}): string {
  const span = isBefore ? { from: before.compare_from, to: before.compare_to } : { from, to: undefined };
  return hrefTo("", { ...filter, ...span, span: undefined });
}

function Figures({ total, title, spans }: { total: CostTotal; title: string; spans: Spans }) {
  const { cost_usd, previous } = total;
  return (
    <Stats>
      <Stat label={`This ${title}`} note={plural(total.model_calls, "call")}>
        <Link href={hrefOfSpan(spans, false)}>
          <Money usd={cost_usd} />
        </Link>
      </Stat>
      <Stat
        label={`The ${title} before`}
        note={
          <>
            {plural(previous?.model_calls ?? 0, "call")} until <Time at={spans.compare_to} as="utc" />
          </>
        }
      >
        <Link href={hrefOfSpan(spans, true)}>
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

function columnsOf(by: string, title: string, spans: Spans): Column<CostRow>[] {
  return [
    {
      id: "name",
      title: by[0]!.toUpperCase() + by.slice(1),
      sortBy: (row) => nameOf(row, by),
      cell: (row) => <GroupLink row={row} group={by} />,
    },
    countColumn("calls", "Calls", ({ model_calls }) => model_calls),
    countColumn("calls_before", "Calls before", ({ previous }) => previous?.model_calls),
    {
      id: "cost_usd",
      title: `This ${title}`,
      isMoney: true,
      sortBy: ({ cost_usd }) => cost_usd,
      cell: (row) => (
        <Link href={hrefOfSpan(spans, false, filterOf(row, by))}>
          <Money usd={row.cost_usd} />
        </Link>
      ),
    },
    {
      id: "before",
      title: `${title[0]!.toUpperCase()}${title.slice(1)} before`,
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
        return ratio === null ? <span class="muted">new</span> : change(ratio);
      },
    },
  ];
}

function changeOf({ cost_usd, previous }: CostRow): number | null {
  return cost_usd !== null && previous?.cost_usd ? cost_usd / previous.cost_usd : null;
}

/** The change of the cost as a product of its factors. */
function FactorTable({ total, models, title }: {
  total: CostTotal;
  models: readonly CostRow[];
  title: string;
}) {
  const { previous } = total;
  const factors = factorsOf(total, previous, models);
  if (!factors || !previous) {
    return (
      <Empty title="Nothing to compare">
        Both the {title} and the one before need calls with a price.
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
