import { dateIn, startOfLocalDay, timeIn, UTC } from "../../../contract/calendars/zones.ts";
import { startOf } from "../../../contract/windows.ts";
import { DAY_MS, toIso } from "../../../kernel/clock.ts";

/** Returns the day of a zone that is `later` days after the one with a time. */
export const startOfDay = (time: number, timeZone: string, later = 0): number =>
  startOf("day", time, later, { ...UTC, timeZone });

/** Returns the time of a text of the URL or of an answer: a day begins at the midnight of its zone. NaN where it is no time. */
export function instantOf(text: string, timeZone: string): number {
  const time = Date.parse(text);
  return text.length === "2026-11-23".length && time ? startOfLocalDay(timeZone, time) : time;
}

/** Formats a time for the URL: as its day where it is the start of one. */
export function timeOf(time: number, timeZone: string): string {
  return startOfDay(time, timeZone) === time ? dateIn(timeZone, time) : toIso(time);
}

/** Formats a time to the minute: `2026-11-23 16:40 UTC`, `2026-11-23 16:40+01:00 (Europe/Berlin)`. */
export function minuteIn(timeZone: string, time: number): string {
  return timeIn(timeZone, time).replace("T", " ").replace(/Z$/, " UTC");
}

/**
 * Describes a span of the URL in words: `from 2026-11-23`, `from 2026-11-20 to 2026-11-23` with all of that day, `on 2026-11-23
 * from 14:00 to 15:00 UTC`.
 */
export function describeSpan(from: string | undefined, to: string | undefined, timeZone: string): string {
  const [start, end] = [from, to].map((text) => {
    const time = text ? instantOf(text, timeZone) : NaN;
    if (Number.isNaN(time)) return { text };
    const isDay = startOfDay(time, timeZone) === time;
    return { text: isDay ? dateIn(timeZone, time) : minuteIn(timeZone, time), time, isDay };
  }) as [Described, Described];
  const [day, day2] = [start, end].map(({ text }) => text?.slice(0, 10));
  if (day && day === day2 && start.isDay === false && end.isDay === false) {
    return `on ${day} from ${start.text!.slice(11, 16)} to ${end.text!.slice(11)}`;
  }
  const last = end.isDay ? dateIn(timeZone, end.time! - 1) : undefined;
  if (last && start.isDay) return last === start.text ? `on ${start.text}` : `from ${start.text} to ${last}`;
  return [
    start.text && `from ${start.text}`,
    end.text && (last ? `to the end of ${last}` : `until ${end.text}`),
  ]
    .filter(Boolean).join(" ");
}

interface Described {
  text: string | undefined;
  time?: number;
  isDay?: boolean;
}

/** Returns the first and the last day of a span, both included, for fields that choose them; '' where there is none. */
export function daysOf(
  { from, to, time_zone }: { from?: string; to?: string; time_zone: string },
  now: number,
): [string, string] {
  const dayOf = (time: number) => Number.isNaN(time) ? "" : dateIn(time_zone, time);
  return [
    from === undefined ? "" : dayOf(instantOf(from, time_zone)),
    to === undefined ? (from === undefined ? "" : dayOf(now)) : dayOf(instantOf(to, time_zone) - 1),
  ];
}

/** Returns the day after a day. */
export function nextDay(day: string): string {
  return toIso(Date.parse(day) + DAY_MS).slice(0, 10);
}
