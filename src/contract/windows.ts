import { DAY_MS, HOUR_MS, MINUTE_MS } from "../kernel/clock.ts";
import type { BudgetPeriod, BudgetThreshold, ThresholdType } from "./values.ts";
import {
  type Calendar,
  localDayAt,
  offsetsOf,
  startOfLocalDay,
  UTC,
  WEEK_DAYS,
  type WeekDay,
} from "./calendars/zones.ts";

/*
 * The spans of the calendar, and the windows of budgets and rules: each is defined here and nowhere else, as TypeScript and as SQL.
 * Times are milliseconds since 1970, before which no call is booked; days are those of UTC unless a calendar says otherwise. SQL knows
 * only those: the starts of others are rows, see `startsOf()`.
 */

/** A span of the calendar; in UTC, a week begins on Monday. */
export type Span = "minute" | "hour" | "day" | "week" | "month" | "quarter";

/** The spans of one length, and the start of one that begins in 1970 or before. */
const FIXED = {
  minute: { lengthMs: MINUTE_MS, firstMs: 0 },
  hour: { lengthMs: HOUR_MS, firstMs: 0 },
  day: { lengthMs: DAY_MS, firstMs: 0 },
  week: { lengthMs: 7 * DAY_MS, firstMs: -3 * DAY_MS }, // Monday, 29 December 1969
} as const satisfies Partial<Record<Span, { lengthMs: number; firstMs: number }>>;

/**
 * Returns the start of the span that holds a time, or of the span `later` spans after it. Minutes and hours are those of UTC in every
 * calendar.
 */
export function startOf(span: Span, at: number, later = 0, calendar: Calendar = UTC): number {
  if (span === "minute" || span === "hour") return startInUtc(span, at, later);
  const { timeZone } = calendar;
  const shift = shiftOf(span, calendar);
  const day = timeZone === "UTC" ? at : localDayAt(timeZone, at);
  return startOfLocalDay(timeZone, startInUtc(span, day - shift, later) + shift);
}

/** Returns the length by which the weeks or months of a calendar begin later than those of UTC. */
const shiftOf = (span: "day" | "week" | "month" | "quarter", { weekStart, monthStartDay }: Calendar) =>
  DAY_MS * (span === "week" ? WEEK_DAYS.indexOf(weekStart) : span === "day" ? 0 : monthStartDay - 1);

/** Returns the start of the span of UTC that holds a time, or of the span `later` spans after it; without what knows zones, for the dashboard. */
export function startInUtc(span: Span, at: number, later = 0): number {
  if (span === "month" || span === "quarter") {
    const date = new Date(at);
    const month = date.getUTCMonth();
    return span === "month"
      ? Date.UTC(date.getUTCFullYear(), month + later)
      : Date.UTC(date.getUTCFullYear(), month - month % 3 + 3 * later);
  }
  const { lengthMs, firstMs } = FIXED[span];
  return (Math.floor((at - firstMs) / lengthMs) + later) * lengthMs + firstMs;
}

/** SQL for `startOf()`; `at` is SQL for a time. */
export function startSql(span: Exclude<Span, "quarter">, at: string, later = 0): string {
  if (span === "month") {
    const move = later === 0 ? "" : `, '${later} months'`;
    return `(unixepoch((${at}) / 1000, 'unixepoch', 'start of month'${move}) * 1000)`;
  }
  const { lengthMs, firstMs } = FIXED[span];
  return `((${at}${plus(-firstMs)}) / ${lengthMs} * ${lengthMs}${plus(later * lengthMs + firstMs)})`;
}

/** The spans of reports that are made of the days of a time zone. */
export const DAY_SPANS = ["day", "week", "month"] as const satisfies Span[];
export type DaySpan = typeof DAY_SPANS[number];

/** The days of which a report is made, with the offsets of their zone in its span. */
export interface ReportDays {
  calendar: Calendar;
  offsets: readonly [from: number, offsetMs: number][];
}

/** The time before which no zone's changes of the clock are looked up. */
const OLDEST_MS = Date.UTC(2000, 0);

/** Returns the days of a report between two times. */
export const reportDays = (calendar: Calendar, from: number, to: number): ReportDays => ({
  calendar,
  offsets: offsetsOf(calendar.timeZone, Math.max(from, OLDEST_MS), to),
});

/** SQL for the local time at a time `at`, as the time at which UTC has it. */
function localSql(at: string, [first, ...later]: ReportDays["offsets"]): string {
  if (later.length === 0) return first![1] === 0 ? at : `(${at}${plus(first![1])})`;
  const cases = later.toReversed().map(([since, offset]) => `WHEN ${at} >= ${since} THEN ${offset}`);
  return `(${at} + CASE ${cases.join(" ")} ELSE ${first![1]} END)`;
}

/** SQL for the first day of the local span that holds a time, as the time at which it begins in UTC. */
export function localSpanSql(span: DaySpan, at: string, days: ReportDays): string {
  const local = localSql(at, days.offsets);
  const shift = shiftOf(span, days.calendar);
  return shift === 0 ? startSql(span, local) : `(${startSql(span, `${local} - ${shift}`)} + ${shift})`;
}

/** Returns whether the days of a report begin at whole hours. */
export const areOfWholeHours = ({ offsets }: ReportDays): boolean =>
  offsets.every(([, offset]) => offset % HOUR_MS === 0);

/** SQL that adds a number; none for 0. */
const plus = (number: number) => number === 0 ? "" : number < 0 ? ` - ${-number}` : ` + ${number}`;

/** The spans that people name, such as `purser cost --since last-week`, by their distance from the present one. */
export const NAMED_SPANS = {
  "today": ["day", 0],
  "yesterday": ["day", -1],
  "week": ["week", 0],
  "last-week": ["week", -1],
  "month": ["month", 0],
  "last-month": ["month", -1],
  "quarter": ["quarter", 0],
  "last-quarter": ["quarter", -1],
} as const satisfies Record<string, readonly [Span, number]>;

/** The length of the window that moves with the clock, which is named `hour`. */
export const ROLLING_MS = HOUR_MS;

/** The length of the one that moves with the days, which is named `30d`. */
export const ROLLING_DAYS_MS = 30 * DAY_MS;

/** The periods whose windows are made of days, and depend on a calendar. */
export const CALENDAR_PERIODS = ["day", "week", "month", "quarter", "30d"] as const satisfies BudgetPeriod[];
export type CalendarPeriod = typeof CALENDAR_PERIODS[number];
export const isCalendarPeriod = (per: BudgetPeriod): per is CalendarPeriod =>
  CALENDAR_PERIODS.some((other) => other === per);

/** The window of a period: the times with `from <= at < to`. */
export interface Window {
  from: number;
  /** Null where it has no end. */
  to: number | null;
  /** The time at which the next one begins; null for those that move with the clock, or have no end. */
  resetsAt: number | null;
}

/**
 * Returns the window of a period at a time. That of an hour is (at - 3,600,000 ms, at]; 30 days begin with the day of 30 days before;
 * a lifetime begins at `since`.
 */
export function windowOf(
  per: BudgetPeriod,
  at: number,
  since: number | null = null,
  calendar: Calendar = UTC,
): Window {
  if (per === "hour") return { from: at - ROLLING_MS + 1, to: at + 1, resetsAt: null };
  if (per === "30d") {
    return { from: startOf("day", at - ROLLING_DAYS_MS, 0, calendar), to: at + 1, resetsAt: null };
  }
  if (per === "day" || per === "week" || per === "month" || per === "quarter") {
    const to = startOf(per, at, 1, calendar);
    return { from: startOf(per, at, 0, calendar), to, resetsAt: to };
  }
  const whole: "run" | "session" | "tree" | "lifetime" = per;
  return { from: whole === "lifetime" ? since ?? 0 : 0, to: null, resetsAt: null };
}

/** SQL for `windowOf()` in UTC; `at` is SQL for a time. */
export function windowSql(per: "hour" | "day" | "week" | "month", at: string): { from: string; to: string } {
  if (per === "hour") return { from: `(${at} - ${ROLLING_MS} + 1)`, to: `(${at} + 1)` };
  return { from: startSql(per, at), to: startSql(per, at, 1) };
}

/** Returns the text of a calendar of windows, such as `Europe/Berlin week sunday`; null where they are those of SQL. */
export function calendarText(
  per: BudgetPeriod,
  { timeZone, weekStart, monthStartDay }: Calendar,
): string | null {
  if (!isCalendarPeriod(per)) return null;
  const start = per === "week" ? weekStart : per === "month" || per === "quarter" ? monthStartDay : undefined;
  const isUsual = start === undefined || start === UTC.weekStart || start === UTC.monthStartDay;
  if (timeZone === UTC.timeZone && isUsual) return null;
  const span = per === "30d" ? "day" : per;
  return [timeZone, span, ...start === undefined ? [] : [start]].join(" ");
}

/** Returns the calendar of a text, and the span of its windows. */
export function calendarIn(text: string | null): Calendar & { span: Span } {
  const [timeZone = UTC.timeZone, span = "day", start] = text?.split(" ") ?? [];
  return {
    timeZone,
    span: span as Span,
    weekStart: span === "week" ? start as WeekDay : UTC.weekStart,
    monthStartDay: span === "month" || span === "quarter" ? Number(start) : UTC.monthStartDay,
  };
}

/** Returns the text of the calendar of the days of a zone; null for those of UTC. */
export const daysOf = ({ timeZone }: Pick<Calendar, "timeZone">): string | null =>
  calendarText("day", { ...UTC, timeZone });

/** Returns the starts of the windows of a calendar, from the one that holds `from` to the first one after `until`. */
export function startsOf(text: string, from: number, until: number): number[] {
  const { span, ...calendar } = calendarIn(text);
  const starts = [startOf(span, from, 0, calendar)];
  while (starts.at(-1)! <= until) {
    starts.push(startOf(span, starts.at(-1)!, 1, calendar));
  }
  return starts;
}

/** Returns the period of a threshold type: `day` for `per_day_usd` and `budget_per_day_usd`. */
export function periodOf(type: ThresholdType | BudgetThreshold): BudgetPeriod {
  return /per_(\w+)_usd$/.exec(type)![1] as BudgetPeriod;
}
