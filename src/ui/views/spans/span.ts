import type { CostRow } from "../../../contract/costs.ts";
import { type Calendar, dateIn } from "../../../contract/calendars/zones.ts";
import { NAMED_SPANS, startOf } from "../../../contract/windows.ts";
import { DAY_MS, HOUR_MS } from "../../../kernel/clock.ts";
import { escapeText } from "../../../kernel/text.ts";
import { useNow } from "../../hooks/clock.ts";
import { useRoute } from "../../hooks/route.ts";
import { useAccess } from "../../hooks/session.ts";
import { utcDay } from "../../format/time.ts";
import { describeSpan, instantOf, minuteIn, startOfDay, timeOf } from "./days.ts";

/** The spans by their names in the URL; days, weeks and months are those of the calendar of the server. */
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

/** A span of calls, and the one before it. */
export interface Span {
  /** Its name in the URL; undefined where the URL has its first and last day. */
  name?: SpanName;
  /** In words: "in the last 7 days". */
  title: string;
  from?: string;
  to?: string;
  /** The zone of its days. */
  time_zone: string;
  /** The span that it is compared with: as long, or up to the same hour if it has not ended. Absent if there is none before it. */
  compare_from?: string;
  compare_to?: string;
  /** The name of that span: "the 7 days before". */
  before: string;
  /** True where hours are drawn, not days. */
  isHourly: boolean;
}

/** Returns the span of the URL, in the calendar of the server. */
export function useSpan(fallback?: SpanName): Span {
  return spanOf(useRoute().query, useNow(60_000), useAccess().session.calendar, fallback);
}

/** Returns the span that the URL's `from` and `to`, or its `span`, choose. */
export function spanOf(
  query: URLSearchParams,
  now: number,
  calendar: Calendar,
  fallback: SpanName = "7d",
): Span {
  const { timeZone: time_zone } = calendar;
  const [from, to] = [query.get("from") ?? undefined, query.get("to") ?? undefined];
  if (from || to) return spanBetween(from || undefined, to || undefined, now, time_zone);
  const { value: name, title, before } = SPANS.find(({ value }) => value === query.get("span")) ??
    SPANS.find(({ value }) => value === fallback)!;
  if (name === "all") return { name, title, before, time_zone, isHourly: false };
  const [start, end, previous] = boundsOf(name, now, calendar);
  return {
    ...{ name, title, before, time_zone },
    from: dateIn(time_zone, start),
    to: end === undefined ? undefined : dateIn(time_zone, end),
    compare_from: dateIn(time_zone, previous),
    compare_to: timeOf(
      endOfPrevious(start, end ?? startOf("day", now, 1, calendar), previous, now),
      time_zone,
    ),
    isHourly: name === "today" || name === "yesterday",
  };
}

/** Returns the start of a span, its end if it is over, and the start of the one before. */
function boundsOf(
  name: Exclude<SpanName, "all">,
  now: number,
  calendar: Calendar,
): [start: number, end: number | undefined, previous: number] {
  const startAt = (span: "day" | "week" | "month" | "quarter", later: number) =>
    startOf(span, now, later, calendar);
  if (name === "7d" || name === "30d") {
    const days = name === "7d" ? 7 : 30;
    return [startAt("day", 1 - days), undefined, startAt("day", 1 - 2 * days)];
  }
  const [span, later] = NAMED_SPANS[name];
  return [startAt(span, later), later === 0 ? undefined : startAt(span, later + 1), startAt(span, later - 1)];
}

/** Returns the end of the span before: that of the span itself so far, since it may not have ended. */
function endOfPrevious(start: number, end: number, previous: number, now: number): number {
  const isOver = end <= now;
  const until = isOver ? end : Math.max(start, startOf("hour", now));
  // A month that is over is compared with all of the month before, however long that was.
  return isOver ? start : Math.min(previous + until - start, start);
}

/** Returns the span of two times in the URL, of which one may be missing. */
function spanBetween(
  from: string | undefined,
  to: string | undefined,
  now: number,
  time_zone: string,
): Span {
  const start = from === undefined ? NaN : instantOf(from, time_zone);
  const end = to === undefined ? startOfDay(now, time_zone, 1) : instantOf(to, time_zone);
  const length = end - start;
  const described = escapeText(describeSpan(from, to, time_zone));
  const title = /^on \S+$/.test(described) ? `${described} (${time_zone})` : described;
  // Without a start, or with times that are none, there is no length, and the server says what is wrong.
  if (!(length > 0)) return { title, from, to, time_zone, before: "", isHourly: false };
  // A day with a change of the clock has 23 or 25 hours.
  const isOfDays = [start, end].every((time) => startOfDay(time, time_zone) === time);
  const days = isOfDays ? Math.round(length / DAY_MS) : undefined;
  const previous = days === undefined ? start - length : startOfDay(start, time_zone, -days);
  return {
    ...{ title, from, to, time_zone },
    compare_from: timeOf(previous, time_zone),
    compare_to: timeOf(endOfPrevious(start, end, previous, now), time_zone),
    before: days === 1
      ? "the day before"
      : days === undefined
      ? "the same time before"
      : `the ${days} days before`,
    isHourly: (to === undefined ? now - start : length) <= MAX_HOURS * HOUR_MS,
  };
}

/** The parts of a span that say what its bars are. */
type Barred = Pick<Span, "from" | "to" | "time_zone" | "isHourly">;

/**
 * Returns the starts of the bars of a span: that of the span, and of the days, or hours, within. Those of a span without bounds go from
 * the first to the last of its calls.
 */
export function timesOf(span: Barred, { first, end }: { first: number; end: number }): number[] {
  const { from, to, time_zone, isHourly } = span;
  const start = from === undefined ? first : instantOf(from, time_zone);
  const stop = to === undefined ? end : instantOf(to, time_zone);
  const times: number[] = [];
  let time = from !== undefined ? start : isHourly ? startOf("hour", start) : startOfDay(start, time_zone);
  while (time < stop && times.length < MAX_TIMES) {
    times.push(time);
    time = endOfBar(span, time);
  }
  return times;
}

const MAX_TIMES = 1_000;

/** Returns the start of the bar of a row: an hour of UTC may begin before a day of a zone does. */
export function startOfBar(
  { from, time_zone }: Barred,
  { day, hour }: Pick<CostRow, "day" | "hour">,
): number {
  return Math.max(instantOf((hour ?? day)!, time_zone), from === undefined ? 0 : instantOf(from, time_zone));
}

/** Returns the end of a bar, exclusive. */
export function endOfBar({ to, time_zone, isHourly }: Omit<Barred, "from">, start: number): number {
  const end = isHourly ? startOf("hour", start, 1) : startOfDay(start, time_zone, 1);
  return to === undefined ? end : Math.min(end, instantOf(to, time_zone));
}

/** Names the point of a bar by its day, or by its day and hour. */
export function nameTime(at: number, { isHourly, time_zone }: Pick<Span, "isHourly" | "time_zone">) {
  const [day, time] = minuteIn(time_zone, at).split(/ (.*)/) as [string, string];
  return isHourly
    ? { label: `${utcDay(day)}, ${time}`, short: time.slice(0, 5) }
    : { label: day, short: utcDay(day) };
}
