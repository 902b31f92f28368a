import type { BudgetPeriod } from "../values.ts";
import { calendarIn, calendarText, isCalendarPeriod } from "../windows.ts";
import { type Calendar, UTC, type WeekDay } from "./zones.ts";

/** Returns which field of a calendar is for no window of a period, and why. */
export function calendarFault(
  { per, time_zone, week_start, month_start_day }: CalendarInput & { per: BudgetPeriod },
): { path: keyof CalendarInput; message: string } | undefined {
  const refuse = (path: keyof CalendarInput, whose: string) => ({
    path,
    message: `can't be together with per ${per}: ${whose}`,
  });
  if (time_zone != null && time_zone !== UTC.timeZone && !isCalendarPeriod(per)) {
    return refuse("time_zone", "its window isn't made of days");
  }
  if (week_start != null && week_start !== UTC.weekStart && per !== "week") {
    return refuse("week_start", "only a window of a week has it");
  }
  if (
    month_start_day != null && month_start_day !== UTC.monthStartDay && per !== "month" && per !== "quarter"
  ) {
    return refuse("month_start_day", "only a window of a month or quarter has it");
  }
  return undefined;
}

/** When the windows of a budget or rule begin, as its author says it. */
export interface CalendarInput {
  time_zone?: string | null | undefined;
  week_start?: WeekDay | null | undefined;
  month_start_day?: number | null | undefined;
}

/** Returns a calendar: what the input leaves out is that of the server. */
export const calendarWith = (input: CalendarInput, server: Partial<Calendar>): Calendar => ({
  timeZone: input.time_zone ?? server.timeZone ?? UTC.timeZone,
  weekStart: input.week_start ?? server.weekStart ?? UTC.weekStart,
  monthStartDay: input.month_start_day ?? server.monthStartDay ?? UTC.monthStartDay,
});

/** Returns the text of the calendar of a budget or rule: what its author has left out is that of the server. */
export const calendarFor = (
  per: BudgetPeriod,
  input: CalendarInput,
  server: Partial<Calendar>,
): string | null => calendarText(per, calendarWith(input, server));

/** Returns the fields of a calendar. */
export function calendarFieldsOf(
  calendar: string | null,
): Required<{ [Name in keyof CalendarInput]: NonNullable<CalendarInput[Name]> }> {
  const { timeZone, weekStart, monthStartDay } = calendarIn(calendar);
  return { time_zone: timeZone, week_start: weekStart, month_start_day: monthStartDay };
}
