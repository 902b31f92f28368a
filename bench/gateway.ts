/**
 * The cost of a call through the gateway, beside the same call sent directly and through a relay that books nothing: alone, 64
 * at once, and the time to the first event of a stream. Each is booked and under two budgets.
 */
import { PERMISSIONS } from "./versions.ts";
import { median, ms, report } from "./measure.ts";

const ROUNDS = 5;
const ALONE = { atOnce: 1, calls: 300 };
const BUSY = { atOnce: 64, calls: 2_000 };

/** The times of one load, in milliseconds. */
interface Times {
  p50: number;
  p99: number;
  first: number;
  perSecond: number;
  failed: number;
}

const here = (path: string) => new URL(path, import.meta.url).pathname;
const root = here("..");
const started: Deno.ChildProcess[] = [];

/** Starts a process, and resolves with what it prints first that matches. */
async function start(args: string[], env: Record<string, string>, found: RegExp): Promise<string> {
  const child = new Deno.Command(Deno.execPath(), { args, env, stdout: "piped", stderr: "piped" }).spawn();
  started.push(child);
  const { promise, resolve } = Promise.withResolvers<string>();
  for (const stream of [child.stdout, child.stderr]) {
    void (async () => {
      let text = "";
      for await (const part of stream.pipeThrough(new TextDecoderStream())) {
        text = (text + part).slice(-10_000);
        const match = found.exec(text)?.[0];
        if (match) resolve(match);
      }
    })();
  }
  return await promise;
}

async function runCli(args: string[], env: Record<string, string>): Promise<string> {
  const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-RWENS", "--quiet", `${root}/cli.ts`, ...args],
    env,
  }).output();
  if (!success) throw new Error(new TextDecoder().decode(stderr));
  return new TextDecoder().decode(stdout).trim();
}

async function load(url: string, key: string, { atOnce, calls }: typeof ALONE, kind: string): Promise<Times> {
  const { stdout } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-N", "--quiet", here("./peers/load.ts"), url, key, `${atOnce}`, `${calls}`, kind],
  }).output();
  return JSON.parse(new TextDecoder().decode(stdout));
}

const folder = await Deno.makeTempDir({ prefix: "purser-gateway-" });
try {
  const provider = `http://127.0.0.1:${await start(
    ["run", "-N", "--quiet", here("./peers/fake_provider.ts")],
    {},
    /^\d+$/m,
  )}`;
  const relay = `http://127.0.0.1:${await start(
    ["run", "-N", "--quiet", here("./peers/relay.ts"), provider],
    {},
    /^\d+$/m,
  )}`;
  const targets: Record<string, { url: string; key: string }> = {
    "directly": { url: `${provider}/v1/chat/completions`, key: "none" },
    "through a relay": { url: `${relay}/v1/chat/completions`, key: "none" },
  };
  for (const durability of ["full", "normal"]) {
    const db = `${folder}/${durability}.db`;
    const config = `${folder}/${durability}.json`;
    await Deno.writeTextFile(config, JSON.stringify({ durability }));
    const env = {
      ...{ XDG_CONFIG_HOME: folder, XDG_DATA_HOME: folder, NO_COLOR: "1" },
      ...{ OPENAI_API_KEY: "sk-bench", OPENAI_BASE_URL: `${provider}/v1` },
    };
    const options = ["--db", db, "--config", config];
    const key = await runCli(["keys", "create", "bench", "--scope", "admin", ...options], env);
    await runCli(["budgets", "add", "--name", "Day", "--per", "day", "--limit", "1000000", ...options], env);
    await runCli(
      ["budgets", "add", "--name", "Month", "--per", "month", "--limit", "1000000", ...options],
      env,
    );
    const args = ["serve", "--port", "0", "--log-level", "warn", ...options];
    const url = await start(
      ["run", ...PERMISSIONS, "--quiet", `${root}/cli.ts`, ...args],
      env,
      /http:\/\/[\d.]+:\d+/,
    );
    targets[`through Purser, ${durability.toUpperCase()}`] = {
      url: `${url}/openai/v1/chat/completions`,
      key,
    };
  }

  const all = new Map(
    Object.keys(targets).map((
      name,
    ) => [name, { alone: [], busy: [], streamed: [] } as Record<string, Times[]>]),
  );
  for (let round = -1; round < ROUNDS; round++) {
    for (const [name, { url, key }] of Object.entries(targets)) {
      const times = {
        alone: await load(url, key, ALONE, "whole"),
        busy: await load(url, key, BUSY, "whole"),
        streamed: await load(url, key, ALONE, "streamed"),
      };
      for (const [kind, one] of Object.entries(times)) {
        if (one.failed > 0) throw new Error(`${name}: ${one.failed} calls failed`);
        if (round >= 0) all.get(name)![kind]!.push(one);
      }
    }
  }
  const of = (name: string, kind: string, field: keyof Times) =>
    median(all.get(name)![kind]!.map((one) => one[field]));
  for (const name of Object.keys(targets)) {
    const added = of(name, "alone", "p50") - of("directly", "alone", "p50");
    report(`A call ${name}: medians of ${ROUNDS} rounds`, [
      ["alone, p50 (added over the direct call)", `${ms(of(name, "alone", "p50"))} (${ms(added)})`],
      ["alone, p99", ms(of(name, "alone", "p99"))],
      [
        `${BUSY.atOnce} at once`,
        `${of(name, "busy", "perSecond").toFixed(0)} calls/s, p99 ${ms(of(name, "busy", "p99"))}`,
      ],
      ["first event of a stream, p50", ms(of(name, "streamed", "first"))],
      ["whole stream, p50", ms(of(name, "streamed", "p50"))],
    ]);
  }
} finally {
  for (const child of started) {
    try {
      child.kill("SIGTERM");
    } catch {
      // it has ended already
    }
    await child.status;
  }
  await Deno.remove(folder, { recursive: true });
}
