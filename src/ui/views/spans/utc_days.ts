import { startInUtc } from "../../../contract/windows.ts";
import { DAY_MS, toIso } from "../../../kernel/clock.ts";
import { utc } from "../../format/time.ts";

/** The parameter of reports whose days are those of UTC, as in the URL, whatever the time zone of the server is. */
export const IN_UTC = { time_zone: "UTC" };

/** Formats the UTC day of a time: `2026-11-23`. */
export function dayOf(time: number): string {
  return toIso(time).slice(0, 10);
}

/** Formats a time for the URL: as its day where it is the start of one. */
export function timeOf(time: number): string {
  return isStartOfDay(time) ? dayOf(time) : toIso(time);
}

/** Describes a time of the URL in words: a day as `2026-11-23`, any other time as `2026-11-23 16:40 UTC`. */
export function describeTime(text: string): string {
  const time = Date.parse(text);
  return Number.isNaN(time) ? text : isStartOfDay(time) ? dayOf(time) : utc(time);
}

/**
 * Describes a span of the URL in words: `from 2026-11-23`, `from 2026-11-20 to 2026-11-23` with all of that day, `on 2026-11-23
 * from 14:00 to 15:00 UTC`.
 */
export function describeSpan(from: string | undefined, to: string | undefined): string {
  const [start, end] = [from, to].map((text) => text && describeTime(text));
  const [day, day2] = [start, end].map((text) => text?.slice(0, 10));
  if (start && end && day === day2 && start.length > 10 && end.length > 10) {
    return `on ${day} from ${start.slice(11, 16)} to ${end.slice(11)}`;
  }
  const last = to && isDay(to) ? dayOf(Date.parse(to) - DAY_MS) : undefined;
  if (last && from && isDay(from)) return last === start ? `on ${start}` : `from ${start} to ${last}`;
  return [start && `from ${start}`, end && (last ? `to the end of ${last}` : `until ${end}`)]
    .filter(Boolean).join(" ");
}

/** Returns whether a time is the start of a UTC day. */
export function isStartOfDay(time: number): boolean {
  return startInUtc("day", time) === time;
}

const isDay = (text: string) => isStartOfDay(Date.parse(text));

/** Returns the first and the last day of a span, both included, for fields that choose them; '' where there is none. */
export function daysOf(from: string | undefined, to: string | undefined, now: number): [string, string] {
  const [start, end] = [from, to].map((text) => text === undefined ? NaN : Date.parse(text)) as [
    number,
    number,
  ];
  return [
    Number.isNaN(start) ? "" : dayOf(start),
    to === undefined ? (from === undefined ? "" : dayOf(now)) : Number.isNaN(end) ? "" : dayOf(end - 1),
  ];
}

/** Returns the day after a day. */
export function nextDay(day: string): string {
  return dayOf(Date.parse(day) + DAY_MS);
}
