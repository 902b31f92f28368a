import type { Style } from "../../terminal/style.ts";
import type { Output } from "../../terminal/terminal.ts";
import { moveView, type ViewPosition } from "./move_view.ts";
import { renderBody, renderScreen, type Screen } from "./render_screen.ts";
import type { ReplayStep } from "../steps/replay_steps.ts";

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
    stdout.write(`\x1b[H${screen.lines.map((line) => `\x1b[K${line}`).join("\r\n")}`);
    return screen;
  };

  let isOpen = true;
  const leave = () => {
    if (isOpen) stdout.write(LEAVE);
    isOpen = false;
  };
  // At once: the process may exit before this function resumes.
  interrupted.addEventListener("abort", leave, { once: true });
  try {
    stdout.write(ENTER);
    let position: ViewPosition = { index: 0, scroll: 0 };
    let screen = draw(position);
    for await (const key of keys) {
      if (interrupted.aborted) break;
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
  }
}
