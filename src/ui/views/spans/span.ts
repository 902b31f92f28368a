import { NAMED_SPANS, startInUtc } from "../../../contract/windows.ts";
import { DAY_MS, HOUR_MS } from "../../../kernel/clock.ts";
import { escapeText } from "../../../kernel/text.ts";
import { dayOf, describeSpan, isStartOfDay, timeOf } from "./utc_days.ts";

/** The spans by their names in the URL; days are of UTC, and weeks begin on Monday. */
export const SPANS = [
  { value: "today", label: "Today", title: "today", before: "the day before" },
  { value: "yesterday", label: "Yesterday", title: "yesterday", before: "the day before" },
  { value: "week", label: "This week", title: "this week", before: "the week before" },
  { value: "last-week", label: "Last week", title: "last week", before: "the week before" },
  { value: "7d", label: "Last 7 days", title: "in the last 7 days", before: "the 7 days before" },
  { value: "month", label: "This month", title: "this month", before: "the month before" },
  { value: "last-month", label: "Last month", title: "last month", before: "the month before" },
  { value: "30d", label: "Last 30 days", title: "in the last 30 days", before: "the 30 days before" },
  { value: "all", label: "All time", title: "in all time", before: "" },
] as const;
export type SpanName = typeof SPANS[number]["value"];

/** The longest span that is drawn by hours. */
const MAX_HOURS = 48;

/** A span of calls, and the one before it; days are of UTC. */
export interface Span {
  /** Its name in the URL; undefined where the URL has its first and last day. */
  name?: SpanName;
  /** In words: "in the last 7 days". */
  title: string;
  from?: string;
  to?: string;
  /** The span that it is compared with: as long, or up to the same hour if it has not ended. Absent if there is none before it. */
  compare_from?: string;
  compare_to?: string;
  /** The name of that span: "the 7 days before". */
  before: string;
  /** True where hours are drawn, not days. */
  isHourly: boolean;
}

/** Returns the span that the URL's `from` and `to`, or its `span`, choose. */
export function spanOf(query: URLSearchParams, now: number, fallback: SpanName = "7d"): Span {
  const [from, to] = [query.get("from") ?? undefined, query.get("to") ?? undefined];
  if (from || to) return spanBetween(from || undefined, to || undefined, now);
  const { value: name, title, before } = SPANS.find(({ value }) => value === query.get("span")) ??
    SPANS.find(({ value }) => value === fallback)!;
  if (name === "all") return { name, title, before, isHourly: false };
  const [start, end, previous] = boundsOf(name, now);
  return {
    ...{ name, title, before },
    from: dayOf(start),
    to: end === undefined ? undefined : dayOf(end),
    compare_from: dayOf(previous),
    compare_to: endOfPrevious(start, end ?? startInUtc("day", now, 1), previous, now),
    isHourly: name === "today" || name === "yesterday",
  };
}

/** Returns the start of a span, its end if it is over, and the start of the one before. */
function boundsOf(
  name: Exclude<SpanName, "all">,
  now: number,
): [start: number, end: number | undefined, previous: number] {
  if (name === "7d" || name === "30d") {
    const days = name === "7d" ? 7 : 30;
    const start = startInUtc("day", now, 1 - days);
    return [start, undefined, startInUtc("day", start, -days)];
  }
  const [span, later] = NAMED_SPANS[name];
  const end = later === 0 ? undefined : startInUtc(span, now, later + 1);
  return [startInUtc(span, now, later), end, startInUtc(span, now, later - 1)];
}

/** Returns the end of the span before: that of the span itself so far, since it may not have ended. */
function endOfPrevious(start: number, end: number, previous: number, now: number): string {
  const isOver = end <= now;
  const until = isOver ? end : Math.max(start, startInUtc("hour", now));
  // A month that is over is compared with all of the month before, however long that was.
  return timeOf(isOver ? start : Math.min(previous + until - start, start));
}

/** Returns the span of two times in the URL, of which one may be missing. */
function spanBetween(from: string | undefined, to: string | undefined, now: number): Span {
  const start = from === undefined ? NaN : Date.parse(from);
  const end = to === undefined ? startInUtc("day", now, 1) : Date.parse(to);
  const length = end - start;
  const isDay = length === DAY_MS && isStartOfDay(start);
  const title = isDay && to !== undefined ? `on ${dayOf(start)} (UTC)` : escapeText(describeSpan(from, to));
  // Without a start, or with times that are none, there is no length, and the server says what is wrong.
  if (!(length > 0)) return { title, from, to, before: "", isHourly: false };
  const days = length / DAY_MS;
  return {
    ...{ title, from, to },
    compare_from: timeOf(start - length),
    compare_to: endOfPrevious(start, end, start - length, now),
    before: days === 1
      ? "the day before"
      : days % 1 === 0
      ? `the ${days} days before`
      : "the same time before",
    isHourly: (to === undefined ? now - start : length) <= MAX_HOURS * HOUR_MS,
  };
}

/** Returns the starts of the days, or hours, of a span; those of a span without bounds go from the first to the last of its calls. */
export function timesOf(
  { from, to, isHourly }: Pick<Span, "from" | "to" | "isHourly">,
  { first, end }: { first: number; end: number },
): number[] {
  const step = isHourly ? HOUR_MS : DAY_MS;
  const start = startInUtc(isHourly ? "hour" : "day", from === undefined ? first : Date.parse(from));
  const stop = to === undefined ? end : Date.parse(to);
  const times: number[] = [];
  for (let time = start; time < stop && times.length < MAX_TIMES; time += step) times.push(time);
  return times;
}

const MAX_TIMES = 1_000;
