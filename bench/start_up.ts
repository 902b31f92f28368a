/** How long the CLI and the server take to start, as ratios to an empty Deno script in the same run. */
import { ratio, report, timeInTurn } from "./measure.ts";

const directory = await Deno.makeTempDir();
await Deno.writeTextFile(`${directory}/empty.ts`, "");
const db = `${directory}/bench.db`;
const env = { XDG_CONFIG_HOME: directory, XDG_DATA_HOME: directory, NO_COLOR: "1" };

async function deno(...args: string[]): Promise<void> {
  const { code, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--quiet", ...args],
    env,
  }).output();
  if (code !== 0) throw new Error(new TextDecoder().decode(stderr));
}

/** Starts the server, waits for its first answer, ends it. */
async function startServer(): Promise<void> {
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--quiet", "cli.ts", "serve", "--port", "18420", "--db", db],
    env,
    stderr: "null",
  }).spawn();
  for (;;) {
    const response = await fetch("http://127.0.0.1:18420/healthz").catch(() => undefined);
    await response?.body?.cancel();
    if (response?.ok) break;
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  child.kill("SIGKILL");
  await child.status;
}

await deno("cli.ts", "agents", "set", "echo", "--model", "demo:echo", "--db", db);
await deno("cli.ts", "run", "echo", "Hello", "--db", db);
const times = await timeInTurn({
  empty: () => deno(`${directory}/empty.ts`),
  help: () => deno("cli.ts", "--help"),
  version: () => deno("cli.ts", "--version"),
  list: () => deno("cli.ts", "agents", "list", "--db", db),
  cost: () => deno("cli.ts", "cost", "--db", db),
  run: () => deno("cli.ts", "run", "echo", "Hello", "--db", db),
  server: startServer,
}, { runs: 15, warmUp: 2 });
report("Start-up, whole processes, medians", [
  ["an empty script", `${times.empty.toFixed(0)} ms`],
  ...([
    ["purser --help", times.help],
    ["purser --version", times.version],
    ["purser agents list (local file)", times.list],
    ["purser cost (local file)", times.cost],
    ["purser run echo Hello (local file)", times.run],
    ["purser serve, to its first answer", times.server],
  ] as const).map(([name, value]): [string, string] => [
    name,
    `${value.toFixed(0)} ms, ${ratio(value, times.empty)} an empty script`,
  ]),
]);
await Deno.remove(directory, { recursive: true });
