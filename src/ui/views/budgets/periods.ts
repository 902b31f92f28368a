import type { Alert } from "../../../contract/alerts/alerts.ts";
import type { BudgetPeriod } from "../../../contract/values.ts";

/** The periods in words. */
export const PERIODS: Readonly<Record<BudgetPeriod, string>> = {
  run: "each run",
  session: "each session",
  hour: "last 60 minutes",
  day: "UTC day",
  week: "week (UTC)",
  month: "UTC month",
  lifetime: "all time",
};

/** Returns the period of a threshold type: `day` of `per_day_usd` and of `budget_per_day_usd`. */
export function periodOf(type: Alert["threshold_type"]): BudgetPeriod {
  return /per_(\w+)_usd$/.exec(type)![1] as BudgetPeriod;
}
