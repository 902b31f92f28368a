import { startInUtc } from "../../contract/windows.ts";
import { toIso } from "../../kernel/clock.ts";

/**
 * Parses `2026-10`, `month` and `last-month` to a month of UTC: [from, to) in milliseconds since the epoch. Throws an error that says
 * why the text is none that has begun.
 */
export function readMonth(text: string, now: number): { month: string; from: number; to: number } {
  const isNamed = text === "month" || text === "last-month";
  if (!isNamed && !/^\d{4}-(0[1-9]|1[0-2])$/.test(text)) {
    throw new Error(`${text || "an empty value"} is not a month; write 2026-10 or last-month`);
  }
  const from = isNamed
    ? startInUtc("month", now, text === "month" ? 0 : -1)
    : Date.parse(`${text}-01T00:00:00Z`);
  if (from > now) throw new Error(`${text} is in the future; this month is ${toIso(now).slice(0, 7)}`);
  return { month: toIso(from).slice(0, 7), from, to: startInUtc("month", from, 1) };
}
