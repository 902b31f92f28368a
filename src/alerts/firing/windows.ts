import type { ThresholdType } from "../../contract/values.ts";
import { DAY_MS, HOUR_MS, startOf } from "../../kernel/clock.ts";

/** The time windows: those that are not a run's or a session's. */
export type TimeWindow = Exclude<ThresholdType, "per_run_usd" | "per_session_usd">;

/** A window of time: calls with `from <= at < to`. Milliseconds since the epoch. */
export interface TimeSpan {
  from: number;
  to: number;
}

/** The window of a kind that is the present one at `now`. The rolling hour is (now - 3,600,000 ms, now]. */
export function windowAt(type: TimeWindow, now: number): TimeSpan {
  if (type === "per_hour_usd") return { from: now - HOUR_MS + 1, to: now + 1 };
  if (type === "per_day_usd") {
    const from = startOf(now, DAY_MS);
    return { from, to: from + DAY_MS };
  }
  const date = new Date(now);
  const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()];
  return { from: Date.UTC(year, month, 1), to: Date.UTC(year, month + 1, 1) };
}
