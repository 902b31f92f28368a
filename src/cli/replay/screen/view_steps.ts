import type { Paint, Style } from "../../terminal/style.ts";
import type { Output } from "../../terminal/terminal.ts";
import { escapeLines, escapeText } from "../../terminal/escape_text.ts";
import { countOf, formatCount } from "../../render/format_values.ts";
import { cutText, textWidth } from "../../terminal/text_width.ts";
import { wrapColumns } from "../../terminal/wrap_text.ts";
import { seqLabel } from "./render_step.ts";
import {
  describeStep,
  formatGap,
  formatInstant,
  formatTokens,
  formatTotalCost,
  keepFacts,
  MESSAGE,
  type ReplayStep,
  type Section,
  textOf,
} from "../../../contract/replay/mod.ts";

/** The input of a viewer. */
export interface ViewInput {
  steps: readonly ReplayStep[];
  sessionId: string;
  hints: readonly string[];
}

/** The terminal of a viewer. */
export interface ViewTerminal {
  stdout: Output;
  /** The typed keys; their end ends the viewer. */
  keys: AsyncIterable<string>;
  hasUnicode: boolean;
  style: Style;
  interrupted: AbortSignal;
}

/** Enters the alternate screen, without a cursor and without wrapping of lines that are too wide. */
const ENTER = "\x1b[?1049h\x1b[?25l\x1b[?7l";
const LEAVE = "\x1b[?7h\x1b[?25h\x1b[?1049l";

/** Shows steps one at a time until a key or a signal ends it, and restores the terminal. */
export async function viewSteps(
  { steps, sessionId, hints }: ViewInput,
  { stdout, keys, hasUnicode, style, interrupted }: ViewTerminal,
): Promise<"quit" | "interrupted"> {
  let body: { lines: string[]; of: ReplayStep; columns: number } | undefined;
  const draw = (position: ViewPosition): Screen => {
    const { columns = 80, rows = 24 } = stdout;
    const step = steps[position.index]!;
    if (body?.of !== step || body.columns !== columns) {
      body = { lines: renderBody(step, { columns, style, hasUnicode }), of: step, columns };
    }
    const count = steps.length;
    const screen = renderScreen({
      step,
      body: body.lines,
      position,
      count,
      sessionId,
      hints,
      rows,
      columns,
      style,
      hasUnicode,
    });
    // In raw mode, a line feed doesn't return to the first column. Lines are cleared before they are written: after a
    // line as wide as the screen, the cursor is still on its last character.
    stdout.write(`\x1b[H${screen.lines.map((line) => `\x1b[K${line}`).join("\r\n")}`, "screen");
    return screen;
  };

  let isOpen = true;
  const leave = () => {
    if (isOpen) stdout.write(LEAVE, "screen");
    isOpen = false;
  };
  // At once: the process may exit before this function resumes.
  interrupted.addEventListener("abort", leave, { once: true });
  const typed = keys[Symbol.asyncIterator]();
  try {
    stdout.write(ENTER, "screen");
    let position: ViewPosition = { index: 0, scroll: 0 };
    let next = typed.next(); // before the first screen: a new size from then on is a key
    let screen = draw(position);
    for (;; next = typed.next()) {
      const { value: key, done } = await next;
      if (done || interrupted.aborted) break;
      // The screen may have been enlarged.
      position = { ...position, scroll: Math.min(position.scroll, screen.maxScroll) };
      const moved = moveView(position, key, { count: steps.length, ...screen });
      if (moved === "quit") return "quit";
      if (moved === "interrupt") return "interrupted";
      position = moved;
      screen = draw(position);
    }
    return interrupted.aborted ? "interrupted" : "quit";
  } finally {
    interrupted.removeEventListener("abort", leave);
    leave();
    await typed.return?.();
  }
}

/** The input of a screen. */
export interface ScreenInput {
  step: ReplayStep;
  /** The step's lines, no wider than the screen. */
  body: readonly string[];
  position: ViewPosition;
  count: number;
  sessionId: string;
  /** Messages to the user about the whole replay. */
  hints: readonly string[];
  rows: number;
  columns: number;
  style: Style;
  hasUnicode: boolean;
}

/** A screen: one line for each row, and the extent of the body. */
export interface Screen {
  lines: string[];
  bodyRows: number;
  maxScroll: number;
}

/** Renders a step between a header and a footer. On few rows, the header shrinks. */
export function renderScreen(input: ScreenInput): Screen {
  const { body, position, rows, columns, style, hasUnicode } = input;
  const header = headerOf(input, Math.floor(rows / 3));
  const hasFooter = rows > 1;
  const bodyRows = Math.max(1, rows - header.length - (hasFooter ? 1 : 0));
  const maxScroll = Math.max(0, body.length - bodyRows);
  const scroll = Math.min(position.scroll, maxScroll);
  const shown = body.slice(scroll, scroll + bodyRows);
  const blank = Array.from({ length: bodyRows - shown.length }, () => "");
  const footer = style.dim(footerOf({ scroll, bodyRows, lines: body.length, columns, hasUnicode }));
  return { lines: [...header, ...shown, ...blank, ...(hasFooter ? [footer] : [])], bodyRows, maxScroll };
}

/** Renders the header in at most `maxLines` lines, the most important first. */
function headerOf(
  { step, position, count, sessionId, hints, columns, style, hasUnicode }: ScreenInput,
  maxLines: number,
): string[] {
  const { event, soFar, sincePreviousMs } = step;
  const cut = (text: string) => cutText(text, columns, hasUnicode ? "…" : "~");
  const lines = (...facts: (string | undefined | false)[]) =>
    fillLines(keepFacts(...facts).map(escapeText), columns, hasUnicode ? " · " : ", ").map(cut);
  const header = [
    ...lines(
      `Step ${formatCount(position.index + 1)} of ${formatCount(count)}`,
      seqLabel(event.seq),
      event.at !== null && `${formatInstant(event.at)} UTC`,
      formatGap(sincePreviousMs),
    ).map(style.bold),
    // Messages have no call data.
    ...(event.type === MESSAGE ? [] : lines(
      `So far ${formatTotalCost(soFar)}`,
      formatTokens(soFar.inputTokens, soFar.outputTokens),
      countOf(soFar.calls, "call"),
    )),
    ...lines(
      `Session ${event.session_id ?? sessionId}`,
      event.agent_id !== null && `agent ${event.agent_id}`,
      event.run_id !== null && `run ${event.run_id}`,
    ).map(style.dim),
    ...hints.flatMap((hint) => wrapColumns(escapeText(hint), columns)).map(style.yellow),
  ];
  if (maxLines < 2) return header.slice(0, maxLines);
  return [...header.slice(0, maxLines - 1), style.dim((hasUnicode ? "─" : "-").repeat(columns))];
}

/** Joins facts into lines, as many on each as fit. */
function fillLines(facts: readonly string[], columns: number, separator: string): string[] {
  const lines: string[] = [];
  for (const fact of facts) {
    const longer = lines.length > 0 ? lines.at(-1) + separator + fact : fact;
    if (lines.length > 0 && textWidth(longer) <= columns) lines[lines.length - 1] = longer;
    else lines.push(fact);
  }
  return lines;
}

const KEYS = "→ next  ← back  ↑↓ scroll  g first  G last  q quit";
const ASCII_KEYS = "l next  h back  j/k scroll  g first  G last  q quit";

function footerOf({ scroll, bodyRows, lines, columns, hasUnicode }: {
  scroll: number;
  bodyRows: number;
  lines: number;
  columns: number;
  hasUnicode: boolean;
}): string {
  const keys = hasUnicode ? KEYS : ASCII_KEYS;
  if (lines <= bodyRows) return cutText(keys, columns, hasUnicode ? "…" : "~");
  const range = `lines ${scroll + 1}-${scroll + bodyRows} of ${formatCount(lines)}`;
  const gap = columns - textWidth(keys) - range.length;
  // Without room for both, the range comes before the keys.
  return gap < 2
    ? cutText(`${range}  ${keys}`, columns, hasUnicode ? "…" : "~")
    : keys + " ".repeat(gap) + range;
}

/** The limit of one text, more than a person scrolls through. */
const MAX_CHARACTERS = 200_000;

const INDENT = "  ";

/** Renders all sections of a step as lines of at most `columns` columns. */
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

/** The position of a viewer: its step, and the scroll offset of the body in lines. */
export interface ViewPosition {
  index: number;
  scroll: number;
}

/** The bounds of a viewer's position. */
export interface ViewExtent {
  /** The number of steps. */
  count: number;
  /** The number of lines of the body that are visible. */
  bodyRows: number;
  /** The maximum scroll offset. */
  maxScroll: number;
}

type Action =
  | "next"
  | "back"
  | "first"
  | "last"
  | "up"
  | "down"
  | "page_up"
  | "page_down"
  | "quit"
  | "interrupt";

const ACTIONS = new Map<string, Action>([
  ...["right", "l", "n", " "].map((key) => [key, "next"] as const),
  ...["left", "h", "p"].map((key) => [key, "back"] as const),
  ...["home", "g"].map((key) => [key, "first"] as const),
  ...["end", "G"].map((key) => [key, "last"] as const),
  ...["up", "k"].map((key) => [key, "up"] as const),
  ...["down", "j"].map((key) => [key, "down"] as const),
  ["page_up", "page_up"],
  ["page_down", "page_down"],
  ["q", "quit"],
  ["escape", "quit"],
  ["ctrl-c", "interrupt"],
]);

/** Returns the position after a key. Unknown keys change nothing. */
export function moveView(
  position: ViewPosition,
  key: string,
  { count, bodyRows, maxScroll }: ViewExtent,
): ViewPosition | "quit" | "interrupt" {
  const toStep = (index: number): ViewPosition => {
    const wanted = Math.max(0, Math.min(count - 1, index));
    return wanted === position.index ? position : { index: wanted, scroll: 0 };
  };
  const toLine = (scroll: number): ViewPosition => ({
    ...position,
    scroll: Math.max(0, Math.min(maxScroll, scroll)),
  });
  // One line of the previous page stays visible.
  const page = Math.max(1, bodyRows - 1);
  const action = ACTIONS.get(key);
  switch (action) {
    case "next":
      return toStep(position.index + 1);
    case "back":
      return toStep(position.index - 1);
    case "first":
      return toStep(0);
    case "last":
      return toStep(count - 1);
    case "up":
      return toLine(position.scroll - 1);
    case "down":
      return toLine(position.scroll + 1);
    case "page_up":
      return toLine(position.scroll - page);
    case "page_down":
      return toLine(position.scroll + page);
    case undefined:
      return position;
    default:
      return action;
  }
}
