import { formatUsd, parseTotalUsd } from "./money.ts";

/* Lines and cells of CSV (RFC 4180), for the API and for the downloads of the dashboard. */

/** Returns lines of cells as the text of a CSV document. */
export function toLines(lines: readonly (readonly string[])[]): string {
  return lines.map((cells) => cells.join(",") + "\r\n").join("");
}

/** Returns a value as a cell; null and undefined are empty. */
export function cellOf(name: string, value: unknown): string {
  if (value === null || value === undefined) return "";
  if (typeof value === "number") {
    return name.endsWith("_usd") || name.startsWith("usd_") ? usdCell(value) : String(value);
  }
  return textCell(typeof value === "object" ? JSON.stringify(value) : String(value));
}

/** An amount as a plain decimal: the text of a number may be `1e-9`. */
const usdCell = (usd: number) => formatUsd(parseTotalUsd(usd));

/** A cell without a sign that needs care, as most are: exports have millions of them. */
const PLAIN = /^(?:[A-Za-z0-9][\w:. -]*)?$/;

/** A decimal number, which a spreadsheet reads as such. */
const NUMBER = /^[+-]?\d+(\.\d+)?$/;

/**
 * Returns a text as a cell. Spreadsheets run a text that begins like a formula, also a quoted one, so that it gets an
 * apostrophe before it, which they hide.
 */
function textCell(text: string): string {
  if (PLAIN.test(text)) return text;
  const safe = beginsFormula(text) && !NUMBER.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** Blanks, control characters, byte order marks and others without a shape, which spreadsheets skip. */
const SKIPPED = /^[\s\p{Z}\p{C}\p{DI}]*/u;

/** Returns whether a spreadsheet may read a text as a formula; full-width, small and raised signs are signs, too. */
function beginsFormula(text: string): boolean {
  const start = SKIPPED.exec(text)![0].length;
  return /^[\t\r\n]/.test(text) || /^[=+\-@\u2212]/.test(text.slice(start, start + 1).normalize("NFKC"));
}
