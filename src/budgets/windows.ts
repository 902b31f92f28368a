import type { BudgetPeriod } from "../contract/values.ts";
import { DAY_MS, HOUR_MS, startOf } from "../kernel/clock.ts";

/**
 * The present window of a budget: it counts what is booked from `from` on. It is open at its end, so that a call booked
 * under the time of a clock that is ahead counts. `resetsAt`: null where no moment resets it.
 */
export interface BudgetWindow {
  from: number;
  resetsAt: number | null;
}

const WEEK_MS = 7 * DAY_MS;
/** The first Monday of the epoch. */
const MONDAY_MS = 4 * DAY_MS;

/** Returns the window of a period at `now`. The rolling hour is (now - 3,600,000 ms, now]; a week begins on Monday. */
export function windowOf(per: BudgetPeriod, now: number, countsFrom: number | null = null): BudgetWindow {
  switch (per) {
    case "hour":
      return { from: now - HOUR_MS + 1, resetsAt: null };
    case "day":
      return { from: startOf(now, DAY_MS), resetsAt: startOf(now, DAY_MS) + DAY_MS };
    case "week": {
      const from = startOf(now - MONDAY_MS, WEEK_MS) + MONDAY_MS;
      return { from, resetsAt: from + WEEK_MS };
    }
    case "month": {
      const date = new Date(now);
      const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()];
      return { from: Date.UTC(year, month, 1), resetsAt: Date.UTC(year, month + 1, 1) };
    }
    case "run":
    case "session":
      return { from: 0, resetsAt: null };
    case "lifetime":
      return { from: countsFrom ?? 0, resetsAt: null };
  }
}
