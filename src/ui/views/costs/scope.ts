import { DAY_MS, HOUR_MS, startOf, toIso } from "../../../kernel/clock.ts";
import { apiPath, hrefWith } from "../../hooks/route.ts";

/** The filters of the reports in the URL, besides the span. */
export const FILTERS = ["agent_id", "provider", "model", "key_id", "tag"] as const;
export type Filter = typeof FILTERS[number];

/** The spans by their names in the URL. */
export const SPANS = [
  { value: "today", label: "Today", title: "today" },
  { value: "7d", label: "7 days", title: "in the last 7 days" },
  { value: "30d", label: "30 days", title: "in the last 30 days" },
  { value: "month", label: "Month", title: "this month" },
  { value: "all", label: "All", title: "in all" },
] as const;
export const DEFAULT_SPAN = "7d";

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
  isDay: boolean;
}

/** Returns the span that the URL's `from` and `to`, or its `span`, choose. */
export function spanOf(query: URLSearchParams, now: number): Span {
  const [from, to] = [query.get("from") ?? undefined, query.get("to") ?? undefined];
  if (from || to) {
    const title = from && to && isNextDay(from, to)
      ? `on ${from} (UTC)`
      : [from && `from ${from}`, to && `until ${to}`].filter(Boolean).join(" ");
    return { title, from, to, isDay: Boolean(from && to && isNextDay(from, to)) };
  }
  const { value, title } = SPANS.find(({ value }) => value === query.get("span")) ??
    SPANS.find(({ value }) => value === DEFAULT_SPAN)!;
  const today = startOf(now, DAY_MS);
  const hour = startOf(now, HOUR_MS);
  if (value === "all") return { title, isDay: false };
  if (value === "month") {
    const start = monthOf(now, 0);
    const before = monthOf(now, -1);
    return {
      title,
      from: dayOf(start),
      compare_from: dayOf(before),
      compare_to: toIso(Math.min(before + hour - start, start)),
      isDay: false,
    };
  }
  const days = { today: 1, "7d": 7, "30d": 30 }[value];
  const start = today - (days - 1) * DAY_MS;
  return {
    title,
    from: dayOf(start),
    compare_from: dayOf(start - days * DAY_MS),
    compare_to: toIso(hour - days * DAY_MS),
    isDay: days === 1,
  };
}

/** The two spans of a comparison: this week or month so far, and the one before up to the same hour. */
export function comparisonOf(period: string, now: number): Required<Omit<Span, "to" | "isDay">> {
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

/** Returns the start of the UTC month that is some months later. */
export function monthOf(now: number, months: number): number {
  const date = new Date(now);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + months, 1);
}

/** Returns the last Monday, 00:00 UTC. */
function weekOf(now: number): number {
  return startOf(now, DAY_MS) - (new Date(now).getUTCDay() + 6) % 7 * DAY_MS;
}

/** Formats the UTC day of a time: `2026-11-23`. */
export function dayOf(time: number): string {
  return toIso(time).slice(0, 10);
}

/** Returns the day after a day. */
export function nextDay(day: string): string {
  return dayOf(Date.parse(`${day}T00:00Z`) + DAY_MS);
}

function isNextDay(from: string, to: string): boolean {
  return /^\d{4}-\d\d-\d\d$/.test(from) && to === nextDay(from);
}

/** Returns the filters that are set. */
export function filtersOf(query: URLSearchParams): Partial<Record<Filter, string>> {
  return Object.fromEntries(FILTERS.flatMap((name) => {
    const value = query.get(name);
    return value ? [[name, value]] : [];
  }));
}

/** Returns the address of a report with the filters of the URL. */
export function costPath(
  path: string,
  query: URLSearchParams,
  more: Readonly<Record<string, string | number | undefined>>,
): string {
  return apiPath(path, { ...filtersOf(query), ...more });
}

/** Returns the address of another page of the section with the same span and filters. */
export function hrefTo(page: string, keep: readonly string[] = ["span", "from", "to", ...FILTERS]): string {
  const { search } = location;
  const query = new URLSearchParams(search);
  const kept = new URLSearchParams([...query].filter(([name]) => keep.includes(name)));
  return hrefWith({}, { pathname: `/ui/costs${page && `/${page}`}`, search: `?${kept}` } as Location);
}
