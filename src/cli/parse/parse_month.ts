import { toIso } from "../../kernel/clock.ts";

/** Parses a month, `2026-10`, that has begun by `now`. Throws an error that says what is wrong with it. */
export function parseMonth(text: string, now: number): string {
  const at = /^\d{4}-(?:0[1-9]|1[0-2])$/.test(text) ? Date.parse(`${text}-01T00:00:00Z`) : NaN;
  if (Number.isNaN(at)) throw new Error(`${text || "an empty value"} is not a month; write 2026-10`);
  if (at > now) throw new Error(`${text} is in the future; this month is ${toIso(now).slice(0, 7)}`);
  return text;
}

/** Returns the month before the one that has `now`, in UTC. */
export function lastMonth(now: number): string {
  const date = new Date(now);
  return toIso(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() - 1)).slice(0, 7);
}
