import { escapeJson, escapeLines, escapeText } from "../../terminal/escape_text.ts";
import { formatCount } from "../../render/format_values.ts";
import type { Style } from "../../terminal/style.ts";
import { formatTotalCost, totalUsd } from "../steps/call_totals.ts";
import { describeStep } from "../steps/describe_step.ts";
import { formatGap, formatInstant } from "../steps/format_duration.ts";
import { MESSAGE } from "../steps/replay_event.ts";
import type { ReplayStep } from "../steps/replay_steps.ts";
import { type Section, textOf } from "./step_view.ts";

/** How much of one text is shown; `--json` has all of it. */
const MAX_CHARACTERS = 2_000;
const MAX_LINES = 20;

const INDENT = " ".repeat(6);

/** A step as lines of text: when it was and what it was, its essentials, and what all has cost up to it. */
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
      // Messages tell nothing of calls.
      ...(event.type === MESSAGE ? [] : [style.dim(`so far ${formatTotalCost(soFar)}`)]),
    ].join(" · "),
  ].join(" ");
  const body = sections.filter(({ isDetail }) => !isDetail).map((section) => renderSection(section, style));
  return [head, ...body].join("\n");
}

/** `#12`; `#-` for what has no place in a log. */
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

/** The beginning of a text, and how many characters are left out. */
function shorten(text: string): [text: string, left: number] {
  let end = Math.min(text.length, MAX_CHARACTERS);
  // Not between the halves of a character.
  if (end < text.length && /[\ud800-\udbff]/.test(text[end - 1]!)) end--;
  const lines = text.slice(0, end).split("\n");
  if (lines.length > MAX_LINES) end = lines.slice(0, MAX_LINES).join("\n").length;
  return [text.slice(0, end), text.length - end];
}

/** What JSON may hold as it is, and a terminal would obey: see `escape_text.ts`. */
const UNSAFE = /[\x7f-\x9f\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]/g;

/** A step as one line of JSON: the event as it came, the cost event of its call, and the sums up to here. */
export function renderJsonStep(step: ReplayStep): string {
  const { event, costRecorded, soFar } = step;
  const line = JSON.stringify({
    ...event,
    ...(costRecorded && { cost_recorded: costRecorded }),
    elapsed_ms: step.elapsedMs,
    since_previous_ms: step.sincePreviousMs,
    // Messages tell nothing of calls.
    ...(event.type !== MESSAGE && {
      cost_usd_so_far: totalUsd(soFar),
      input_tokens_so_far: soFar.inputTokens,
      output_tokens_so_far: soFar.outputTokens,
      calls_so_far: soFar.calls,
      unpriced_calls_so_far: soFar.unpricedCalls,
    }),
  });
  // The same JSON, in escapes that every reader of JSON undoes.
  return line.replace(UNSAFE, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
