import assert from "node:assert/strict";
import { answerTo } from "./harness/answers.ts";
import { startFakeProvider } from "./harness/fake_provider.ts";

/** Several real processes on one database file. */

interface Process {
  kill(signal: Deno.Signal): void;
  /** Resolves when its standard error holds this text. */
  hasSaid(text: string): Promise<void>;
  ended: Promise<{ code: number; stdout: string; stderr: string }>;
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
    assert.equal((await purser("agents", "set", "slow", "--model", "slow:model").ended).code, 0);
    assert.equal((await purser("agents", "set", "quick", "--model", "demo:echo").ended).code, 0);
    await test(purser, gate);
  } finally {
    gate.open();
    await Deno.remove(directory, { recursive: true });
  }
}

/** Starts the real command line. */
function start(args: string[], env: Record<string, string>): Process {
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--quiet", "cli.ts", ...args],
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
  /** Resolves when the provider has had that many requests, which it holds back. */
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

Deno.test("two runs side by side on one file both end well, and a look at the costs meanwhile just works", () =>
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

Deno.test("an owner that is done waits for the run of another command, and says so", () =>
  onOneFile(async (purser, gate) => {
    const owner = purser("run", "slow", "hello", "--session", "owner");
    await gate.requests(1);
    const guest = purser("run", "slow", "hello", "--session", "guest");
    await gate.requests(2);
    owner.kill("SIGINT"); // its own run is cancelled; the guest's goes on in it
    await owner.hasSaid("Waiting for");
    const meanwhile = await purser("cost", "--by", "agent", "--json").ended;
    assert.equal(meanwhile.code, 0, meanwhile.stderr);
    gate.open();
    const ended = await owner.ended;
    assert.equal(ended.code, 130, ended.stderr);
    assert.match(ended.stderr, /Waiting for 1 request of other commands to end/);
    const { code, stdout, stderr } = await guest.ended;
    assert.deepEqual([code, stdout.trim()], [0, "the answer"], stderr);
    const sessions = JSON.parse((await purser("sessions", "list", "--json").ended).stdout);
    assert.deepEqual(
      Object.fromEntries(
        sessions.map((s: { session_id: string; status: string }) => [s.session_id, s.status]),
      ),
      { owner: "cancelled", guest: "completed" },
    );
  }));

Deno.test("a killed owner is replaced at once, and its run is marked interrupted", () =>
  onOneFile(async (purser, gate) => {
    const owner = purser("run", "slow", "hello", "--session", "lost");
    await gate.requests(1);
    owner.kill("SIGKILL");
    await owner.ended;
    const { code, stdout, stderr } = await purser("sessions", "show", "lost", "--json").ended;
    assert.equal(code, 0, stderr);
    assert.equal(JSON.parse(stdout).status, "interrupted");
    gate.open();
    const again = await purser("run", "slow", "hello again", "--session", "lost").ended;
    assert.deepEqual([again.code, again.stdout.trim()], [0, "the answer"], again.stderr);
  }));

Deno.test("a command whose owner is killed in its run says that it can't tell how it ended", () =>
  onOneFile(async (purser, gate) => {
    const owner = purser("run", "slow", "hello", "--session", "owner");
    await gate.requests(1);
    const guest = purser("run", "slow", "hello", "--session", "guest");
    await gate.requests(2);
    owner.kill("SIGKILL");
    const { code, stderr } = await guest.ended;
    assert.equal(code, 1);
    assert.match(stderr, /ended meanwhile|broke off|interrupted/);
  }));
