import type { Clock } from "../kernel/clock.ts";
import { EXIT, exitCodeOf } from "./exit_code.ts";
import { parseCommandLine } from "./parse/parse_command_line.ts";
import { renderHelp } from "./render/render_help.ts";
import { reportError } from "./report_error.ts";
import { createStyle } from "./terminal/style.ts";
import { BrokenPipeError, type Output, type Terminal } from "./terminal/terminal.ts";
import type { Connect } from "./run_command.ts";

/** The environment of a command line. */
export interface MainOptions {
  terminal: Terminal;
  env: Readonly<Record<string, string | undefined>>;
  /** Connects to the API. Tests pass their own. */
  connect?: Connect;
  clock?: Clock;
}

/** The command of the completion scripts: `purser __complete -- WORD…`; see `completion/`. */
const COMPLETE = "__complete";

/** Runs a command line and returns the exit code of the process. Never throws. */
export async function main(argv: readonly string[], options: MainOptions): Promise<number> {
  const { terminal: { stdout, stderr } } = options;
  if (argv[0] === COMPLETE) {
    const { completeLine } = await import("./completion/complete_line.ts");
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
