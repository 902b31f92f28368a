import { toIso } from "../../kernel/clock.ts";

/**
 * Parses `2026-10`, `month` and `last-month` to a month of UTC: [from, to) in milliseconds since the epoch. Throws an error that says
 * why the text is none that has begun.
 */
export function readMonth(text: string, now: number): { month: string; from: number; to: number } {
  const date = new Date(now);
  const [, year, month] = /^(\d{4})-(0[1-9]|1[0-2])$/.exec(text) ?? [];
  const back = text === "month" ? 0 : text === "last-month" ? 1 : undefined;
  if (month === undefined && back === undefined) {
    throw new Error(`${text || "an empty value"} is not a month; write 2026-10 or last-month`);
  }
  const [y, m] = month === undefined
    ? [date.getUTCFullYear(), date.getUTCMonth() - back!]
    : [Number(year), Number(month) - 1];
  const from = Date.UTC(y, m, 1);
  if (from > now) throw new Error(`${text} is in the future; this month is ${toIso(now).slice(0, 7)}`);
  return { month: toIso(from).slice(0, 7), from, to: Date.UTC(y, m + 1, 1) };
}
