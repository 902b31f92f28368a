import assert from "node:assert/strict";
import { answerTo } from "./harness/answers.ts";
import { startFakeProvider } from "./harness/fake_provider.ts";
import { inProcess } from "./harness/in_process.ts";
import { findCli } from "./harness/installed_cli.ts";

/** Several real processes on one database file. */

const [PROGRAM, ...ARGS] = await findCli();

interface Process {
  kill(signal: Deno.Signal): void;
  /** Resolves once its standard error contains this text. */
  hasSaid(text: string): Promise<void>;
  /** Its standard error so far. */
  stderr(): string;
  ended: Promise<{ code: number; stdout: string; stderr: string }>;
}

/** The status of each session. */
async function statuses(purser: (...args: string[]) => Process): Promise<Record<string, string>> {
  const { code, stdout, stderr } = await purser("sessions", "list", "--json").ended;
  assert.equal(code, 0, stderr);
  const sessions: { session_id: string; status: string }[] = JSON.parse(stdout);
  return Object.fromEntries(sessions.map(({ session_id, status }) => [session_id, status]));
}

async function onOneFile(
  test: (purser: (...args: string[]) => Process, gate: Gate) => Promise<void>,
): Promise<void> {
  const directory = await Deno.makeTempDir();
  const gate = newGate();
  await using provider = await startFakeProvider(async (request) => {
    gate.arrived();
    await gate.opened;
    return answerTo(request, { text: "the answer" });
  });
  const config = {
    db: `${directory}/purser.db`,
    providers: { slow: { base_url: provider.baseUrls.compatible } },
    prices: [{ provider: "slow", model: "model", input_usd_per_million: 1, output_usd_per_million: 2 }],
  };
  await Deno.writeTextFile(`${directory}/purser.json`, JSON.stringify(config));
  const env = { PURSER_CONFIG: `${directory}/purser.json`, NO_COLOR: "1" };
  const purser = (...args: string[]) => start(args, env);
  try {
    for (const [agent, model] of [["slow", "slow:model"], ["quick", "demo:echo"]] as const) {
      assert.equal((await inProcess({ env }, ["agents", "set", agent, "--model", model])).code, 0);
    }
    await test(purser, gate);
  } finally {
    gate.open();
    await Deno.remove(directory, { recursive: true });
  }
}

/** Starts the real command line. */
function start(args: string[], env: Record<string, string>): Process {
  const child = new Deno.Command(PROGRAM, {
    args: [...ARGS, ...args],
    env,
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const waiting = new Map<string, () => void>();
  let stderr = "";
  const heard = (async () => {
    for await (const chunk of child.stderr.pipeThrough(new TextDecoderStream())) {
      stderr += chunk;
      for (const [text, resolve] of waiting) if (stderr.includes(text)) resolve();
    }
  })();
  const ended = Promise.all([child.status, new Response(child.stdout).text(), heard])
    .then(([{ code }, stdout]) => ({ code, stdout, stderr }));
  return {
    kill: (signal) => child.kill(signal),
    stderr: () => stderr,
    hasSaid: (text) => {
      const said = new Promise<void>((resolve) => waiting.set(text, resolve));
      const never = ended.then((end) =>
        assert.ok(end.stderr.includes(text), `it ended and said: ${end.stderr}`)
      );
      return stderr.includes(text) ? Promise.resolve() : Promise.race([said, never]);
    },
    ended,
  };
}

interface Gate {
  /** Resolves once the provider has received that many requests, which it holds back. */
  requests(count: number): Promise<void>;
  arrived(): void;
  opened: Promise<void>;
  open(): void;
}

function newGate(): Gate {
  const { promise: opened, resolve: open } = Promise.withResolvers<void>();
  const waiting: [count: number, resolve: () => void][] = [];
  let arrived = 0;
  const wake = () => waiting.forEach(([count, resolve]) => arrived >= count && resolve());
  return {
    requests: (count) => new Promise((resolve) => (waiting.push([count, resolve]), wake())),
    arrived: () => (arrived++, wake()),
    opened,
    open,
  };
}

Deno.test("two parallel runs on one file both succeed, and the costs can be read meanwhile", () =>
  onOneFile(async (purser, gate) => {
    const first = purser("run", "slow", "hello", "--session", "one");
    await gate.requests(1);
    const sessions = await purser("sessions", "list", "--json").ended;
    assert.equal(JSON.parse(sessions.stdout)[0].status, "running", sessions.stderr);
    const second = await purser("run", "quick", "hello", "--session", "two").ended;
    assert.deepEqual([second.code, second.stdout.trim()], [0, "You said: hello"], second.stderr);
    const refused = await purser("run", "slow", "hello", "--session", "one").ended;
    assert.equal(refused.code, 1);
    assert.match(refused.stderr, /run run_\w+ is in progress/);
    gate.open();
    const { code, stdout, stderr } = await first.ended;
    assert.deepEqual([code, stdout.trim()], [0, "the answer"], stderr);
    const costs = JSON.parse((await purser("cost", "--by", "agent", "--json").ended).stdout);
    assert.deepEqual(
      costs.map((row: { agent_id: string; model_calls: number }) => [row.agent_id, row.model_calls]).sort(),
      [
        ["quick", 1],
        ["slow", 1],
      ],
    );
  }));

Deno.test("a command that ends, or is interrupted, does not affect the run of another process", () =>
  onOneFile(async (purser, gate) => {
    const first = purser("run", "slow", "hello", "--session", "first");
    await gate.requests(1);
    const second = purser("run", "slow", "hello", "--session", "second");
    await gate.requests(2);
    first.kill("SIGINT"); // its own run is cancelled
    const ended = await first.ended;
    assert.equal(ended.code, 130, ended.stderr);
    gate.open();
    const { code, stdout, stderr } = await second.ended;
    assert.deepEqual([code, stdout.trim()], [0, "the answer"], stderr);
    assert.deepEqual(await statuses(purser), { first: "cancelled", second: "completed" });
  }));

Deno.test("after one of two processes is killed the other continues, and the next one ends the dead one's run at once", () =>
  onOneFile(async (purser, gate) => {
    const killed = purser("run", "slow", "hello", "--session", "killed");
    await gate.requests(1);
    const other = purser("run", "slow", "hello", "--session", "other");
    await gate.requests(2);
    killed.kill("SIGKILL");
    await killed.ended;
    // A command that only reads changes nothing.
    assert.deepEqual(await statuses(purser), { killed: "running", other: "running" });
    const next = purser("run", "slow", "hello again", "--session", "killed");
    await gate.requests(3); // it has the session, long before the lease has expired
    const runs = JSON.parse((await purser("cost", "--by", "run", "--json").ended).stdout);
    assert.deepEqual(runs, [], "nothing is booked yet");
    gate.open();
    for (const process of [next, other]) {
      const { code, stdout, stderr } = await process.ended;
      assert.deepEqual([code, stdout.trim()], [0, "the answer"], stderr);
    }
    assert.deepEqual(await statuses(purser), { killed: "completed", other: "completed" });
  }));

Deno.test("a run is cancelled from another process, by its row", () =>
  onOneFile(async (purser, gate) => {
    const running = purser("run", "slow", "hello", "--session", "one");
    await gate.requests(1);
    const server = purser("serve", "--port", "0");
    await server.hasSaid("Purser answers at ");
    const url = /answers at (http:\S+)/.exec(server.stderr())![1]!;
    const session = await (await fetch(`${url}/sessions/one`)).json();
    const cancelled = await fetch(`${url}/runs/${session.active_run_id}/cancel`, { method: "POST" });
    assert.equal(cancelled.status, 202);
    await cancelled.body?.cancel();
    gate.open(); // it finds the request with its next commit
    assert.equal((await running.ended).code, 1);
    assert.deepEqual(await statuses(purser), { one: "cancelled" });
    server.kill("SIGTERM");
    assert.equal((await server.ended).code, 0);
  }));

Deno.test("two servers on one file both answer, and each sends the events of the other's runs", () =>
  onOneFile(async (purser) => {
    const servers = [purser("serve", "--port", "0"), purser("serve", "--port", "0")];
    const urls: string[] = [];
    for (const server of servers) {
      await server.hasSaid("Purser answers at ");
      urls.push(/answers at (http:\S+)/.exec(server.stderr())![1]!);
    }
    const stop = new AbortController();
    const events = await fetch(`${urls[1]}/events`, { signal: stop.signal });
    const seen: string[] = [];
    const reading = (async () => {
      for await (const chunk of events.body!.pipeThrough(new TextDecoderStream())) {
        seen.push(...[...chunk.matchAll(/^event: (\S+)/gm)].map(([, type]) => type!));
        if (seen.includes("run.completed")) break;
      }
    })();
    const answer = await fetch(`${urls[0]}/agents/quick/runs`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ input: "hello" }),
    });
    assert.equal((await answer.json()).output, "You said: hello");
    await reading;
    assert.ok(seen.includes("cost.recorded"), seen.join());
    for (const url of urls) {
      const [row] = await (await fetch(`${url}/costs`)).json();
      assert.equal(row.model_calls, 1);
    }
    for (const server of servers) server.kill("SIGTERM");
    for (const server of servers) assert.equal((await server.ended).code, 0);
  }));
