import type { CostRow } from "../../../contract/costs.ts";
import { BarChart } from "../../charts/bar_chart.tsx";
import { MAX_SERIES, type Point, type Series } from "../../charts/series.ts";
import { decimalsOf, shortUsd } from "../../format/money.ts";
import { percent } from "../../format/number.ts";
import { costsHref } from "../links.ts";
import { instantOf, minuteIn, startOfDay, timeOf } from "../spans/days.ts";
import { endOfBar, nameTime, type Span, startOfBar, timesOf } from "../spans/span.ts";
import { type Group, MAX_ROWS } from "./span.ts";

/** A model or an agent with its calls and cost in the span. */
export interface Spender {
  key: string;
  label: string;
  href: string;
  model_calls: number;
  unpriced_calls: number;
  partly_priced_calls?: number;
  estimated_calls?: number;
  cost_usd: number | null;
}

type Spent = Pick<CostRow, "agent_id" | "provider" | "model"> & Omit<Spender, "key" | "label" | "href">;

export function spenderOf(row: Spent, group: Group, { from, to }: Pick<Span, "from" | "to">): Spender {
  const label = labelOf(row, group);
  const filter = group === "agent"
    ? { agent_id: row.agent_id }
    : { provider: row.provider, model: row.model };
  return { ...row, key: label, label, href: costsHref({ ...filter, from, to }) };
}

function labelOf({ agent_id, provider, model }: Spent, group: Group): string {
  return group === "agent" ? agent_id! : `${provider}:${model}`;
}

/** The bars of a span, stacked by those with the most spending first. */
export function SpendChart({ rows, spenders, total, span, group, today }: {
  rows: readonly CostRow[];
  /** In the order of their spending, the most first. */
  spenders: readonly Spender[];
  /** The sum of the span, of the server. */
  total: number | null;
  span: Span;
  group: Group;
  today: string;
}) {
  const shown = spenders.slice(0, MAX_SERIES);
  const decimals = decimalsOf(shown.map(({ cost_usd }) => cost_usd));
  return (
    <BarChart
      title={`Spending ${span.title} by ${group}`}
      finding={findingOf({ total, spenders, span, group }) + cutOf(rows, span)}
      points={pointsOf(rows, span, group, today)}
      series={shown.map(({ key, label, cost_usd }): Series => ({
        key,
        label,
        note: cost_usd === null ? undefined : shortUsd(cost_usd, decimals),
      }))}
      format={shortUsd}
      pointTitle={span.isHourly ? "Hour" : "Day"}
      zone={span.time_zone}
    />
  );
}

/** Says where the bars begin, if the answer has no room for all. */
function cutOf(rows: readonly CostRow[], { time_zone }: Span): string {
  if (rows.length < MAX_ROWS) return "";
  const { day, hour } = rows.at(-1)!;
  const first = hour ? minuteIn(time_zone, Date.parse(hour)) : day;
  return ` Bars before ${first} are not drawn, and that one not in full.`;
}

/** Returns a point for every hour or day of a span, also for those without calls. */
export function pointsOf(rows: readonly CostRow[], span: Span, group: Group, today: string): Point[] {
  const { time_zone } = span;
  const values = new Map<number, Map<string, number | null>>();
  for (const row of rows) {
    const start = startOfBar(span, row);
    const point = values.get(start) ?? new Map();
    point.set(labelOf(row, group), row.cost_usd);
    values.set(start, point);
  }
  const day = instantOf(today, time_zone);
  const bounds = { first: Math.min(day, ...values.keys()), end: startOfDay(day, time_zone, 1) };
  return timesOf(span, bounds).map((at) => ({
    ...nameTime(at, span),
    at,
    values: values.get(at) ?? new Map(),
    href: costsHref({ from: timeOf(at, time_zone), to: timeOf(endOfBar(span, at), time_zone) }),
  }));
}

/** Says what was spent, and on what most of it. */
export function findingOf({ total, spenders, span, group }: {
  total: number | null;
  spenders: readonly Spender[];
  span: Span;
  group: Group;
}): string {
  const [top] = spenders;
  if (!top) return `Nothing was spent ${span.title}.`;
  if (total === null || top.cost_usd === null) return `No call ${span.title} has a known price.`;
  const share = total > 0 ? `, ${percent(Math.min(1, top.cost_usd / total))} of it ${top.label}` : "";
  const more = spenders.length - MAX_SERIES;
  const rest = more > 0
    ? ` The bars have the ${MAX_SERIES} ${group}s with the most of it; ${more} more are in the table.`
    : "";
  return `${shortUsd(total)} ${span.title}${share}.${rest}`;
}
