import { escapeLines, escapeText } from "../../terminal/escape_text.ts";
import { formatCount } from "../../render/format_values.ts";
import type { Paint, Style } from "../../terminal/style.ts";
import { describeStep } from "../steps/describe_step.ts";
import type { ReplayStep } from "../steps/replay_steps.ts";
import { type Section, textOf } from "./step_view.ts";
import { wrapColumns } from "./wrap_columns.ts";

/** More of one text than a person scrolls through is not laid out. */
const MAX_CHARACTERS = 200_000;

const INDENT = "  ";

/** Everything a step shows, as lines of at most `columns` columns. */
export function renderBody(
  step: ReplayStep,
  { columns, style, hasUnicode }: { columns: number; style: Style; hasUnicode: boolean },
): string[] {
  const { facts, sections } = describeStep(step);
  const separator = hasUnicode ? " · " : ", ";
  return [
    ...wrapColumns(escapeText(step.event.type), columns).map(style.bold),
    ...(facts.length > 0 ? wrapColumns(facts.map(escapeText).join(separator), columns) : []),
    ...sections.flatMap((section) => ["", ...renderSection(section, columns, style)]),
  ];
}

function renderSection({ title, value, tone }: Section, columns: number, style: Style): string[] {
  const plain: Paint = (text) => text;
  const paint = tone === "error" ? style.red : tone === "dim" ? style.dim : plain;
  const whole = textOf(value, 2);
  const text = whole.slice(0, MAX_CHARACTERS).toWellFormed();
  const left = whole.length - MAX_CHARACTERS;
  const room = Math.max(1, columns - INDENT.length);
  return [
    ...wrapColumns(escapeText(title), columns).map(style.cyan),
    ...wrapColumns(escapeLines(text), room).map((line) => INDENT + paint(line)),
    ...(left > 0
      ? wrapColumns(`... and ${formatCount(left)} more characters, with --json`, columns).map(style.dim)
      : []),
  ];
}
