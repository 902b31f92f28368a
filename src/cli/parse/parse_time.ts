import { DAY_MS, HOUR_MS, toIso } from "../../kernel/clock.ts";

const UNIT_MS: Record<string, number> = { m: 60_000, h: HOUR_MS, d: DAY_MS, w: 7 * DAY_MS };
const DATE = /^\d{4}-\d{2}-\d{2}$/;
const TIME = /^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:?\d{2})?$/i;

/**
 * Reads `24h`, `7d`, `30m`, `2w`, a date, or an ISO time (UTC where it names no zone) as a time of the wire.
 * `all` is undefined. Throws an error that says what may be written.
 */
export function parseSince(text: string, now: number): string | undefined {
  if (text === "all") return undefined;
  const span = /^(\d{1,6})([mhdw])$/.exec(text);
  if (span) return toIso(Math.max(0, now - Number(span[1]) * UNIT_MS[span[2]!]!));
  if (DATE.test(text) || TIME.test(text)) {
    const hasZone = DATE.test(text) || /(Z|[+-]\d{2}:?\d{2})$/i.test(text.slice(10));
    const time = Date.parse(text.replace(" ", "T") + (hasZone ? "" : "Z"));
    if (!Number.isNaN(time) && isRealDay(text.slice(0, 10))) return toIso(time);
  }
  throw new Error(
    `${text || "an empty text"} is no time; write 24h, 7d, 30m, 2026-11-21 or 2026-11-21T09:30Z`,
  );
}

/** JavaScript takes February 30th for March 2nd. */
function isRealDay(day: string): boolean {
  return toIso(Date.parse(day)).startsWith(day);
}

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
