import { DAY_MS, HOUR_MS, toIso } from "../../kernel/clock.ts";

const SECOND_MS = 1_000;
const MINUTE_MS = 60_000;

/** Formats a duration, rounded down: `120 ms`, `1.2 s`, `2 min 5 s`, `3 h 4 min`, `2 d 3 h`. */
export function formatDuration(durationMs: number): string {
  const ms = Math.abs(durationMs);
  const sign = durationMs < 0 ? "-" : "";
  const parts = (unitMs: number, unit: string, lesserMs: number, lesser: string) =>
    `${sign}${Math.floor(ms / unitMs)} ${unit} ${Math.floor(ms % unitMs / lesserMs)} ${lesser}`;
  if (ms < SECOND_MS) return `${sign}${Math.floor(ms)} ms`;
  if (ms < MINUTE_MS) return `${sign}${(Math.floor(ms / 100) / 10).toFixed(1)} s`;
  if (ms < HOUR_MS) return parts(MINUTE_MS, "min", SECOND_MS, "s");
  if (ms < DAY_MS) return parts(HOUR_MS, "h", MINUTE_MS, "min");
  return parts(DAY_MS, "d", HOUR_MS, "h");
}

/** Formats the time since the previous step: `+120 ms`; empty if unknown. */
export function formatGap(sincePreviousMs: number | null): string {
  if (sincePreviousMs === null) return "";
  return (sincePreviousMs < 0 ? "" : "+") + formatDuration(sincePreviousMs);
}

/** Formats a time in UTC: `2026-11-21 09:30:00.120`; `-` for an invalid one. */
export function formatInstant(at: string | null): string {
  const time = typeof at === "string" ? Date.parse(at) : NaN;
  return Number.isNaN(time) ? "-" : toIso(time).slice(0, -1).replace("T", " ");
}
