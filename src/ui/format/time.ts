import { localTime } from "../../contract/calendars/zones.ts";
import { DAY_MS, HOUR_MS, MINUTE_MS } from "../../kernel/clock.ts";

const UNITS: readonly (readonly [number, string])[] = [[DAY_MS, "d"], [HOUR_MS, "h"], [MINUTE_MS, "min"], [
  1000,
  "s",
]];

/** Formats a span by its two largest units: `3 h 12 min`. */
export function span(milliseconds: number): string {
  const size = Math.abs(milliseconds);
  const at = UNITS.findIndex(([unit]) => size >= unit);
  if (at === -1) return "0 s";
  const [unit, name] = UNITS[at]!;
  const whole = Math.floor(size / unit);
  const below = UNITS[at + 1];
  const rest = below ? Math.floor((size - whole * unit) / below[0]) : 0;
  return below && rest > 0 && below[0] >= MINUTE_MS
    ? `${whole} ${name} ${rest} ${below[1]}`
    : `${whole} ${name}`;
}

/** Formats a time relative to another one: `3 min ago`, `in 2 h 5 min`, `just now`. */
export function relative(at: number, now: number): string {
  if (Math.abs(at - now) < 5_000) return "just now";
  return at < now ? `${span(now - at)} ago` : `in ${span(at - now)}`;
}

/** Formats a time in UTC: `2026-11-23 16:40 UTC`. */
export function utc(at: number): string {
  return `${new Date(at).toISOString().slice(0, 16).replace("T", " ")} UTC`;
}

/** Formats a time in UTC briefly: `16:40 UTC` where it is less than a day away from now, else with its day. */
export function utcBriefly(at: number, now: number): string {
  const time = new Date(at).toISOString().slice(11, 16);
  return Math.abs(at - now) < DAY_MS ? `${time} UTC` : `${utcDay(new Date(at).toISOString())}, ${time} UTC`;
}

/** Formats a UTC day: `Nov 23`, for axes that say UTC. */
export function utcDay(day: string): string {
  return new Date(`${day.slice(0, 10)}T00:00Z`).toLocaleDateString("en", {
    timeZone: "UTC",
    month: "short",
    day: "numeric",
  });
}

/** Formats a time in the zone of the reader: `11/23/2026, 5:40 PM GMT+1`. */
export function local(at: number): string {
  return new Date(at).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "long" });
}

/** Formats a time in the zone of the reader, to follow one of another zone: ` · Nov 23, 5:40 PM GMT+1`; '' where they have the same. */
export function localBriefly(at: number, zone = "UTC"): string {
  const date = new Date(at);
  if (at - localTime(zone, at) === date.getTimezoneOffset() * MINUTE_MS) return "";
  const time = date.toLocaleString(undefined, {
    month: "short",
    day: "numeric",
    hour: "numeric",
    minute: "2-digit",
    timeZoneName: "short",
  });
  return ` · ${time}`;
}
