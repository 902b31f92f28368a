/**
 * Start-up times of the CLI and the server, from source and as the installed bundle, as ratios to
 * `deno eval 0` in the same run; beside them two popular CLIs of npm.
 */
import { join } from "node:path";
import { bundleToInstall } from "../build/bundle_cli.ts";
import { CLI_PERMISSIONS } from "../build/permissions.ts";
import { ROOT } from "../build/run_deno.ts";
import { rollUp } from "../src/calls/mod.ts";
import { openCore } from "../src/service/mod.ts";
import { sweepExpired } from "../src/service/sweeps.ts";
import { fillLedger } from "./fill_ledger.ts";
import { ratio, report, timeInTurn } from "./measure.ts";

const LARGE = 1_000_000;
const NPM_CLIS = { prettier: "3.10.1", eslint: "10.15.0" } as const;

const directory = await Deno.makeTempDir();
const inDirectory = (name: string) => join(directory, name);
const env = { XDG_CONFIG_HOME: directory, XDG_DATA_HOME: directory, NO_COLOR: "1" };

async function run(command: string, args: string[]): Promise<void> {
  const { code, stderr } = await new Deno.Command(command, { args, env, cwd: directory }).output();
  if (code !== 0) throw new Error(`${command} ${args.join(" ")}: ${new TextDecoder().decode(stderr)}`);
}
const deno = (...args: string[]) => run(Deno.execPath(), args);

/** The command that starts a form of the program. */
interface Program {
  config: string;
  path: string;
}

const start = ({ config, path }: Program) => ["run", ...CLI_PERMISSIONS, "--quiet", "--config", config, path];

/** Starts the server, waits for its address and for its first response, ends it. */
async function startServer(program: Program, db: string): Promise<void> {
  const child = new Deno.Command(Deno.execPath(), {
    args: [...start(program), "serve", "--port", "0", "--db", db],
    env,
    stderr: "piped",
  }).spawn();
  let said = "";
  for await (const chunk of child.stderr.pipeThrough(new TextDecoderStream())) {
    said += chunk;
    const url = /http:\/\/[\d.:]+/.exec(said)?.[0];
    if (!url) continue;
    await (await fetch(`${url}/healthz`)).body?.cancel();
    break;
  }
  child.kill("SIGKILL");
  await child.status;
}

async function makeLargeDatabase(path: string): Promise<void> {
  const core = await openCore({
    config: {
      dbUrl: path,
      durability: "normal",
      environment: "bench",
      remoteTimeoutMs: 10_000,
      maxBodyBytes: 1_000_000,
    },
  });
  await fillLedger(core, { size: LARGE, end: Date.now() });
  await rollUp(core); // as bookings would have left it
  await sweepExpired(core);
  await core.close();
}

const bundle = inDirectory("bundle");
await bundleToInstall(bundle);
const programs: Record<"source" | "bundle", Program> = {
  source: { config: join(ROOT, "deno.json"), path: join(ROOT, "cli.ts") },
  bundle: { config: join(bundle, "deno.json"), path: join(bundle, "cli.js") },
};
const [empty, small, large, snapshot] = ["empty.db", "small.db", "large.db", "session.json"].map(
  inDirectory,
) as [string, string, string, string];
await makeLargeDatabase(large);
await deno(...start(programs.source), "agents", "list", "--db", empty);
await deno(...start(programs.source), "agents", "set", "echo", "--model", "demo:echo", "--db", small);
await deno(...start(programs.source), "run", "echo", "Hello", "--db", small);
await deno(...start(programs.source), "state", "export", "echo", "--output", snapshot, "--db", small);
await run("npm", [
  "install",
  "--silent",
  "--no-audit",
  "--no-fund",
  ...Object.entries(NPM_CLIS).map(([name, version]) => `${name}@${version}`),
]);

const commands = {
  "--help": ["--help"],
  "state show": ["state", "show", snapshot],
  "agents list": ["agents", "list", "--db", small],
  "cost, no call": ["cost", "--db", empty],
  "cost, one call": ["cost", "--db", small],
  "cost, 1,000,000 calls": ["cost", "--db", large],
  "run echo Hello": ["run", "echo", "Hello", "--db", small],
};
const tasks: Record<string, () => Promise<unknown>> = {
  "deno eval 0": () => deno("eval", "0"),
  ...Object.fromEntries(
    Object.keys(NPM_CLIS).map((
      name,
    ) => [`${name} --help`, () => run(inDirectory(`node_modules/.bin/${name}`), ["--help"])]),
  ),
};
for (const [form, program] of Object.entries(programs)) {
  for (const [name, args] of Object.entries(commands)) {
    tasks[`purser ${name} (${form})`] = () => deno(...start(program), ...args);
  }
  tasks[`purser serve, to its first answer (${form})`] = () => startServer(program, small);
}
const times = await timeInTurn(tasks, { runs: 15, warmUp: 2 });
const base = times["deno eval 0"]!;
report(
  "Start-up, whole processes, medians",
  Object.entries(times).map(([name, value]) => [name, `${value.toFixed(0)} ms, ${ratio(value, base)}`]),
);
await Deno.remove(directory, { recursive: true });
