import { readSummary } from "../../../budgets/summary/mod.ts";
import { systemClock } from "../../../kernel/clock.ts";
import type { Environment } from "../../../config/mod.ts";
import { Options } from "../../parse/options.ts";
import { processTerminal } from "../../terminal/process_terminal.ts";
import { BrokenPipeError } from "../../terminal/terminal.ts";
import { OF_TARGET, runStatusLine } from "./run_status_line.ts";

/** The status line without the rest of the command line: it starts in half the time. */

/**
 * Prints the status line of a command line that has no other options than those of a line, whatever happens. Returns false for one that
 * has, which is left to the command.
 */
export async function printAtOnce(args: readonly string[], env: Environment): Promise<boolean> {
  const known = ["template", ...Object.keys(OF_TARGET)];
  const given = new Map<string, readonly string[]>();
  for (let index = 1; index < args.length; index++) {
    const [, name = "", inline] = /^--([^=]+)(?:=(.*))?$/s.exec(args[index]!) ?? [];
    const value = inline ?? args[++index];
    if (!known.includes(name) || given.has(name) || value === undefined) return false;
    if (inline === undefined && value.startsWith("-")) return false;
    given.set(name, [value]);
  }
  const terminal = processTerminal(env, () => {
    throw new Error("Cannot quit");
  });
  try {
    await runStatusLine({
      options: new Options(given, "statusline"),
      terminal,
      clock: systemClock,
      env,
      print: (text) => terminal.stdout.write(text + "\n"),
    }, readSummary);
  } catch (error) {
    if (!(error instanceof BrokenPipeError)) throw error;
  }
  return true;
}
