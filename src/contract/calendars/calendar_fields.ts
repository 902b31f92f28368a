import { z } from "@hono/zod-openapi";
import { MAX_MONTH_START_DAY, readTimeZone, WEEK_DAYS } from "./zones.ts";

/* When the windows of budgets and rules begin, on the wire. */

/** A time zone, under the name that its database has. */
export const TimeZone = z.string().max(64).transform((text, ctx) => {
  try {
    return readTimeZone(text);
  } catch (error) {
    ctx.addIssue({ code: "custom", message: (error as Error).message });
    return z.NEVER;
  }
});

const TIME_ZONE = "Time zone of the days of its windows, such as `Europe/Berlin`";
const WEEK_START = "First day of a week, for `per: week`";
const MONTH_START = "First day of a month, for `per: month` and `quarter`: 15 for months from the 15th";

/** The fields that say when the windows of a budget or rule begin; those not given are those of the server. */
export const calendarFields = {
  time_zone: TimeZone.nullish().openapi({
    type: ["string", "null"],
    description: `${TIME_ZONE}; the server's, UTC unless set, if not given`,
    example: "Europe/Berlin",
  }),
  week_start: z.enum(WEEK_DAYS).nullish().openapi({
    description: `${WEEK_START}; the server's if not given`,
  }),
  month_start_day: z.number().int().min(1).max(MAX_MONTH_START_DAY).nullish().openapi({
    format: "int32",
    description: `${MONTH_START}; the server's if not given`,
  }),
};

/** The same as they are. */
export const calendarValues = {
  time_zone: z.string().openapi({ description: TIME_ZONE, example: "UTC" }),
  week_start: z.enum(WEEK_DAYS).openapi({ description: WEEK_START }),
  month_start_day: z.number().int().openapi({ format: "int32", description: MONTH_START, example: 1 }),
};
