import type { BudgetPeriod } from "../../../contract/values.ts";

/** The periods in words. */
export const PERIODS: Readonly<Record<BudgetPeriod, string>> = {
  run: "each run",
  session: "each session",
  tree: "each session, with its sub-agents",
  hour: "last 60 minutes",
  day: "UTC day",
  week: "week (UTC)",
  month: "UTC month",
  quarter: "UTC quarter",
  "30d": "last 30 days",
  lifetime: "all time",
};
