import type { CalendarInput } from "../../contract/calendars/calendar_input.ts";
import { MAX_MONTH_START_DAY, readTimeZone, WEEK_DAYS } from "../../contract/calendars/zones.ts";
import { option } from "../command.ts";
import type { Options } from "./options.ts";

/** The options that say when the windows of a budget or rule begin. */
export const CALENDAR_OPTIONS = {
  "time-zone": option(
    "ZONE",
    "Time zone of its days, such as Europe/Berlin (default: the server's, UTC unless set)",
    {
      some: ["UTC", "Europe/Berlin", "America/New_York"],
    },
  ),
  "week-start": option("DAY", "First day of a week (default monday)", { oneOf: WEEK_DAYS }),
  "month-start-day": option("N", `First day of a month or quarter, 1 to ${MAX_MONTH_START_DAY} (default 1)`),
};

/** Reads the given ones. Throws a `UsageError` that names the option. */
export function readCalendar(options: Options): CalendarInput {
  return {
    time_zone: options.read("time-zone", readTimeZone),
    week_start: options.oneOf("week-start", WEEK_DAYS),
    month_start_day: options.wholeNumber("month-start-day", { min: 1, max: MAX_MONTH_START_DAY }),
  };
}
