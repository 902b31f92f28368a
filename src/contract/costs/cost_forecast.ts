import { z } from "@hono/zod-openapi";
import { CostUsd, Count, Time } from "../parts.ts";

/** The wire schema of the forecast of the month's cost. */

export const CostForecast = z.object({
  time_zone: z.string().openapi({ description: "Time zone of the month", example: "UTC" }),
  month: z.string().openapi({ description: "The current month, by its first day", example: "2026-11" }),
  from: Time.openapi({ description: "Start of the month" }),
  to: Time.openapi({ description: "End of the month, exclusive" }),
  as_of: Time.openapi({ description: "Time of the forecast" }),
  pace_from: Time.nullable().openapi({
    description:
      "Start of the span whose pace is taken: that of the month, or of the day of the very first call; " +
      "null before it",
  }),
  unpriced_calls: Count.openapi({ description: "Calls of the month that `cost_usd` leaves out" }),
  partly_priced_calls: Count.openapi({
    description: "Calls of the month of which `cost_usd` leaves out a part",
  }),
  cost_usd: CostUsd.openapi({ description: "USD spent in the month so far" }),
  forecast_usd: CostUsd.openapi({
    description:
      "By pace: `cost_usd`, and the same amount for each remaining millisecond of the month as was spent per " +
      "millisecond from `pace_from` to `as_of`; null until these are a day apart, and before three days of calls",
  }),
  weekday_forecast_usd: CostUsd.openapi({
    description:
      "By weekdays: `cost_usd`, and for each remaining day the median of the same weekday in the last four " +
      "weeks; null before three days of calls",
  }),
  low_usd: CostUsd.openapi({ description: "The lower one of both" }),
  high_usd: CostUsd.openapi({ description: "The higher one of both" }),
}).openapi("CostForecast", { description: "An estimate, not a sum of calls" });
export type CostForecast = z.infer<typeof CostForecast>;
