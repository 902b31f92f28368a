import { files } from "../../kernel/files.ts";
import type { BareContext, Command } from "../command.ts";
import { EXIT } from "../exit_code.ts";
import type { Output } from "../terminal/terminal.ts";
import { UsageError } from "../parse/usage_error.ts";

/** What the demo takes of the environment: it shows the same, whatever is set up on the machine. */
const KEPT = ["NO_COLOR", "TERM", "LANG", "LC_ALL", "LC_CTYPE"];

/** `purser demo`: shows what Purser does with its own commands, offline, on a database in a folder that stays. */
export const demo: Command = {
  name: "demo",
  args: [],
  summary: "Show an agent and a budget at work, offline",
  detail:
    "Runs some commands on a database in a new temporary folder, and shows each with what it prints. It needs no " +
    "key and no network, and changes nothing else; the folder stays, to look around in.",
  options: {},
  examples: [["purser demo", ""]],
  runWithoutConfig: runDemo,
};

async function runDemo(ctx: BareContext): Promise<number> {
  for (const name of ["db", "server", "profile", "json"]) {
    if (!ctx.options.has(name)) continue;
    throw new UsageError(
      `Cannot use --${name} with the demo: it shows its own commands on a database of its own`,
      ctx.options.command,
    );
  }
  const folder = await files.makeTemporaryFolder("purser_demo_");
  const db = `${folder}/purser.db`;
  const env = { ...Object.fromEntries(KEPT.map((name) => [name, ctx.env[name]])), PURSER_DB: db };
  const { main } = await import("../main.ts");
  const { terminal, print, style } = ctx;
  const { stdout, interrupted } = terminal;
  // One stream, so that what belongs together stays together when it is piped.
  const stderr: Output = { ...stdout, write: (text) => stdout.write(text) };

  /** Shows a command line and runs it, as the shell would. */
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
    async () => print(`(exit code ${await purser("run", "looper", "Go on and on", "--session", "second")})`),

    () => print(`\n${style.bold("What it has cost")}`),
    () => purser("cost", "--by", "agent"),
    () => print(`\nLook further: ${programOf(ctx.env)} cost --db ${db}`),
  ];
  for (const step of steps) {
    const code = await step();
    if (interrupted.aborted) return EXIT.interrupted;
    if (code) return code;
  }
  return EXIT.done;
}

/** Returns how this program was started: npm says so where `npx` did it. */
function programOf(env: BareContext["env"]): string {
  return env.npm_command === "exec" ? "npx purser" : "purser";
}
