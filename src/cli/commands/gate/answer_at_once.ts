import type { Environment } from "../../../config/mod.ts";
import { surviveFaults } from "../../../kernel/this_process.ts";
import { createSecrets } from "../../../redaction/values/mod.ts";
import { Options } from "../../parse/options.ts";
import { readPlainOptions } from "../../parse/read_plain_options.ts";
import { runCommand } from "../../run_command.ts";
import { guardTerminal } from "../../terminal/escape_text.ts";
import { type HandedOver, processTerminal } from "../../terminal/process_terminal.ts";
import { BrokenPipeError, type Output } from "../../terminal/terminal.ts";
import { OF_TARGET } from "../statusline/run_status_line.ts";
import { GATE_COMMANDS } from "./gate.ts";

/** The gate without the rest of the command line: it starts in half the time. */

const [GATE] = GATE_COMMANDS;
const TAKES_VALUE = Object.fromEntries([
  ...Object.entries(GATE!.options).map(([name, { value }]) => [name, value !== undefined] as const),
  ...Object.keys(OF_TARGET).map((name) => [name, true] as const),
]);

/** Set where this program was to load a module that is not in it: the build puts that in its place. */
const outside = globalThis as HandedOver & { purserIsOutside?: boolean };

/**
 * Answers a hook. Returns its exit code, or undefined if nothing was printed, since the command line has other options, something is
 * wrong with it, or modules are needed that are not in this program: the whole command line then repeats it, with the same input,
 * and books no call again.
 */
export async function runAtOnce(args: readonly string[], env: Environment): Promise<number | undefined> {
  const given = readPlainOptions(args.slice(1), TAKES_VALUE);
  if (given === undefined) return undefined;
  const held: (() => void)[] = [];
  const hold = (output: Output): Output => ({
    ...output,
    write: (text, mode) => void held.push(() => output.write(text, mode)),
  });
  const input: Uint8Array<ArrayBuffer>[] = [];
  const secrets = createSecrets();
  const own = processTerminal(env, () => {
    throw new Error("Cannot quit");
  });
  const { stdin } = own;
  own.stdout = hold(own.stdout);
  own.stderr = hold(own.stderr);
  own.stdin = async function* () {
    for await (const chunk of stdin()) {
      input.push(chunk);
      yield chunk;
    }
  };
  const terminal = guardTerminal(own, { scrub: secrets.scrub });
  surviveFaults((message) => terminal.stderr.write(`error: ${message}\n`));
  const options = new Options(given, GATE!.name);
  const code = await runCommand({ kind: "command", command: GATE!, args: [], options }, {
    terminal,
    env,
    secrets,
  }).catch(() => undefined);
  if (code === undefined || outside.purserIsOutside) {
    if (input.length > 0) outside.purserInput = input;
    return undefined;
  }
  try {
    for (const write of held) write();
  } catch (error) {
    if (!(error instanceof BrokenPipeError)) throw error;
  }
  return code;
}
