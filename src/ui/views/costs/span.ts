import { DAY_MS, HOUR_MS, startOf, toIso } from "../../../kernel/clock.ts";
import { dayOf, describeSpan, monthOf, nextDay, weekOf } from "./utc_days.ts";

/** The spans by their names in the URL. */
export const SPANS = [
  { value: "today", label: "Today", title: "today" },
  { value: "7d", label: "7 days", title: "in the last 7 days" },
  { value: "30d", label: "30 days", title: "in the last 30 days" },
  { value: "month", label: "Month", title: "this month" },
  { value: "all", label: "All", title: "in all time" },
] as const;
export const DEFAULT_SPAN = "7d";

/** The longest span that is drawn by hours. */
const MAX_HOURS = 48;

/** A span of calls, and the one before it; days are of UTC. */
export interface Span {
  /** In words: "in the last 7 days". */
  title: string;
  from?: string;
  to?: string;
  /** The span that it is compared with, up to the same hour of it. */
  compare_from?: string;
  compare_to?: string;
  /** True where hours are drawn, not days. */
  isHourly: boolean;
}

/** Returns the span that the URL's `from` and `to`, or its `span`, choose. */
export function spanOf(query: URLSearchParams, now: number): Span {
  const [from, to] = [query.get("from") ?? undefined, query.get("to") ?? undefined];
  if (from || to) {
    const title = from && to && isNextDay(from, to) ? `on ${from} (UTC)` : describeSpan(from, to);
    const length = from ? (to ? Date.parse(to) : now) - Date.parse(from) : Infinity;
    return { title, from, to, isHourly: length <= MAX_HOURS * HOUR_MS };
  }
  const { value, title } = SPANS.find(({ value }) => value === query.get("span")) ??
    SPANS.find(({ value }) => value === DEFAULT_SPAN)!;
  const today = startOf(now, DAY_MS);
  const hour = startOf(now, HOUR_MS);
  if (value === "all") return { title, isHourly: false };
  if (value === "month") {
    const start = monthOf(now, 0);
    const before = monthOf(now, -1);
    return {
      title,
      from: dayOf(start),
      compare_from: dayOf(before),
      compare_to: toIso(Math.min(before + hour - start, start)),
      isHourly: false,
    };
  }
  const days = { today: 1, "7d": 7, "30d": 30 }[value];
  const start = today - (days - 1) * DAY_MS;
  return {
    title,
    from: dayOf(start),
    compare_from: dayOf(start - days * DAY_MS),
    compare_to: toIso(hour - days * DAY_MS),
    isHourly: days === 1,
  };
}

/** The two spans of a comparison: this week or month so far, and the one before up to the same hour. */
export function comparisonOf(period: string, now: number): Required<Omit<Span, "to" | "isHourly">> {
  const hour = startOf(now, HOUR_MS);
  const isMonth = period === "month";
  const start = isMonth ? monthOf(now, 0) : weekOf(now);
  const before = isMonth ? monthOf(now, -1) : start - 7 * DAY_MS;
  return {
    title: isMonth ? "month" : "week",
    from: dayOf(start),
    compare_from: dayOf(before),
    compare_to: toIso(Math.min(before + hour - start, start)),
  };
}

function isNextDay(from: string, to: string): boolean {
  return /^\d{4}-\d\d-\d\d$/.test(from) && to === nextDay(from);
}
