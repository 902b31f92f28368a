import { NAMED_SPANS, startOf } from "../../contract/windows.ts";
import {
  type Calendar,
  startOfLocalDay,
  timeOfLocal,
  UTC,
  WEEK_DAYS,
} from "../../contract/calendars/zones.ts";
import { DAY_MS, HOUR_MS, toIso } from "../../kernel/clock.ts";

const UNIT_MS: Record<string, number> = { m: 60_000, h: HOUR_MS, d: DAY_MS, w: 7 * DAY_MS };
const DATE = /^\d{4}-\d{2}-\d{2}$/;
const TIME = /^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:?\d{2})?$/i;

/**
 * Parses `24h`, `7d`, `30m`, `2w`, `today`, `yesterday`, `week`, `last-week`, `month`, `last-month`, `quarter`, `last-quarter` (the
 * starts of these), the latest day of a name (`monday`), a date, or an ISO time to an ISO time in UTC; `all` to undefined. Days are
 * those of the calendar, and so is a time without a zone. Throws an error that lists the accepted forms.
 */
export function parseSince(text: string, now: number, calendar: Calendar = UTC): string | undefined {
  if (text === "all") return undefined;
  if (Object.hasOwn(NAMED_SPANS, text)) {
    const [span, later] = NAMED_SPANS[text as keyof typeof NAMED_SPANS];
    return toIso(startOf(span, now, later, calendar));
  }
  const weekStart = WEEK_DAYS.find((day) => day === text);
  if (weekStart) return toIso(startOf("week", now, 0, { ...calendar, weekStart }));
  const span = /^(\d{1,6})([mhdw])$/.exec(text);
  if (span) return toIso(Math.max(0, now - Number(span[1]) * UNIT_MS[span[2]!]!));
  if (DATE.test(text) || TIME.test(text)) {
    const isDate = DATE.test(text);
    const hasZone = /(Z|[+-]\d{2}:?\d{2})$/i.test(text.slice(10));
    const time = Date.parse(text.replace(" ", "T") + (isDate || hasZone ? "" : "Z"));
    if (!Number.isNaN(time) && isRealDay(text.slice(0, 10))) {
      const { timeZone } = calendar;
      return toIso(isDate ? startOfLocalDay(timeZone, time) : hasZone ? time : timeOfLocal(timeZone, time));
    }
  }
  throw new Error(
    `${
      text || "an empty value"
    } is not a time; write 24h, 7d, today, yesterday, monday, week, month, 2026-11-21 or ` +
      "2026-11-21T09:30Z",
  );
}

/** Parses `30m`, `12h`, `7d` or `2w` to milliseconds. Throws an error for another form, and for more than `max`. */
export function parseDuration(text: string, max: number): number {
  const span = /^(\d{1,6})([mhdw])$/.exec(text);
  if (!span) throw new Error(`${text || "an empty value"} is not a duration; write 30m, 12h, 7d or 2w`);
  const duration = Number(span[1]) * UNIT_MS[span[2]!]!;
  if (duration > max) throw new Error(`${text} is more than ${max / DAY_MS}d`);
  return duration;
}

/** Returns whether a day exists: JavaScript reads February 30th as March 2nd. */
function isRealDay(day: string): boolean {
  return toIso(Date.parse(day)).startsWith(day);
}

const LATEST = Date.parse("9999-12-31T23:59:59.999Z");

/**
 * Parses `90d`, `12h`, a date (its start in UTC) or an ISO time to a future ISO time in UTC. Throws an error that lists
 * the accepted forms.
 */
export function parseExpiry(text: string, now: number): string {
  const span = /^(\d{1,6})([mhdw])$/.exec(text);
  const time = span ? toIso(now + Number(span[1]) * UNIT_MS[span[2]!]!) : readTime(text, now);
  if (Date.parse(time) > LATEST) {
    throw new Error(`${text} is after the year 9999; omit it for no end`);
  }
  if (Date.parse(time) > now) return time;
  throw new Error(`${text} is not in the future`);
}

function readTime(text: string, now: number): string {
  try {
    const time = text === "all" ? undefined : parseSince(text, now);
    if (time !== undefined) return time;
  } catch {
    // reported below, with examples of future times
  }
  throw new Error(
    `${text || "an empty value"} is not a time; write 90d, 12h, 4w, 2027-01-31 or 2027-01-31T09:30Z`,
  );
}
