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

/** Starts the server, waits until it says where it is and for its first answer, ends it. */
async function startServer(): Promise<void> {
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--quiet", "cli.ts", "serve", "--port", "0", "--db", db],
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
