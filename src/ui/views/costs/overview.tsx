import type { CostRow, CostTotal } from "../../../contract/costs.ts";
import { SPLIT } from "../../../contract/costs/dimensions.ts";
import { compact, count, percent, plural } from "../../format/number.ts";
import { useNow } from "../../hooks/clock.ts";
import { useData, usePages } from "../../hooks/data.ts";
import { hrefWith, useRoute } from "../../hooks/route.ts";
import { Card, Stat, Stats } from "../../parts/card.tsx";
import { Link } from "../../parts/link.tsx";
import { Empty, Loaded } from "../../parts/loaded.tsx";
import { Money } from "../../parts/money.tsx";
import { CoverageNote } from "../coverage.tsx";
import { CostTable } from "./cost_table.tsx";
import { Difference } from "./difference.tsx";
import { GROUPS, hrefOfTime, keyOf, nameOf, titleOf } from "./group.tsx";
import { GroupSelect } from "./group_select.tsx";
import { costPath, hrefTo } from "./scope.ts";
import { endOfBar, nameTime, type Span, startOfBar, timesOf, useSpan } from "../spans/span.ts";
import { minuteIn } from "../spans/days.ts";
import { BarChart } from "../../charts/bar_chart.tsx";
import { MAX_SERIES, type Point } from "../../charts/series.ts";
import { shortUsd } from "../../format/money.ts";
import { utcDay } from "../../format/time.ts";

/** The groups besides models that a day may be stacked by. */
const SPLITS: readonly string[] = SPLIT.filter((name) => name !== "model");

const REFRESH = { refreshMs: 30_000 };

/** The costs of a span: the total, the course of it, and its parts. */
export function Overview() {
  const { query } = useRoute();
  const span = useSpan();
  const { title, isHourly, from, to, time_zone, compare_from, compare_to } = span;
  const split = query.get("split") ?? "model";
  const by = query.get("by") ?? "model";
  const within = { from, to, time_zone };
  const total = useData<CostTotal>(
    costPath("/costs/total", query, { ...within, compare_from, compare_to }),
    REFRESH,
  );
  const course = useData<CostRow[]>(
    costPath("/costs", query, {
      group_by: isHourly ? "hour" : "day",
      split_by: split,
      ...within,
      limit: SPLIT_LIMIT,
    }),
    REFRESH,
  );
  const path = costPath("/costs", query, { group_by: by, ...within, limit: 100, sort: sortOf(by) });
  const groups = usePages<CostRow>(path, REFRESH);
  return (
    <>
      <Loaded data={total}>
        {(value) => <Figures total={value} span={span} />}
      </Loaded>
      <Card
        title="Cost over time"
        aside={
          <GroupSelect
            name="split"
            label="Stacked by"
            all="By model"
            choices={GROUPS.filter(({ value }) => SPLITS.includes(value))}
            span={span}
          />
        }
      >
        <Loaded data={course} empty={<NoCalls title={title} />}>
          {(rows) => (
            <CostChart
              rows={rows}
              split={split}
              span={span}
              total={total.value?.cost_usd}
            />
          )}
        </Loaded>
      </Card>
      <Card
        title="Parts"
        aside={
          <GroupSelect name="by" label="Group by" choices={GROUPS.slice(1)} all="By model" span={span} />
        }
      >
        <Loaded data={groups} empty={<NoCalls title={title} />}>
          {(rows) => (
            <CostTable pages={groups} rows={rows} group={by} path={path} total={total.value?.cost_usd} />
          )}
        </Loaded>
      </Card>
    </>
  );
}

/** Groups that have a time are listed latest first, unless the dearest are to be first. */
function sortOf(by: string): string | undefined {
  return by === "session" || by === "run" ? "cost" : undefined;
}

function Figures(
  { total, span: { title, compare_from, compare_to, before } }: { total: CostTotal; span: Span },
) {
  return (
    <>
      <CoverageNote of={total} href={hrefTo("coverage")} />
      <Card title={`Spent ${title}`}>
        <Stats>
          <Stat
            label="Cost"
            note={compare_from !== undefined && total.previous && (
              <>
                <Difference usd={total.difference_usd} /> against{" "}
                <Link href={hrefTo("", { span: undefined, from: compare_from, to: compare_to })}>
                  <Money usd={total.previous.cost_usd} />
                </Link>{" "}
                of {before}: <Link href={hrefTo("compare")}>what changed</Link>
              </>
            )}
          >
            <Link href={hrefWith({ by: "day" })}>
              <Money usd={total.cost_usd} />
            </Link>
          </Stat>
          {total.plan_usd !== undefined && (
            <Stat label="Plan value" note="at API prices, not billed">
              <Money usd={total.plan_usd} />
            </Stat>
          )}
          <Stat label="Calls" note={total.previous && `${count(total.previous.model_calls)} before`}>
            <Link href={hrefWith({ by: "session" })}>{count(total.model_calls)}</Link>
          </Stat>
          <Stat
            label="Input tokens"
            note={`${compact(total.cache_read_tokens)} cached`}
          >
            <Link href={hrefTo("caching")}>
              <span title={count(total.input_tokens)}>{compact(total.input_tokens)}</span>
            </Link>
          </Stat>
          <Stat label="Output tokens" note={`${compact(total.reasoning_tokens)} of reasoning`}>
            <Link href={hrefWith({ by: undefined, sort: "-tokens" })}>
              <span title={count(total.output_tokens)}>{compact(total.output_tokens)}</span>
            </Link>
          </Stat>
        </Stats>
      </Card>
    </>
  );
}

function NoCalls({ title }: { title: string }) {
  return (
    <Empty title={`No calls ${title}`} command="purser report calls.jsonl">
      Run an agent, send calls through the gateway, or report those of other frameworks.
    </Empty>
  );
}

/** The most rows of a chart: pairs of a day and a group. */
const SPLIT_LIMIT = 1000;

/** The costs of each day, or hour, stacked by the groups that cost most. */
function CostChart({ rows, split, span, total }: {
  rows: readonly CostRow[];
  split: string;
  span: Span;
  total: number | null | undefined;
}) {
  const now = useNow(60_000);
  const { time_zone } = span;
  const at = (row: CostRow) => startOfBar(span, row);
  const first = at(rows.at(-1)!);
  // The rows are the latest ones, and the dearest of each time first: a full answer may lack some of its first time. If it
  // has that time alone, those that are drawn are among its rows.
  const isCut = rows.length === SPLIT_LIMIT;
  const isOneTime = first === at(rows[0]!);
  const drawn = isCut && !isOneTime ? rows.filter((row) => at(row) !== first) : rows;
  const labels = new Map(drawn.map((row) => [keyOf(row, split), nameOf(row, split)]));
  const names = rank(drawn, split);
  const shown = names.slice(0, MAX_SERIES);
  const ends = { first, end: Math.max(now, at(rows[0]!) + 1) };
  const points = timesOf(span, ends).map((at): Timed => ({
    ...nameTime(at, span),
    at,
    values: new Map(),
    href: hrefOfTime(at, endOfBar(span, at), time_zone),
  }));
  const byTime = new Map(points.map(({ at, values }) => [at, values]));
  for (const row of drawn) {
    const values = byTime.get(at(row));
    const name = keyOf(row, split);
    if (values && shown.includes(name)) values.set(name, row.cost_usd);
  }
  return (
    <BarChart
      title={`Cost by ${span.isHourly ? "hour" : "day"} and ${titleOf(split)}`}
      finding={findingOf({ rows: drawn, names, split, total, title: span.title, isCut, time_zone }) +
        (isCut ? cutOf(first, span, isOneTime) : "")}
      points={points}
      series={shown.map((key) => ({ key, label: labels.get(key) ?? key }))}
      format={shortUsd}
      pointTitle={span.isHourly ? "Hour" : "Day"}
      zone={time_zone}
    />
  );
}

/** A point by its time. */
interface Timed extends Point {
  at: number;
  values: Map<string, number | null>;
}

/** Says which times a chart lacks, since an answer has at most 1,000 rows. */
function cutOf(first: number, span: Span, isOneTime: boolean): string {
  const time = nameTime(first, span).label;
  return isOneTime
    ? `. Only ${time} is drawn`
    : `. Only the ${span.isHourly ? "hours" : "days"} after ${time} are drawn`;
}

/** Returns the keys of the groups, the dearest first: only an order, no sum of it is shown. */
function rank(rows: readonly CostRow[], split: string): string[] {
  const weights = new Map<string, number>();
  for (const row of rows) {
    const name = keyOf(row, split);
    weights.set(name, (weights.get(name) ?? 0) + (row.cost_usd ?? 0));
  }
  return [...weights].sort(([, a], [, b]) => b - a).map(([name]) => name);
}

function findingOf({ rows, names, split, total, title, isCut, time_zone }: {
  rows: readonly CostRow[];
  names: readonly string[];
  split: string;
  total: number | null | undefined;
  title: string;
  isCut: boolean;
  time_zone: string;
}): string {
  const spent = total == null ? "No price is known" : `${shortUsd(total)} ${title}`;
  const dearest = rows.reduce((most, row) => (row.cost_usd ?? 0) > (most.cost_usd ?? 0) ? row : most);
  const most = dearest.cost_usd && total
    ? `; the largest part is ${nameOf(dearest, split)} with ${shortUsd(dearest.cost_usd)} (${
      percent(dearest.cost_usd / total)
    }) ${
      dearest.hour
        ? `at ${minuteIn(time_zone, Date.parse(dearest.hour)).slice(11)}`
        : `on ${utcDay(dearest.day!)}`
    }`
    : "";
  const hidden = names.length - MAX_SERIES;
  const left = hidden > 0
    ? `. ${isCut ? "At least " : ""}${count(hidden)} more ${
      plural(hidden, split.startsWith("tag:") ? "value" : split).replace(/^\S+ /, "")
    } not drawn: see the parts by ${titleOf(split)}`
    : "";
  return `${spent}${most}${left}`;
}
