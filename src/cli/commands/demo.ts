import { files } from "../../kernel/files/files.ts";
import type { BareContext, Command } from "../command.ts";
import { EXIT } from "../exit_code.ts";
import type { Output } from "../terminal/terminal.ts";
import { UsageError } from "../parse/usage_error.ts";

/** The environment variables that the demo inherits: the machine's configuration must not change what it shows. */
const KEPT = ["NO_COLOR", "TERM", "LANG", "LC_ALL", "LC_CTYPE"];

/** `purser demo` */
export const demo: Command = {
  name: "demo",
  args: [],
  summary: "Show an agent and a budget at work, offline",
  detail:
    "Runs a few commands on a database in a new temporary folder, and shows each with its output. Needs no key and no " +
    "network, and changes nothing else. The folder stays, so that you can look around.",
  options: {},
  examples: [["purser demo", ""]],
  runWithoutConfig: runDemo,
};

async function runDemo(ctx: BareContext): Promise<number> {
  for (const name of ["db", "server", "profile", "json"]) {
    if (!ctx.options.has(name)) continue;
    throw new UsageError(
      `Cannot use --${name} with the demo: it runs its own commands on a database of its own`,
      ctx.options.command,
    );
  }
  const folder = await files.makeTemporaryFolder("purser_demo_");
  const db = `${folder}/purser.db`;
  const env = { ...Object.fromEntries(KEPT.map((name) => [name, ctx.env[name]])), PURSER_DB: db };
  const { main } = await import("../mod.ts");
  const { terminal, print, style } = ctx;
  const { stdout, interrupted } = terminal;
  // One stream, so that errors stay beside their commands when the output is piped.
  const stderr: Output = { ...stdout, write: (text) => stdout.write(text) };

  /** Prints a command line and runs it. */
  const purser = async (...words: string[]): Promise<number> => {
    print(`$ purser ${words.map((word) => word.includes(" ") ? `"${word}"` : word).join(" ")}`);
    return await main(words, { terminal: { ...terminal, stderr, interrupted }, env });
  };
  const steps: readonly (() => Promise<number | void> | void)[] = [
    () => print(`Purser, offline, with its built-in demo models and a database in ${folder}`),

    () => print(`\n${style.bold("An agent with a tool answers; every model call is booked")}`),
    () => purser("agents", "set", "helper", "--model", "demo:echo", "--tool", "calculator"),
    () => purser("run", "helper", "What is 17 * 23?", "--session", "first"),
    () => purser("sessions", "show", "first"),

    () => print(`\n${style.bold("A budget stops a run before its next model call")}`),
    () =>
      purser("agents", "set", "looper", "--model", "demo:loop", "--tool", "calculator", "--budget", "0.0002"),
    async () =>
      print(`(exit code ${await purser("run", "looper", "Keep calculating", "--session", "second")})`),

    () => print(`\n${style.bold("The cost of each agent")}`),
    () => purser("cost", "--by", "agent"),
    () => print(`\nTry next: ${programOf(ctx.env)} cost --db ${db}`),
  ];
  for (const step of steps) {
    const code = await step();
    if (interrupted.aborted) return EXIT.interrupted;
    if (code) return code;
  }
  return EXIT.done;
}

/** Returns the name to call this program by. Under `npx`, which may also have started Deno, npm names what it runs. */
function programOf({ npm_command, npm_lifecycle_script = "" }: BareContext["env"]): string {
  return npm_command === "exec" && /^\W*purser\b/.test(npm_lifecycle_script) ? "npx purser" : "purser";
}
