/**
 * The hooks of coding agents as whole processes, on Node and as Deno's bundle: a status line and a gate with one new call each time,
 * over a file and through a server, beside an empty program. `--against DIR` runs another checkout in turn.
 */
import { join } from "node:path";
import { CLI_PERMISSIONS } from "../build/permissions.ts";
import { findNode } from "../tests/harness/node.ts";
import { median, ratio, report } from "./measure.ts";
import { PERMISSIONS, readVersions } from "./versions.ts";

const RUNS = 20;
const WARM_UP = 3;
const SESSION = "533e985d-597e-49f4-ab53-11c60e048775";

const folder = await Deno.makeTempDir({ prefix: "purser_bench_hooks_" });
const node = await findNode();

/** Runs a program to its end; returns its time and that of processors, in milliseconds. */
async function run(
  [program, ...args]: readonly string[],
  { env, input = "" }: { env: Record<string, string>; input?: string },
): Promise<{ ms: number; cpuMs: number; out: string }> {
  const began = performance.now();
  const child = new Deno.Command("/usr/bin/time", {
    args: ["-f", "cpu %U %S", program!, ...args],
    clearEnv: true,
    env: { PATH: Deno.env.get("PATH")!, NO_COLOR: "1", ...env },
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  await new Blob([input]).stream().pipeTo(child.stdin).catch(() => {});
  const { success, stdout, stderr } = await child.output();
  const ms = performance.now() - began;
  const [out, said] = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes)) as [string, string];
  const [cpu, user, system] = /cpu ([\d.]+) ([\d.]+)\n$/.exec(said) ?? [];
  if (!success || said !== cpu) throw new Error(`${program} ${args.join(" ")}: ${said}`);
  return { ms, cpuMs: (Number(user) + Number(system)) * 1_000, out };
}

/** Adds a call to the log of a session. */
function addCall(log: string, at: number): Promise<void> {
  const usage = { input_tokens: 9, cache_creation_input_tokens: 400, cache_read_input_tokens: 20_000 };
  const line = {
    type: "assistant",
    uuid: crypto.randomUUID(),
    sessionId: SESSION,
    requestId: `req_${crypto.randomUUID()}`,
    timestamp: new Date(at).toISOString(),
    cwd: "/home/dev/project",
    version: "2.1.332",
    message: {
      id: `msg_${crypto.randomUUID()}`,
      type: "message",
      role: "assistant",
      model: "claude-haiku-4-5-20251001",
      content: [{ type: "text", text: "x".repeat(2_000) }],
      stop_reason: "end_turn",
      usage: { ...usage, output_tokens: 300, service_tier: "standard" },
    },
  };
  return Deno.writeTextFile(log, JSON.stringify(line) + "\n", { append: true });
}

/** A home with the log of a session, and a ledger with budgets, that one program uses alone. */
async function newHome(name: string, program: readonly string[]) {
  const home = join(folder, name);
  const log = join(home, `.claude/projects/-home-dev-project/${SESSION}.jsonl`);
  // Of a log that doesn't change, a status line begins no import, which would disturb what is measured next.
  const quietLog = join(home, `.claude/projects/-home-dev-quiet/${SESSION}.jsonl`);
  for (const path of [log, quietLog]) {
    await Deno.mkdir(join(path, ".."), { recursive: true });
    await addCall(path, Date.now());
  }
  const env = {
    HOME: home,
    XDG_DATA_HOME: home,
    XDG_CONFIG_HOME: home,
    XDG_CACHE_HOME: join(home, "cache"),
    DENO_DIR: Deno.env.get("DENO_DIR") ?? `${Deno.env.get("HOME")}/.cache/deno`,
    PURSER_DB: join(home, "purser.db"),
  };
  for (const per of ["day", "month"]) {
    await run([...program, "budgets", "add", "--name", per, "--limit", "9999", "--per", per, "--json"], {
      env,
    });
  }
  return { env, log, quietLog };
}

async function startServer(program: readonly string[], env: Record<string, string>) {
  const child = new Deno.Command(program[0]!, {
    args: [...program.slice(1), "serve", "--port", "0"],
    env,
    clearEnv: true,
    stdout: "null",
    stderr: "piped",
  }).spawn();
  let said = "";
  for await (const chunk of child.stderr.pipeThrough(new TextDecoderStream())) {
    said += chunk;
    const url = /http:\/\/[\d.:]+/.exec(said)?.[0];
    if (url) return { url, child };
  }
  throw new Error(said);
}

const tasks: Record<string, () => Promise<{ ms: number; cpuMs: number }>> = {
  "an empty program of Node": async () => await run([node, "-e", "0"], { env: {} }),
};
const servers: Deno.ChildProcess[] = [];
let round = -WARM_UP;
try {
  for (const { label: version, root } of readVersions(Deno.args)) {
    const built = join(folder, version);
    for (const script of ["npm_package", "bundle"]) {
      const path = join(root, `build/${script}.ts`);
      const config = ["--config", join(root, "deno.json"), "--lock", join(root, "tests/deno.lock")];
      const { success, stderr } = await new Deno.Command(Deno.execPath(), {
        args: ["run", ...PERMISSIONS, "--quiet", ...config, path, "--output", join(built, script)],
      }).output();
      if (!success) throw new Error(new TextDecoder().decode(stderr));
    }
    const bundle = join(built, "bundle");
    const programs = {
      Node: [node, join(built, "npm_package/cli/purser.js")],
      "Deno's bundle": [
        ...[Deno.execPath(), "run", ...CLI_PERMISSIONS, "--quiet"],
        ...["--config", join(bundle, "deno.json"), join(bundle, "cli.js")],
      ],
    };
    for (const [runtime, program] of Object.entries(programs)) {
      for (const where of ["a file", "a server"]) {
        const name = `${where}, ${runtime}, ${version}`;
        const { env, log, quietLog } = await newHome(name.replaceAll(/\W/g, ""), program);
        const options: string[] = [];
        if (where === "a server") {
          const { url, child } = await startServer(program, env);
          servers.push(child);
          options.push("--server", url);
        }
        const session = (path: string) => ({
          session_id: SESSION,
          transcript_path: path,
          cwd: "/home/dev/project",
        });
        const gate = JSON.stringify({
          ...session(log),
          hook_event_name: "UserPromptSubmit",
          prompt: "Go on",
        });
        const line = JSON.stringify({ ...session(quietLog), model: { display_name: "Haiku" } });
        tasks[`gate, ${name}`] = async () => {
          await addCall(log, Date.now());
          return await run([...program, "gate", "--agent", "claude-code", ...options], { env, input: gate });
        };
        tasks[`statusline, ${name}`] = async () => {
          const done = await run([...program, "statusline", ...options], { env, input: line });
          if (round >= 0 && !done.out.startsWith("$")) throw new Error(`statusline has printed ${done.out}`);
          return done;
        };
      }
    }
  }
  const names = Object.keys(tasks);
  const times = new Map(names.map((name) => [name, { ms: [] as number[], cpuMs: [] as number[] }]));
  for (; round < RUNS; round++) {
    for (const name of names) {
      const { ms, cpuMs } = await tasks[name]!();
      if (round < 0) continue;
      times.get(name)!.ms.push(ms);
      times.get(name)!.cpuMs.push(cpuMs);
    }
  }
  const base = median(times.get(names[0]!)!.ms);
  report(
    `Medians of ${RUNS} processes, and the mean time of processors`,
    [...times].map(([name, { ms, cpuMs }]) => {
      const cpu = cpuMs.reduce((sum, each) => sum + each, 0) / cpuMs.length;
      const [least, middle] = [Math.min(...ms), median(ms)];
      return [
        name,
        `${middle.toFixed(0)} ms (least ${least.toFixed(0)}), ${ratio(middle, base)}, ${
          cpu.toFixed(0)
        } ms CPU`,
      ];
    }),
  );
} finally {
  for (const child of servers) {
    child.kill("SIGKILL");
    await child.status;
  }
  await Deno.remove(folder, { recursive: true });
}
