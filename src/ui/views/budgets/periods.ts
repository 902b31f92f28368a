import type { BudgetPeriod } from "../../../contract/values.ts";

/** The periods in words, in UTC. */
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

/** The fields that say when a window begins, as far as an answer has them. */
interface Windowed {
  per: BudgetPeriod;
  time_zone?: string;
  week_start?: string;
  month_start_day?: number;
}

/** Names the window of a limit: `UTC day`, `month in Europe/Berlin, from day 15`. */
export function windowText(
  { per, time_zone = "UTC", week_start = "monday", month_start_day = 1 }: Windowed,
): string {
  const from = per === "week" && week_start !== "monday"
    ? `, from ${week_start}`
    : (per === "month" || per === "quarter") && month_start_day !== 1
    ? `, from day ${month_start_day}`
    : "";
  const isOfDays = /^(day|week|month|quarter|30d)$/.test(per);
  return isOfDays && (time_zone !== "UTC" || from) ? `${per} in ${time_zone}${from}` : PERIODS[per];
}
