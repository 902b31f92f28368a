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

/** Returns the period of a limit in words, with where its windows begin: `UTC day`, `month from day 15 in Europe/Berlin`. */
export function periodText(
  per: BudgetPeriod,
  { time_zone, week_start = "monday", month_start_day }: {
    time_zone: string;
    week_start?: string;
    month_start_day: number;
  },
): string {
  const start = week_start !== "monday"
    ? ` from ${week_start}`
    : month_start_day > 1
    ? ` from day ${month_start_day}`
    : "";
  return time_zone === "UTC" && start === ""
    ? PERIODS[per]
    : `${PERIODS[per].replace(/UTC | \(UTC\)/, "")}${start} in ${time_zone}`;
}
