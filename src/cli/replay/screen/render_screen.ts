import { escapeText } from "../../terminal/escape_text.ts";
import { countOf, formatCount } from "../../render/format_values.ts";
import type { Style } from "../../terminal/style.ts";
import { cutText, textWidth } from "../../terminal/text_width.ts";
import { formatTokens, formatTotalCost } from "../steps/call_totals.ts";
import { formatGap, formatInstant } from "../steps/format_duration.ts";
import type { ViewPosition } from "./move_view.ts";
import { seqLabel } from "./render_plain_step.ts";
import { MESSAGE } from "../steps/replay_event.ts";
import type { ReplayStep } from "../steps/replay_steps.ts";
import { keepFacts } from "./step_view.ts";
import { wrapColumns } from "./wrap_columns.ts";

/** What a screen is drawn from. */
export interface ScreenInput {
  step: ReplayStep;
  /** The step's lines, no wider than the screen. */
  body: readonly string[];
  position: ViewPosition;
  count: number;
  sessionId: string;
  /** What a person should know of all that is shown. */
  notes: readonly string[];
  rows: number;
  columns: number;
  style: Style;
  hasUnicode: boolean;
}

/** A screen: as many lines as it has rows, and how the body lies in it. */
export interface Screen {
  lines: string[];
  bodyRows: number;
  maxScroll: number;
}

/** Draws a step between a header and a footer. Where there are few rows, the header gives way. */
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

/** At most so many lines, the most telling first. */
function headerOf(
  { step, position, count, sessionId, notes, columns, style, hasUnicode }: ScreenInput,
  maxLines: number,
): string[] {
  const { event, soFar, sincePreviousMs } = step;
  const cut = (text: string) => cutText(text, columns, hasUnicode ? "…" : "~");
  const lines = (...facts: (string | undefined | false)[]) =>
    fillLines(keepFacts(...facts).map(escapeText), columns, hasUnicode ? " · " : ", ").map(cut);
  const told = [
    ...lines(
      `Step ${formatCount(position.index + 1)} of ${formatCount(count)}`,
      seqLabel(event.seq),
      event.at !== null && `${formatInstant(event.at)} UTC`,
      formatGap(sincePreviousMs),
    ).map(style.bold),
    // Messages tell nothing of calls.
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
    ...notes.flatMap((note) => wrapColumns(escapeText(note), columns)).map(style.yellow),
  ];
  if (maxLines < 2) return told.slice(0, maxLines);
  return [...told.slice(0, maxLines - 1), style.dim((hasUnicode ? "─" : "-").repeat(columns))];
}

/** Puts facts into lines, as many into each as fit. */
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
  const place = `lines ${scroll + 1}-${scroll + bodyRows} of ${formatCount(lines)}`;
  const gap = columns - textWidth(keys) - place.length;
  // That there is more to see is told before the keys are.
  return gap < 2
    ? cutText(`${place}  ${keys}`, columns, hasUnicode ? "…" : "~")
    : keys + " ".repeat(gap) + place;
}
