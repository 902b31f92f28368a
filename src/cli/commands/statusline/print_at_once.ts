import { readSummary } from "../../../budgets/summary/mod.ts";
import { systemClock } from "../../../kernel/clock.ts";
import type { Environment } from "../../../config/mod.ts";
import { EXIT } from "../../exit_code.ts";
import { Options } from "../../parse/options.ts";
import { readPlainOptions } from "../../parse/read_plain_options.ts";
import { processTerminal } from "../../terminal/process_terminal.ts";
import { BrokenPipeError } from "../../terminal/terminal.ts";
import { OF_TARGET, runStatusLine } from "./run_status_line.ts";

/** The status line without the rest of the command line: it starts in half the time. */

/**
 * Prints the status line of a command line that has no other options than those of a line, whatever happens. Returns its exit
 * code, or undefined for one that has others, which is left to the whole command line.
 */
export async function runAtOnce(args: readonly string[], env: Environment): Promise<number | undefined> {
  const known = ["template", ...Object.keys(OF_TARGET)];
  const given = readPlainOptions(args.slice(1), Object.fromEntries(known.map((name) => [name, true])));
  if (given === undefined) return undefined;
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
  return EXIT.done;
}
