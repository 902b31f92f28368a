import { DAY_MS, startOf, toIso } from "../../../kernel/clock.ts";

/** Returns the start of the UTC month that is some months later. */
export function monthOf(now: number, months: number): number {
  const date = new Date(now);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + months, 1);
}

/** Returns the last Monday, 00:00 UTC. */
export function weekOf(now: number): number {
  return startOf(now, DAY_MS) - (new Date(now).getUTCDay() + 6) % 7 * DAY_MS;
}

/** Formats the UTC day of a time: `2026-11-23`. */
export function dayOf(time: number): string {
  return toIso(time).slice(0, 10);
}

/** Returns the day after a day. */
export function nextDay(day: string): string {
  return dayOf(Date.parse(`${day}T00:00Z`) + DAY_MS);
}
