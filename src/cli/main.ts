import type { Clock } from "../kernel/clock.ts";
import { EXIT, exitCodeOf } from "./exit_code.ts";
import { parseCommandLine } from "./parse/parse_command_line.ts";
import { renderHelp } from "./render/render_help.ts";
import { createStyle } from "./terminal/style.ts";
import { BrokenPipeError, type Output, type Terminal } from "./terminal/terminal.ts";
import type { Connect } from "./run_command.ts";
import { messageOf, PurserError, STATUS } from "../kernel/errors.ts";
import { escapeLines } from "./terminal/escape_text.ts";
import { UsageError } from "./parse/usage_error.ts";

/** The environment of a command line. */
export interface MainOptions {
  terminal: Terminal;
  env: Readonly<Record<string, string | undefined>>;
  /** Connects to the API. Tests pass their own. */
  connect?: Connect;
  clock?: Clock;
}

/** The command of the completion scripts: `purser __complete -- WORD…`; see `complete_line.ts`. */
const COMPLETE = "__complete";

/** Runs a command line and returns the exit code of the process. Never throws. */
export async function main(argv: readonly string[], options: MainOptions): Promise<number> {
  const { terminal: { stdout, stderr } } = options;
  if (argv[0] === COMPLETE) {
    const { completeLine } = await import("./complete_line.ts");
    return await completeLine(argv.slice(argv[1] === "--" ? 2 : 1), options);
  }
  try {
    const line = parseCommandLine(argv);
    switch (line.kind) {
      case "version": {
        const { VERSION } = await import("../kernel/version.ts");
        stdout.write(`purser ${VERSION}\n`);
        return EXIT.done;
      }
      case "help":
        stdout.write(helpFor(line.topic, stdout));
        return EXIT.done;
      case "incomplete":
        stderr.write(helpFor(line.topic, stderr));
        return EXIT.badUsage;
      case "command": {
        const { runCommand } = await import("./run_command.ts");
        return await runCommand(line, options);
      }
    }
  } catch (error) {
    // The reader of standard output closed it, such as `head`.
    if (error instanceof BrokenPipeError) return EXIT.done;
    try {
      reportError(error, stderr, argv.includes("--json"));
    } catch {
      // Standard error is closed too.
    }
    return exitCodeOf(error);
  }
}

function helpFor(topic: string, output: Output): string {
  return renderHelp(topic, { columns: output.columns, style: createStyle(output.hasColour) }) + "\n";
}

/** Writes an error to standard error: one sentence and a hint, or the problem document as JSON. */
export function reportError(error: unknown, stderr: Output, isJson: boolean): void {
  if (isJson) return stderr.write(JSON.stringify(problemOf(error)) + "\n");
  const style = createStyle(stderr.hasColour);
  const sentence = error instanceof PurserError ? error.message : `Internal error: ${messageOf(error)}`;
  stderr.write(`${style.red("error:")} ${escapeLines(sentence)}\n`);
  const hint = hintFor(error);
  if (hint) stderr.write(style.dim(escapeLines(hint)) + "\n");
}

function hintFor(error: unknown): string | undefined {
  if (error instanceof UsageError) {
    return error.command === undefined
      ? undefined
      : `See purser ${error.command ? `${error.command} ` : ""}--help`;
  }
  if (error instanceof PurserError && error.code === "unauthorized") {
    return "Give a key with --api-key, PURSER_API_KEY or the api_key_file of a profile; " +
      "to create one, run purser keys create on the server's own database";
  }
  // Only for refusals by the API: `purser serve` reports other errors of this code.
  if (error instanceof PurserError && error.code === "forbidden" && "problem" in error) {
    return "Give another key with --api-key or PURSER_API_KEY; purser keys list shows the scopes of each";
  }
  const { session_id } = problemOf(error);
  if (typeof session_id !== "string") return undefined;
  return `The session keeps all steps up to this point: purser sessions show ${session_id}`;
}

/** Returns the API's problem document, or one of the same form for other errors. */
function problemOf(error: unknown): Record<string, unknown> {
  if (!(error instanceof PurserError)) {
    const detail = `Internal error: ${messageOf(error)}`;
    return {
      type: "about:blank",
      title: "Internal error",
      status: STATUS.internal,
      detail,
      code: "internal",
    };
  }
  if ("problem" in error) return error.problem as Record<string, unknown>;
  const { code, message, details, extensions } = error;
  const title = error instanceof UsageError ? "Bad usage" : "Error";
  const problem = { type: "about:blank", title, status: STATUS[code], detail: message, code };
  return { ...problem, ...(details && { details }), ...extensions };
}
