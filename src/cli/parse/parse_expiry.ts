import { DAY_MS, HOUR_MS, MINUTE_MS, toIso } from "../../kernel/clock.ts";
import { parseSince } from "./parse_since.ts";

const UNIT_MS: Record<string, number> = { m: MINUTE_MS, h: HOUR_MS, d: DAY_MS, w: 7 * DAY_MS };

const LATEST = Date.parse("9999-12-31T23:59:59.999Z");

/**
 * Reads `90d`, `12h`, a date (its first moment, UTC) or an ISO time as a time of the wire that is to come. Throws an
 * error that says what may be written.
 */
export function parseExpiry(text: string, now: number): string {
  const span = /^(\d{1,6})([mhdw])$/.exec(text);
  const time = span ? toIso(now + Number(span[1]) * UNIT_MS[span[2]!]!) : readTime(text, now);
  if (Date.parse(time) > LATEST) {
    throw new Error(`${text} is after the year 9999; leave it out for a key without end`);
  }
  if (Date.parse(time) > now) return time;
  throw new Error(`${text} is not in the future`);
}

function readTime(text: string, now: number): string {
  try {
    const time = text === "all" ? undefined : parseSince(text, now);
    if (time !== undefined) return time;
  } catch {
    // told below, with examples of what is to come
  }
  throw new Error(
    `${text || "an empty text"} is no time; write 90d, 12h, 4w, 2027-01-31 or 2027-01-31T09:30Z`,
  );
}
