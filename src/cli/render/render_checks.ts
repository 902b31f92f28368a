import { escapeText } from "../terminal/escape_text.ts";
import { countOf } from "./format_values.ts";
import type { Style } from "../terminal/style.ts";
import { textWidth } from "../terminal/text_width.ts";
import { wrapText } from "../terminal/text_width.ts";

/** A check of the doctor and its result. */
export interface DoctorCheck {
  name: string;
  status: "ok" | "warning" | "failed";
  detail: string;
  advice: string | null;
}

/** The layout of checks. */
export interface CheckLayout {
  /** The width of the terminal. Undefined for other outputs, where text is not wrapped. */
  columns: number | undefined;
  style: Style;
  /** Prints marks instead of words. */
  hasMarks: boolean;
}

const MARKS = { ok: "✓", warning: "!", failed: "✗" };
const PAINTS = { ok: "green", warning: "yellow", failed: "red" } as const;

/** The minimum width of a text beside its name, and of a wrapped line. */
const MIN_WIDTH = 24;

/** Renders the checks, each with its advice below it, and a summary. */
export function renderChecks(checks: readonly DoctorCheck[], layout: CheckLayout): string {
  const nameWidth = Math.max(...checks.map(({ name }) => textWidth(escapeText(name))));
  return [...checks.map((check) => renderCheck(check, nameWidth, layout)), "", summaryOf(checks)].join("\n");
}

function renderCheck(
  { name, status, detail, advice }: DoctorCheck,
  nameWidth: number,
  { columns, style, hasMarks }: CheckLayout,
): string {
  const mark = hasMarks ? MARKS[status] : status.padEnd("warning".length);
  const shown = escapeText(name);
  const beside = mark.length + nameWidth + 4;
  // On a narrow terminal, the detail goes below the name.
  const isBeside = columns === undefined || columns - beside >= MIN_WIDTH;
  const indent = isBeside ? beside : mark.length + 2;
  const width = columns === undefined ? Infinity : Math.max(MIN_WIDTH, columns - indent);
  const lines = wrapText(escapeText(detail), width);
  const arrow = hasMarks ? "→ " : "-> ";
  const advised = advice === null ? [] : wrapText(escapeText(advice), width - arrow.length)
    .map((line, index) => style.dim((index === 0 ? arrow : " ".repeat(arrow.length)) + line));
  const head = `${style[PAINTS[status]](mark)}  ${style.bold(shown)}`;
  const gap = isBeside ? " ".repeat(nameWidth - textWidth(shown) + 2) : "\n" + " ".repeat(indent);
  return head + gap + [...lines, ...advised].join("\n" + " ".repeat(indent));
}

function summaryOf(checks: readonly DoctorCheck[]): string {
  const count = (wanted: DoctorCheck["status"]) => checks.filter(({ status }) => status === wanted).length;
  const [failed, warnings] = [count("failed"), count("warning")];
  if (failed === 0 && warnings === 0) return "All checks passed";
  const parts = [
    failed > 0 ? `${countOf(failed, "check")} failed` : "",
    warnings > 0 ? countOf(warnings, "warning") : "",
  ];
  return parts.filter((part) => part !== "").join(", ");
}
