import { DAY_MS, HOUR_MS, MINUTE_MS } from "../kernel/clock.ts";
import type { BudgetPeriod, BudgetThreshold, ThresholdType } from "./values.ts";

/*
 * The spans of the calendar, and the windows of budgets and rules: each is defined here and nowhere else, as TypeScript and as SQL.
 * Times are milliseconds since 1970, before which no call is booked; days are those of UTC.
 */

/** A span of the calendar; a week begins on Monday. */
export type Span = "minute" | "hour" | "day" | "week" | "month";

/** The spans of one length, and the start of one that begins in 1970 or before. */
const FIXED = {
  minute: { lengthMs: MINUTE_MS, firstMs: 0 },
  hour: { lengthMs: HOUR_MS, firstMs: 0 },
  day: { lengthMs: DAY_MS, firstMs: 0 },
  week: { lengthMs: 7 * DAY_MS, firstMs: -3 * DAY_MS }, // Monday, 29 December 1969
} as const satisfies Partial<Record<Span, { lengthMs: number; firstMs: number }>>;

/** Returns the start of the span that holds a time, or of the span `later` spans after it. */
export function startOf(span: Span, at: number, later = 0): number {
  if (span === "month") {
    const date = new Date(at);
    return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + later);
  }
  const { lengthMs, firstMs } = FIXED[span];
  return (Math.floor((at - firstMs) / lengthMs) + later) * lengthMs + firstMs;
}

/** SQL for `startOf()`; `at` is SQL for a time. */
export function startSql(span: Span, at: string, later = 0): string {
  if (span === "month") {
    const move = later === 0 ? "" : `, '${later} months'`;
    return `(unixepoch((${at}) / 1000, 'unixepoch', 'start of month'${move}) * 1000)`;
  }
  const { lengthMs, firstMs } = FIXED[span];
  return `((${at}${plus(-firstMs)}) / ${lengthMs} * ${lengthMs}${plus(later * lengthMs + firstMs)})`;
}

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
} as const satisfies Record<string, readonly [Span, number]>;

/** The length of the window that moves with the clock, which is named `hour`. */
export const ROLLING_MS = HOUR_MS;

/** The window of a period: the times with `from <= at < to`. */
export interface Window {
  from: number;
  /** Null where it has no end. */
  to: number | null;
  /** The time at which the next one begins; null for those that move with the clock, or have no end. */
  resetsAt: number | null;
}

/** Returns the window of a period at a time. That of an hour is (at - 3,600,000 ms, at]; a lifetime begins at `since`. */
export function windowOf(per: BudgetPeriod, at: number, since: number | null = null): Window {
  if (per === "hour") return { from: at - ROLLING_MS + 1, to: at + 1, resetsAt: null };
  if (per === "day" || per === "week" || per === "month") {
    const to = startOf(per, at, 1);
    return { from: startOf(per, at), to, resetsAt: to };
  }
  const whole: "run" | "session" | "tree" | "lifetime" = per;
  return { from: whole === "lifetime" ? since ?? 0 : 0, to: null, resetsAt: null };
}

/** SQL for `windowOf()`; `at` and `since` are SQL for times. */
export function windowSql(per: BudgetPeriod, at: string, since = "NULL"): { from: string; to: string } {
  if (per === "hour") return { from: `(${at} - ${ROLLING_MS} + 1)`, to: `(${at} + 1)` };
  if (per === "day" || per === "week" || per === "month") {
    return { from: startSql(per, at), to: startSql(per, at, 1) };
  }
  const whole: "run" | "session" | "tree" | "lifetime" = per;
  return { from: whole === "lifetime" ? `coalesce(${since}, 0)` : "0", to: "NULL" };
}

/** Returns the period of a threshold type: `day` for `per_day_usd` and `budget_per_day_usd`. */
export function periodOf(type: ThresholdType | BudgetThreshold): BudgetPeriod {
  return /per_(\w+)_usd$/.exec(type)![1] as BudgetPeriod;
}
