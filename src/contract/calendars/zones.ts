import { DAY_MS } from "../../kernel/clock.ts";
import { nearestName } from "../../kernel/nearest_name.ts";

/*
 * Time zones, as the runtime knows them. A local day is named by its label: the time at which it begins in UTC if its date is taken
 * for one of UTC. So the arithmetic of weeks and months is that of UTC.
 */

/** The days of a week. */
export const WEEK_DAYS = [
  "monday",
  "tuesday",
  "wednesday",
  "thursday",
  "friday",
  "saturday",
  "sunday",
] as const;
export type WeekDay = typeof WEEK_DAYS[number];

/** The last day with which a month can begin: every month has it. */
export const MAX_MONTH_START_DAY = 28;

/** The days of which windows are made, and where weeks, months and quarters begin. */
export interface Calendar {
  /** A name of the IANA database, or `UTC`. */
  timeZone: string;
  weekStart: WeekDay;
  /** 1 to 28. */
  monthStartDay: number;
}

/** The calendar where none is chosen. */
export const UTC: Calendar = { timeZone: "UTC", weekStart: "monday", monthStartDay: 1 };

const formats = new Map<string, Intl.DateTimeFormat>();

function formatOf(timeZone: string): Intl.DateTimeFormat {
  let format = formats.get(timeZone);
  if (format === undefined) {
    format = new Intl.DateTimeFormat("en-US", {
      ...{ timeZone, calendar: "iso8601", numberingSystem: "latn", hourCycle: "h23" },
      ...{ year: "numeric", month: "numeric", day: "numeric" },
      ...{ hour: "numeric", minute: "numeric", second: "numeric" },
    });
    formats.set(timeZone, format);
  }
  return format;
}

/** Returns the local time in a zone at a time, as the time at which UTC has it. */
export function localTime(timeZone: string, at: number): number {
  if (timeZone === "UTC") return at;
  const parts: Record<string, string> = {};
  for (const { type, value } of formatOf(timeZone).formatToParts(at)) parts[type] = value;
  const { year, month, day, hour, minute, second } = parts;
  const padded = [month, day, hour, minute, second].map((part) => part!.padStart(2, "0"));
  const [monthText, dayText, ...time] = padded;
  const local = Date.parse(`${year!.padStart(4, "0")}-${monthText}-${dayText}T${time.join(":")}Z`);
  return local + (((at % 1_000) + 1_000) % 1_000);
}

const offsetAt = (timeZone: string, at: number) => localTime(timeZone, at) - at;

/** Returns the offsets of a zone in a span, each with the time from which on it is that one; the first is that of all times before. */
export function offsetsOf(timeZone: string, from: number, to: number): [from: number, offsetMs: number][] {
  if (timeZone === "UTC") return [[0, 0]];
  const offsets: [number, number][] = [[from, offsetAt(timeZone, from)]];
  const step = 7 * DAY_MS;
  for (let start = from; start < to; start += step) {
    const [before, after] = [offsetAt(timeZone, start), offsetAt(timeZone, start + step)];
    if (before !== after) offsets.push([firstWith(timeZone, after, start, start + step), after]);
  }
  return offsets;
}

/** Returns the time at which a zone changes to an offset, after one time and up to another. */
function firstWith(timeZone: string, offset: number, from: number, to: number): number {
  let [before, after] = [from, to];
  while (after - before > 1) {
    const middle = Math.floor((before + after) / 2);
    if (offsetAt(timeZone, middle) === offset) after = middle;
    else before = middle;
  }
  return after;
}

/** Returns the local date at a time: `2026-11-28`. */
export const dateIn = (timeZone: string, at: number): string =>
  new Date(localTime(timeZone, at)).toISOString().slice(0, 10);

/** Returns the time at which a zone has a local time, such as 09:30 of a day: the first of two, or that of the offset before. */
export function timeOfLocal(timeZone: string, local: number): number {
  const offsets = [local - DAY_MS, local + DAY_MS].map((at) => offsetAt(timeZone, at));
  return offsets.map((offset) => local - offset).find((at) => localTime(timeZone, at) === local) ??
    local - offsets[0]!;
}

/** Returns the time at which a local day begins: the first one at which its date is reached. One that is skipped begins with the next. */
export function startOfLocalDay(timeZone: string, label: number): number {
  if (timeZone === "UTC") return label;
  const [before, after] = [label - DAY_MS, label + DAY_MS];
  const [first, last] = [offsetAt(timeZone, before), offsetAt(timeZone, after)];
  if (first === last) return label - first;
  const change = firstWith(timeZone, last, before, after);
  return label - first < change ? label - first : Math.max(change, label - last);
}

/** Returns the label of the local day that holds a time. */
export function localDayAt(timeZone: string, at: number): number {
  const local = localTime(timeZone, at);
  const label = local - (((local % DAY_MS) + DAY_MS) % DAY_MS);
  // A clock that is set back over midnight has the end of a day twice: the second time is of the day that has begun.
  return timeZone !== "UTC" && startOfLocalDay(timeZone, label + DAY_MS) <= at ? label + DAY_MS : label;
}

/**
 * Returns a time with its minutes: `2026-11-28T00:00Z`, or `2026-11-28T00:00+01:00 (Europe/Berlin)` in another zone than UTC that this
 * runtime knows.
 */
export function timeIn(timeZone: string, at: number): string {
  const minutesOf = (time: number) => new Date(time).toISOString().slice(0, 16);
  const inUtc = `${minutesOf(at)}Z`;
  if (timeZone === "UTC") return inUtc;
  let local: number;
  try {
    local = localTime(timeZone, at);
  } catch {
    return inUtc; // a server may have newer data of zones
  }
  const offset = Math.abs(local - at);
  return `${minutesOf(local)}${local < at ? "-" : "+"}${
    new Date(offset).toISOString().slice(11, 16)
  } (${timeZone})`;
}

/** Names of the database that runtimes list under earlier ones, as of 2026 (CLDR keeps those as identifiers). */
const RENAMED = [
  ...["Asia/Kolkata", "Asia/Kathmandu", "Asia/Ho_Chi_Minh", "Asia/Yangon", "Europe/Kyiv", "Atlantic/Faroe"],
  ...["America/Nuuk", "America/Argentina/Buenos_Aires", "Africa/Asmara", "Pacific/Kanton", "Pacific/Chuuk"],
];

/** Returns the name of a time zone as its database has it. Throws an error that names the nearest one. */
export function readTimeZone(text: string): string {
  if (text === "UTC") return text; // the list of all zones takes 2 ms to make
  const known = [...Intl.supportedValuesOf("timeZone"), ...RENAMED];
  const same = known.find((name) => name.toLowerCase() === text.toLowerCase());
  if (same !== undefined) return same;
  if (/^(etc\/)?(utc|gmt|uct|zulu|universal)$/i.test(text)) return "UTC";
  // Offsets have no changes of the clock, and are read by some runtimes only.
  if (/^[A-Za-z][A-Za-z0-9_+/-]{1,63}$/.test(text)) {
    try {
      new Intl.DateTimeFormat("en-US", { timeZone: text });
      return text;
    } catch {
      // no zone of the runtime
    }
  }
  const cities = new Map(known.map((name) => [name.split("/").at(-1)!, name]));
  const city = nearestName(text.split("/").at(-1)!, [...cities.keys()]);
  const near = nearestName(text, known) ?? (city && cities.get(city));
  throw new Error(
    `${JSON.stringify(text)} is not a time zone${
      near ? `; did you mean ${near}?` : "; write one such as Europe/Berlin, or UTC"
    }`,
  );
}
