import { PurserError } from "../../kernel/errors.ts";
import { DAY_MS } from "../../kernel/clock.ts";
import { files } from "../../kernel/files/files.ts";
import { systemReason } from "../../kernel/system_errors.ts";
import { type BareContext, type Command, flag, option } from "../command.ts";
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
    "network, and changes nothing else. The folder stays, so that you can look around. With --serve, it fills a database " +
    "with a made-up month of six agents, keeps them at work, and serves the dashboard until Ctrl-C, which removes the " +
    "folder.",
  options: {
    serve: flag("Serve the dashboard of a made-up company until Ctrl-C"),
    port: option("N", "Port of the dashboard, with --serve (default: any free one)"),
  },
  examples: [
    ["purser demo", ""],
    ["purser demo --serve", "The dashboard, with a month of six agents in it"],
    ["purser demo --serve --port 8421", "The same, on a port of your choice"],
  ],
  runWithoutConfig: (ctx) => {
    refuseSettings(ctx);
    return ctx.options.has("serve") ? serveMonth(ctx) : runDemo(ctx);
  },
};

/** Refuses what would make the demo use anything else than its own database. */
function refuseSettings(ctx: BareContext): void {
  for (const name of ["db", "server", "profile", "json"]) {
    if (!ctx.options.has(name)) continue;
    throw new UsageError(
      `Cannot use --${name} with the demo: it runs its own commands on a database of its own`,
      ctx.options.command,
    );
  }
  if (ctx.options.has("port") && !ctx.options.has("serve")) {
    throw new UsageError("Cannot use --port without --serve: nothing is served", ctx.options.command);
  }
}

/** The folders that `--serve` removes at its end, unlike those of the other demo. */
const SERVED = "purser_demo_serve_";

/** Makes the folder of the demo's database. */
async function makeFolder(prefix = "purser_demo_"): Promise<string> {
  try {
    return await files.makeTemporaryFolder(prefix);
  } catch (error) {
    throw new PurserError(
      "unavailable",
      `Cannot make a temporary folder for the demo: ${
        systemReason(error)
      }; set TMPDIR to a folder that you may write to`,
      { cause: error },
    );
  }
}

/** A demo that runs writes every few seconds. */
const ABANDONED_MS = DAY_MS;

/** Removes the folders of demos that were killed: those in which nothing was written for a day. */
async function removeAbandoned(folder: string, now: number): Promise<void> {
  const parent = folder.slice(0, Math.max(folder.lastIndexOf("/"), folder.lastIndexOf("\\")) + 1);
  for (const name of await files.list(parent).catch(() => [])) {
    if (!name.startsWith(SERVED)) continue;
    const path = parent + name;
    const stamps = await Promise.all(
      [path, `${path}/purser.db`, `${path}/purser.db-wal`].map((file) => files.stampOf(file)),
    );
    const changedAt = Math.max(...stamps.map((stamp) => stamp?.modifiedAt ?? 0));
    // That of another user stays.
    if (now - changedAt > ABANDONED_MS) await files.removeFolder(path).catch(() => {});
  }
}

/** The same figures each time, but for the time of day. */
const SEED = 7;

async function serveMonth({ terminal, clock, print, style, options }: BareContext): Promise<number> {
  const port = options.wholeNumber("port", { min: 0, max: 65_535 }) ?? 0;
  const { interrupted } = terminal;
  terminal.interruptAtHangup?.();
  const { serveDemo } = await import("../demo/serve_demo.ts");
  const folder = await makeFolder(SERVED);
  await removeAbandoned(folder, clock.now());
  const stopped = new Promise<void>((resolve) => {
    if (interrupted.aborted) resolve();
    interrupted.addEventListener("abort", () => resolve(), { once: true });
  });
  try {
    print("Making up a month of six agents at work; this takes a few seconds");
    const server = await serveDemo({
      db: `${folder}/purser.db`,
      clock,
      seed: SEED,
      port,
      signal: interrupted,
    });
    try {
      const url = await server.signInUrl();
      print(`\n${style.bold("Dashboard")}  ${url}`);
      print(`The address works once, within a minute; after that, sign in at ${server.url}/ui/ with the key`);
      print(server.key);
      print("\nCtrl-C ends the demo, and removes its database");
      await terminal.openPage?.(url);
      await Promise.race([stopped, server.failed]);
    } finally {
      await server.close();
    }
    return EXIT.done;
  } catch (error) {
    if (interrupted.aborted) return EXIT.interrupted;
    throw error;
  } finally {
    await files.removeFolder(folder);
  }
}

async function runDemo(ctx: BareContext): Promise<number> {
  const folder = await makeFolder();
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

/**
 * Returns the name to call this program by. Under `npx`, which may also have started Deno, npm names what it runs. A task of this
 * checkout has started it if `INIT_CWD`, which `deno task` sets, is the checkout: there may be no other name then.
 */
function programOf(
  { npm_command, npm_lifecycle_script = "", INIT_CWD }: BareContext["env"],
): string {
  if (decodeURI(import.meta.url) === `file://${INIT_CWD}/src/cli/commands/demo.ts`) {
    return `${npm_command === "exec" ? "npx -y deno" : "deno"} run --quiet -RWENS cli.ts`;
  }
  return npm_command === "exec" && /^\W*purser\b/.test(npm_lifecycle_script) ? "npx purser" : "purser";
}
