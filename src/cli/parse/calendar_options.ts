import type { CalendarInput } from "../../contract/calendars/calendar_input.ts";
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
  const { week_start, month_start_day } = readDays(options);
  const timeZone = options.read("tz", readTimeZone);
  const { timeZone: ownZone, weekStart, monthStartDay } = config;
  const isOwn = config.server === undefined || ownZone !== UTC.timeZone || weekStart !== UTC.weekStart ||
    monthStartDay !== UTC.monthStartDay;
  const present = isOwn
    ? { time_zone: ownZone, week_start: weekStart, month_start_day: monthStartDay }
    : await (await (await ctx.connect()).api.healthz.$get()).json();
  return {
    timeZone: timeZone ?? present.time_zone,
    weekStart: week_start ?? present.week_start,
    monthStartDay: month_start_day ?? present.month_start_day,
  };
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
