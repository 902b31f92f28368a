import { escapeJson, escapeLines, escapeText } from "../../terminal/escape_text.ts";
import { formatCount } from "../../render/format_values.ts";
import type { Style } from "../../terminal/style.ts";
import {
  describeStep,
  formatGap,
  formatInstant,
  formatTotalCost,
  jsonOfStep,
  MESSAGE,
  type ReplayStep,
  type Section,
  textOf,
} from "../../../contract/replay/mod.ts";

/** The limits of one text; `--json` has all of it. */
const MAX_CHARACTERS = 2_000;
const MAX_LINES = 20;
const INDENT = " ".repeat(6);

/** Renders a step as lines of text: its time, type and main facts, and the cost up to it. */
export function renderPlainStep(step: ReplayStep, style: Style): string {
  const { event, sincePreviousMs, soFar } = step;
  const { facts, sections } = describeStep(step);
  const isBad = sections.some(({ tone }) => tone === "error");
  const head = [
    style.dim(seqLabel(event.seq).padEnd(5)),
    formatInstant(event.at).padEnd(23),
    style.dim(formatGap(sincePreviousMs).padStart(12)),
    (isBad ? style.red : style.bold)(escapeText(event.type).padEnd(15)),
    [
      ...facts.map(escapeText),
      // Messages have no call data.
      ...(event.type === MESSAGE ? [] : [style.dim(`so far ${formatTotalCost(soFar)}`)]),
    ].join(" · "),
  ].join(" ");
  const body = sections.filter(({ isDetail }) => !isDetail).map((section) => renderSection(section, style));
  return [head, ...body].join("\n");
}

/** Formats a seq: `#12`; `#-` for none. */
export function seqLabel(seq: number | null): string {
  return `#${seq ?? "-"}`;
}

function renderSection({ title, value, tone }: Section, style: Style): string {
  const name = escapeText(title.replace(/^./, (letter) => letter.toLowerCase())) + ":";
  const paint = tone === "error" ? style.red : tone === "dim" ? style.dim : (text: string) => text;
  const [text, left] = shorten(textOf(value));
  const lines = escapeLines(text).split("\n").map(paint);
  const more = left > 0 ? [style.dim(`… and ${formatCount(left)} more characters, with --json`)] : [];
  if (lines.length === 1 && more.length === 0) return `${INDENT}${style.dim(name)} ${lines[0]}`;
  return [style.dim(name), ...[...lines, ...more].map((line) => `  ${line}`)]
    .map((line) => INDENT + line).join("\n");
}

/** Returns the start of a text, and the number of characters left out. */
function shorten(text: string): [text: string, left: number] {
  let end = Math.min(text.length, MAX_CHARACTERS);
  // Not between the halves of a surrogate pair.
  if (end < text.length && /[\ud800-\udbff]/.test(text[end - 1]!)) end--;
  const lines = text.slice(0, end).split("\n");
  if (lines.length > MAX_LINES) end = lines.slice(0, MAX_LINES).join("\n").length;
  return [text.slice(0, end), text.length - end];
}

/** Renders a step as one line of JSON: the event, the cost event of its call, and the totals up to it. */
export function renderJsonStep(step: ReplayStep): string {
  return escapeJson(JSON.stringify(jsonOfStep(step)));
}
