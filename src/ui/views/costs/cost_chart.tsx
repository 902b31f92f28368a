import { DAY_MS, HOUR_MS, toIso } from "../../../kernel/clock.ts";
import type { CostRow } from "../../../contract/costs.ts";
import { BarChart } from "../../charts/bar_chart.tsx";
import { MAX_SERIES, type Point } from "../../charts/series.ts";
import { shortUsd } from "../../format/money.ts";
import { count, percent, plural } from "../../format/number.ts";
import { utcDay } from "../../format/time.ts";
import { useNow } from "../../hooks/clock.ts";
import { hrefOfDay, nameOf } from "./group.tsx";
import { dayOf, type Span } from "./scope.ts";

/** The most rows of a chart: pairs of a day and a group. */
export const SPLIT_LIMIT = 1000;

/** The costs of each day, or hour, stacked by the groups that cost most. */
export function CostChart({ rows, split, span, total }: {
  rows: readonly CostRow[];
  split: string;
  span: Span;
  total: number | null | undefined;
}) {
  const now = useNow(60_000);
  const timeOf = ({ day, hour }: CostRow) => hour ?? `${day}T00:00:00.000Z`;
  const names = rank(rows, split);
  const shown = names.slice(0, MAX_SERIES);
  // The rows are the latest ones: the first time of a full answer may lack some.
  const isCut = rows.length === SPLIT_LIMIT;
  const first = timeOf(rows.at(-1)!);
  const points = timesOf(span, { first, last: timeOf(rows[0]!), now }).map((time): Point => ({
    label: span.isDay ? `${time.slice(11, 16)} UTC` : time.slice(0, 10),
    short: span.isDay ? time.slice(11, 16) : utcDay(time),
    values: {},
    href: span.isDay ? undefined : hrefOfDay(time.slice(0, 10)),
  }));
  const byTime = new Map(points.map((point) => [point.label, point.values as Record<string, number | null>]));
  for (const row of rows) {
    const time = timeOf(row);
    if (isCut && time === first) continue;
    const values = byTime.get(span.isDay ? `${time.slice(11, 16)} UTC` : time.slice(0, 10));
    const name = nameOf(row, split);
    if (values && shown.includes(name)) values[name] = row.cost_usd;
  }
  return (
    <BarChart
      title={`Cost by ${span.isDay ? "hour" : "day"} and ${split}`}
      finding={findingOf({ rows, names, split, total, title: span.title, isCut })}
      points={points}
      series={shown.map((name) => ({ key: name, label: name }))}
      format={shortUsd}
      pointTitle={span.isDay ? "Hour (UTC)" : "Day (UTC)"}
    />
  );
}

/** Returns the names of the groups, the dearest first: only an order, no sum of it is shown. */
function rank(rows: readonly CostRow[], split: string): string[] {
  const weights = new Map<string, number>();
  for (const row of rows) {
    const name = nameOf(row, split);
    weights.set(name, (weights.get(name) ?? 0) + (row.cost_usd ?? 0));
  }
  return [...weights].sort(([, a], [, b]) => b - a).map(([name]) => name);
}

/** Returns every day or hour of a span, also those without calls. */
function timesOf({ from, to, isDay }: Span, rows: { first: string; last: string; now: number }): string[] {
  const step = isDay ? HOUR_MS : DAY_MS;
  const midnight = (day: string) => Date.parse(day.length === 10 ? `${day}T00:00Z` : day);
  const start = from === undefined ? Date.parse(rows.first) : midnight(from);
  const end = to === undefined ? Math.max(rows.now, Date.parse(rows.last) + 1) : midnight(to);
  const times: string[] = [];
  for (let time = Math.floor(start / step) * step; time < end && times.length < 1000; time += step) {
    times.push(toIso(time));
  }
  return times;
}

function findingOf({ rows, names, split, total, title, isCut }: {
  rows: readonly CostRow[];
  names: readonly string[];
  split: string;
  total: number | null | undefined;
  title: string;
  isCut: boolean;
}): string {
  const spent = total == null ? "No price is known" : `${shortUsd(total)} ${title}`;
  const dearest = rows.reduce((most, row) => (row.cost_usd ?? 0) > (most.cost_usd ?? 0) ? row : most);
  const most = dearest.cost_usd && total
    ? `; the largest part is ${nameOf(dearest, split)} with ${shortUsd(dearest.cost_usd)} (${
      percent(dearest.cost_usd / total)
    }) ${dearest.hour ? `at ${dearest.hour.slice(11, 16)} UTC` : `on ${utcDay(dearest.day!)}`}`
    : "";
  const hidden = names.length - MAX_SERIES;
  const left = hidden > 0
    ? `. ${count(hidden)} more ${plural(hidden, split).replace(/^\S+ /, "")} not drawn: see the table`
    : "";
  return `${spent}${most}${left}${
    isCut ? `. Only the days from ${dayOf(Date.parse(rows.at(-1)!.day ?? ""))} on` : ""
  }`;
}
