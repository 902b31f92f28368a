import { type CalendarInput, calendarWith } from "../../contract/calendars/calendar_input.ts";
import {
  type Calendar,
  MAX_MONTH_START_DAY,
  readTimeZone,
  UTC,
  WEEK_DAYS,
} from "../../contract/calendars/zones.ts";
import { type CommandContext, option } from "../command.ts";
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

const { "week-start": weekStart, "month-start-day": monthStartDay } = CALENDAR_OPTIONS;

/** The options of a report that is made of days. */
export const ZONE_OPTIONS = {
  tz: option("ZONE", "Time zone of days, weeks and months, such as Europe/Berlin (default: the server's)", {
    some: ["UTC", "Europe/Berlin", "America/New_York"],
  }),
  "week-start": weekStart,
  "month-start-day": monthStartDay,
};

/** Returns the calendar of a report: by its options, else that of the config, or of the server if the config has none. */
export async function readReportCalendar(ctx: CommandContext): Promise<Calendar> {
  const { options, config } = ctx;
  const given = { ...readDays(options), time_zone: options.read("tz", readTimeZone) };
  const isDefault = (Object.keys(UTC) as (keyof Calendar)[]).every((name) => config[name] === UTC[name]);
  if (config.server === undefined || !isDefault) return calendarWith(given, config);
  const { api } = await ctx.connect();
  return calendarWith(given, calendarWith(await (await api.healthz.$get()).json(), UTC));
}

/** Returns the parameters of a report of a month. */
export const monthOf = ({ timeZone, monthStartDay }: Calendar) => ({
  time_zone: timeZone,
  month_start_day: String(monthStartDay),
});

/** Returns the parameters of a report of a calendar. */
export const queryOfCalendar = (calendar: Calendar) => ({
  ...monthOf(calendar),
  week_start: calendar.weekStart,
});

/** Reads the given ones. Throws a `UsageError` that names the option. */
export function readCalendar(options: Options): CalendarInput {
  return { ...readMonths(options), ...readDays(options) };
}

/** Reads those of a rule, which measures no weeks. */
export const readMonths = (options: Options) => ({
  time_zone: options.read("time-zone", readTimeZone),
  month_start_day: options.wholeNumber("month-start-day", { min: 1, max: MAX_MONTH_START_DAY }),
});

const readDays = (options: Options) => ({
  week_start: options.oneOf("week-start", WEEK_DAYS),
  month_start_day: options.wholeNumber("month-start-day", { min: 1, max: MAX_MONTH_START_DAY }),
});
