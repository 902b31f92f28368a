import assert from "node:assert/strict";
import { lookInto } from "../faults/alert_workers.ts";
import { answerTo } from "../harness/answers.ts";
import { checkBooks } from "../harness/check_books.ts";
import { type FakeProvider, startFakeProvider } from "../harness/fake_provider.ts";
import { type Fleet, type Instance, openFleet } from "../harness/instances.ts";
import { startWebhookReceiver, type WebhookReceiver } from "../harness/webhook_receiver.ts";

/** A call costs 100 input tokens at $1 and 10 output tokens at $2 per million. */
const CALL_NANO_USD = 120_000n;

/** The limit of a strict budget: some forty calls. */
const LIMIT_USD = 0.005;

const SERVERS = 4;
const CLIENTS = { gateway: 8, reports: 4, runs: 4, capped: 6 };

/** The pause of a client after an error, so that it doesn't ask in a loop. */
const PAUSE_MS = 50;

/** Four servers on one database, under load by clients that remember what was acknowledged. */
export interface FailoverScene extends AsyncDisposable {
  /** The acknowledgements so far. */
  readonly acknowledged: number;
  /** Resolves with the time in ms until the next acknowledgement of a call that is sent from now on. */
  untilBooked(): Promise<number>;
  /** Begins with a new strict budget. */
  nextBudget(): Promise<void>;
  /** Ends the load, and compares what was acknowledged and billed with the ledger. */
  check(): Promise<SceneCounts>;
}

/** The results of a scene: amounts other than those of calls are 0 where all is right. */
export interface SceneCounts {
  acknowledged: number;
  calls: number;
  /** Acknowledged calls that the ledger doesn't have. */
  lost: number;
  /** Answers of the provider that are booked more than once. */
  doubled: number;
  /** The sum of what strict budgets were passed by, in nano-USD, by the provider's answers. */
  overshotNanoUsd: bigint;
  /** Windows for which a rule has fired more than once. */
  alertsTwice: number;
}

/**
 * Starts the servers on a database, and the load. A client pauses so long after each call: what a commit is in the middle of
 * matters, not how many there are.
 */
export async function openScene(
  db: string,
  { pauseMs, clients: counts = CLIENTS }: { pauseMs: number; clients?: typeof CLIENTS },
): Promise<FailoverScene> {
  const stack = new AsyncDisposableStack();
  /** The provider's answers to the calls of each agent. */
  const billed = new Map<string, number>();
  let answers = 0;
  const provider: FakeProvider = await startFakeProvider((request) => {
    const agent = request.body.messages.at(-1)?.content ?? "";
    billed.set(agent, (billed.get(agent) ?? 0) + 1);
    const reply = answerTo(request, { text: "done", usage: { inputTokens: 100, outputTokens: 10 } });
    return { answer: { ...reply.answer, body: { ...reply.answer.body as object, id: `bill_${++answers}` } } };
  });
  stack.defer(() => provider.close());
  const receiver: WebhookReceiver = stack.use(startWebhookReceiver());
  const fleet: Fleet = stack.use(
    await openFleet({
      db,
      remote_timeout_ms: 60_000,
      providers: { local: { base_url: provider.baseUrls.compatible } },
      prices: [{ provider: "local", model: "model", input_usd_per_million: 1, output_usd_per_million: 2 }],
    }, receiver),
  );
  const servers: Instance[] = await Promise.all(
    Array.from({ length: SERVERS }, (_, number) => fleet.start(`server${number}`)),
  );
  const [first] = servers as [Instance];
  await put(first, "PUT", "/agents/worker", { model: "local:model" });
  await put(first, "POST", "/alerts/rules", {
    ...{ name: "Every run", threshold_type: "per_run_usd", threshold_usd: 0.000_000_001, severity: "info" },
    ...{ cooldown_seconds: 0, repeat: "once_per_window" },
  });

  const callIds: string[] = [];
  const runIds: string[] = [];
  const budgets: string[] = [];
  let isOver = false;
  /** The waits for the first acknowledgement of what was sent after a time. */
  let waiting: { since: number; resolve(ms: number): void }[] = [];
  const sent = () => performance.now();
  const acknowledge = (since: number) => {
    waiting = waiting.filter((each) => {
      if (since < each.since) return true;
      each.resolve(performance.now() - each.since);
      return false;
    });
  };
  const nextBudget = async () => {
    const name = `capped${budgets.length + 1}`;
    await put(first, "POST", "/budgets", {
      name,
      per: "day",
      limit_usd: LIMIT_USD,
      agent_id: name,
      mode: "strict",
    });
    budgets.push(name);
  };
  await nextBudget();

  const gatewayCall = async (server: Instance, agent: string) => {
    const since = sent();
    const response = await fetch(`${server.url}/local/v1/chat/completions`, {
      method: "POST",
      headers: { "x-purser-agent": agent, "content-type": "application/json" },
      body: JSON.stringify({ model: "model", max_tokens: 10, messages: [{ role: "user", content: agent }] }),
    });
    await response.text();
    const callId = response.headers.get("x-purser-call-id");
    if (response.status !== 200 || callId === null) return response.status === 402;
    callIds.push(callId);
    acknowledge(since);
    return true;
  };
  let reports = 0;
  const work: Record<keyof typeof CLIENTS, (server: Instance) => Promise<boolean>> = {
    gateway: (server) => gatewayCall(server, "client"),
    capped: (server) => gatewayCall(server, budgets.at(-1)!),
    async reports(server) {
      const call_id = `report_${++reports}`;
      const since = sent();
      const event = {
        ...{ call_id, agent_id: "reporter", provider: "local", model: "model", at: new Date().toISOString() },
        ...{ input_tokens: 100, output_tokens: 10 },
      };
      // A client that gets no answer reports the call again, under the same id.
      for (;;) {
        const { status } = await server.send("POST", "/costs/events", [event]);
        if (status === 201) break;
        if (isOver) return false;
        await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
      }
      callIds.push(call_id);
      acknowledge(since);
      return true;
    },
    async runs(server) {
      const since = sent();
      const { status, body } = await server.send("POST", "/agents/worker/runs", { input: "worker" });
      if (status !== 200) return false;
      runIds.push(body.run_id);
      acknowledge(since);
      return true;
    },
  };
  const clients = Object.entries(counts).flatMap(([kind, count]) =>
    Array.from({ length: count }, async (_, number) => {
      for (let turn = number; !isOver; turn++) {
        const isDone = await work[kind as keyof typeof CLIENTS](servers[turn % SERVERS]!).catch(() => false);
        await new Promise((resolve) => setTimeout(resolve, isDone ? pauseMs : PAUSE_MS));
      }
    })
  );
  stack.defer(async () => {
    isOver = true;
    await Promise.all(clients);
  });

  return {
    get acknowledged() {
      return callIds.length + runIds.length;
    },
    untilBooked: () => new Promise((resolve) => waiting.push({ since: sent(), resolve })),
    nextBudget,
    async check() {
      isOver = true;
      await Promise.all(clients);
      await using store = await lookInto(db, { timeoutMs: 900_000 }); // after many faults there is much to read
      const read = async (sql: string, args: string[] = []) => (await store.read({ sql, args })).rows;
      const missing = await read(
        `SELECT j.value FROM json_each(?1) j WHERE NOT EXISTS (SELECT 1 FROM calls c WHERE c.call_id = j.value)`,
        [JSON.stringify(callIds)],
      );
      const missingRuns = await read(
        `SELECT j.value FROM json_each(?1) j WHERE NOT EXISTS (SELECT 1 FROM calls c WHERE c.run_id = j.value)`,
        [JSON.stringify(runIds)],
      );
      const doubled = await read(
        `SELECT response_id FROM calls WHERE response_id IS NOT NULL GROUP BY response_id HAVING count(*) > 1`,
      );
      const twice = await read(
        `SELECT rule_id, "window" FROM alerts GROUP BY rule_id, "window" HAVING count(*) > 1`,
      );
      const limit = BigInt(Math.round(LIMIT_USD * 1e9));
      const overshot = budgets.map((agent) => BigInt(billed.get(agent) ?? 0) * CALL_NANO_USD - limit)
        .filter((amount) => amount > 0n);
      await checkBooks(store);
      const [[calls] = []] = await read("SELECT count(*) FROM calls");
      return {
        acknowledged: callIds.length + runIds.length,
        calls: Number(calls),
        lost: missing.length + missingRuns.length,
        doubled: doubled.length,
        overshotNanoUsd: overshot.reduce((sum, amount) => sum + amount, 0n),
        alertsTwice: twice.length,
      };
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

async function put(server: Instance, method: string, path: string, body: unknown): Promise<void> {
  const answer = await server.send(method, path, body);
  assert.ok(answer.status < 300, `${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
}
