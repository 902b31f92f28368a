import { escapeJson, escapeLines, escapeText } from "../../kernel/text.ts";
import type { Output, Terminal } from "./terminal.ts";

export { escapeJson, escapeLines, escapeText };

/** The sequences that Purser writes to a terminal itself: colours, and the erasure of a progress line. */
const OWN = String.raw`\x1b\[(?:1|2|22|31|32|33|36|39)m|\r\x1b\[K|\n|\t`;

/** Those of a viewer, which fills the screen. */
const SCREEN = String.raw`${OWN}|\r\n|\x1b\[(?:H|K|\?1049[hl]|\?25[hl]|\?7[hl])`;

const OWN_PARTS = new RegExp(`(${OWN})`);
const SCREEN_PARTS = new RegExp(`(${SCREEN})`);

/** Options of `guardTerminal()`. */
interface GuardOptions {
  /** True if standard output gets JSON. */
  isJson?: boolean;
  /** Removes what must not be shown anywhere. */
  scrub?: (text: string) => string;
}

/**
 * Returns a terminal that everything a command shows passes through. Where an output is a terminal, it has no control,
 * bidirectional or invisible characters but Purser's own colours and cursor movements, wherever a text comes from; in JSON
 * they are escaped, so that the value is the same. Other outputs get the bytes as they are. Commands escape what they
 * render themselves as well, so that it is one line and aligned.
 */
export function guardTerminal(
  terminal: Terminal,
  { isJson = false, scrub = (text) => text }: GuardOptions = {},
): Terminal {
  const guard = (output: Output, isJson: boolean): Output => ({
    write(text, mode) {
      const shown = mode === "document" && !output.isTerminal ? text : scrub(text);
      if (!output.isTerminal) output.write(shown, mode);
      else {output.write(
          isJson ? escapeJson(shown) : escapeForeign(shown, mode === "screen" ? SCREEN_PARTS : OWN_PARTS),
          mode,
        );}
    },
    isTerminal: output.isTerminal,
    hasColour: output.hasColour,
    get columns() {
      return output.columns;
    },
    get rows() {
      return output.rows;
    },
  });
  return {
    stdout: guard(terminal.stdout, isJson),
    stderr: guard(terminal.stderr, false),
    hasUnicode: terminal.hasUnicode,
    stdin: () => terminal.stdin(),
    readStdin: () => terminal.readStdin(),
    ...(terminal.openPage && { openPage: (url: string) => terminal.openPage!(url) }),
    ...(terminal.keys && { keys: () => terminal.keys!() }),
    get interrupted() {
      return terminal.interrupted;
    },
    ...(terminal.command && { command: () => terminal.command!() }),
    startAgain: terminal.startAgain?.bind(terminal),
    mayStartPrograms: terminal.mayStartPrograms?.bind(terminal),
    onSignals: terminal.onSignals?.bind(terminal),
    ...(terminal.beforeForcedExit &&
      { beforeForcedExit: (work: () => Promise<unknown>) => terminal.beforeForcedExit!(work) }),
    ...(terminal.interruptAtHangup && { interruptAtHangup: () => terminal.interruptAtHangup!() }),
  };
}

/** Escapes all but the parts of a text that match `own`. */
function escapeForeign(text: string, own: RegExp): string {
  return text.split(own).map((part, index) => index % 2 === 1 ? part : escapeText(part)).join("");
}
