import { countOf, formatCount } from "../../kernel/counts.ts";
import { timeIn } from "../../contract/calendars/zones.ts";
import type { Paint, Style } from "../terminal/style.ts";

export { countOf, formatCount };

/** Formats a size: `512 bytes`, `1.4 MB`. */
export function formatBytes(bytes: number): string {
  if (bytes < 1_000) return countOf(bytes, "byte");
  const power = Math.min(3, Math.floor(Math.log10(bytes) / 3));
  const amount = bytes / 1_000 ** power;
  return `${amount < 10 ? amount.toFixed(1) : Math.round(amount)} ${["", "kB", "MB", "GB"][power]}`;
}

/** Formats a time of the API, in UTC: `2026-11-21 09:30:00`; `-` for null. */
export function formatTime(iso: string | null): string {
  return iso === null ? "-" : iso.slice(0, 19).replace("T", " ");
}

/** Formats a time to the minute, in its zone: `2026-11-28 00:00 UTC`, `2026-11-28 00:00+01:00 (Europe/Berlin)`. */
export function formatMinute(iso: string, timeZone: string): string {
  return timeIn(timeZone, Date.parse(iso)).replace("T", " ").replace(/Z$/, " UTC");
}

const EIGHTHS = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];

/** Draws a bar for a part from 0 to 1, at most `width` columns long. A positive part is always visible. */
export function renderBar(part: number, width: number, hasUnicode: boolean): string {
  if (!(part > 0)) return "";
  const full = Math.min(part, 1) * width;
  if (!hasUnicode) return "#".repeat(Math.max(1, Math.round(full)));
  const eighths = Math.max(1, Math.round(full * 8));
  return "█".repeat(Math.floor(eighths / 8)) + EIGHTHS[eighths % 8];
}

/** The colour of a session's or a run's status. */
export function paintStatus({ status }: { status: string }, style: Style): Paint | undefined {
  switch (status) {
    case "completed":
      return style.green;
    case "failed":
      return style.red;
    case "budget_exceeded":
    case "interrupted":
    case "cancelled":
      return style.yellow;
    case "running":
      return style.cyan;
    default:
      return undefined;
  }
}

/** Describes tags: `team=search, customer=acme`; empty without any. */
export function formatTags(tags: Readonly<Record<string, string>> = {}): string {
  return Object.entries(tags).map(([key, value]) => `${key}=${value}`).join(", ");
}
