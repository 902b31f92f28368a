import assert from "node:assert/strict";
import type { RuleInCode } from "../src/alerts/mod.ts";
import type { ReportedCall } from "../src/calls/mod.ts";
import { usageOf } from "../src/pricing/mod.ts";
import type { Store } from "../src/store/mod.ts";
import {
  lookInto,
  readAlerts,
  readLedger,
  readOutbox,
  readRules,
  replay,
  startWorker,
  until,
  type Worker,
} from "./faults/alert_workers.ts";
import { seededRandom } from "./harness/random.ts";
import { serverKindsInTime } from "./harness/database_servers.ts";
import { cases } from "./harness/thorough.ts";
import { holdingAnswer, startWebhookReceiver, type WebhookReceiver } from "./harness/webhook_receiver.ts";

/** Real processes that book into one database, each with a dispatcher of its own. */

/** By the four processes; in a thorough run of a factor of 25, more than the history keeps. */
const RUNS = cases(20);
const RUNS_ON_FILE = cases(20);
const CALLS_PER_RUN = 3;
/** Every n-th run is booked by several processes at once, a call each. */
const SHARED_EVERY = 4;
const AGENTS = 10;
/** The number of alerts that the history keeps. */
const KEPT = 500;
/** For a busy machine. */
const TIMEOUT_MS = 120_000;

const LINE_USD = 0.000_001;
/** Three of these exceed the threshold in any case, by the first call, the second or the third. */
const [LEAST_NANO_USD, MOST_NANO_USD] = [340, 1_100];

const PER_RUN: RuleInCode = {
  rule_id: "rule_per_run",
  name: "Each run once",
  threshold_type: "per_run_usd",
  threshold_usd: LINE_USD,
  severity: "warning",
  cooldown_seconds: 0,
  repeat: "once_per_window",
};
/** One rule for each agent, which fires with the first calls and then cools down. */
const RESTING = Array.from({ length: AGENTS }, (_, index): RuleInCode => ({
  rule_id: `rule_resting_${index}`,
  name: `Spending of ${agentOf(index)}`,
  threshold_type: "per_month_usd",
  threshold_usd: 0.000_000_001,
  severity: "critical",
  cooldown_seconds: 31_536_000,
  agent_id: agentOf(index),
}));

for (const kind of serverKindsInTime) {
  Deno.test({
    name:
      `${kind.name}: four processes on one server: ${RUNS} exceeded thresholds are ${RUNS} alerts, with a webhook each`,
    ignore: kind.ignore,
    async fn() {
      await using server = await kind.start(false);
      await using receiver = startWebhookReceiver();
      await using team = startTeam(4);
      await checkCrossings(team, { db: server.url, receiver, runs: RUNS, canLookBeside: true });
    },
  });
}

Deno.test(`a process on a file: ${RUNS_ON_FILE} exceeded thresholds are ${RUNS_ON_FILE} alerts, with a webhook each`, async () => {
  const folder = await Deno.makeTempDir({ prefix: "purser_alerts_" });
  try {
    await using receiver = startWebhookReceiver();
    await using team = startTeam(1);
    const db = `${folder}/books.db`;
    await checkCrossings(team, { db, receiver, runs: RUNS_ON_FILE, canLookBeside: false });
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

interface Team extends AsyncDisposable {
  workers: readonly Worker[];
}

function startTeam(size: number): Team {
  const workers = Array.from({ length: size }, startWorker);
  return {
    workers,
    async [Symbol.asyncDispose]() {
      await Promise.all(workers.map((worker) => worker[Symbol.asyncDispose]()));
    },
  };
}

/** Nothing is delivered while the calls are booked, so that the whole outbox can be counted before it is trimmed. */
async function checkCrossings(
  { workers }: Team,
  { db, receiver, runs, canLookBeside }: {
    db: string;
    receiver: WebhookReceiver;
    runs: number;
    canLookBeside: boolean;
  },
): Promise<void> {
  const alerts = runs + AGENTS;
  const size = workers.length;
  const ordered = async (order: (index: number) => Parameters<Worker["order"]>[0]) => {
    const areDone = await Promise.all(workers.map((worker, index) => worker.order(order(index))));
    assert.ok(areDone.every(Boolean), "every worker carries out its order");
  };
  const { answer, letGo } = holdingAnswer();
  receiver.answer = answer;
  const rules = [PER_RUN, ...RESTING];
  await ordered((index) => ({ open: { db, url: receiver.url, name: `worker-${index}`, rules } }));
  const startedAt = performance.now();
  await ordered((index) => ({ report: callsOf(index, size, runs) }));
  const bookedAt = performance.now();
  await receiver.untilReceived(size);

  if (canLookBeside) {
    await using store = await lookInto(db);
    await checkAlerts(store, runs);
    const outbox = await readOutbox(store);
    assert.equal(outbox.length, alerts);
    assert.ok(outbox.every(({ status }) => status === "pending"), "nothing was delivered yet");
    assert.equal(outbox.filter(({ isLeased }) => isLeased).length, size, "each process sends one of them");
    assert.equal(new Set(outbox.map(({ alert }) => alert)).size, alerts);
    assert.equal(receiver.received.length, size, "and waits for the response");
    const ids = outbox.map(({ id }) => id).sort();
    letGo();
    await receiver.untilReceived(alerts, { timeoutMs: TIMEOUT_MS });
    await until("all is delivered", async () => await countPending(store) === 0);
    assert.deepEqual(receiver.received.map(({ webhookId }) => webhookId).sort(), ids);
  } else {
    letGo();
    await receiver.untilReceived(alerts, { timeoutMs: TIMEOUT_MS });
  }
  const deliveredAt = performance.now();
  await ordered(() => ({ close: true }));
  const { received } = receiver;
  assert.equal(received.length, alerts, "nothing is sent twice");
  assert.equal(new Set(received.map(({ webhookId }) => webhookId)).size, alerts);
  assert.equal(new Set(received.map(({ body }) => JSON.parse(body).data.alert_id)).size, alerts);
  const senders = Map.groupBy(received, ({ headers }) => headers.get("x-worker"));
  assert.equal(senders.size, size, "every process delivers");
  const published = workers.flatMap(({ said }) => said.flatMap(({ alert }) => alert ?? []));
  assert.equal(published.length, alerts, "each is published once on a bus");
  assert.equal(new Set(published).size, alerts);

  await using store = await lookInto(db);
  const left = Math.min(alerts, KEPT);
  assert.equal((await readAlerts(store)).length, left, "only then the history is trimmed");
  for (const channel of ["log", "ops"]) {
    const kept = await readOutbox(store, channel);
    assert.equal(kept.length, left);
    assert.ok(kept.every(({ status, attempts }) => status === "delivered" && attempts === 1));
  }
  const seconds = (from: number, to: number) => ((to - from) / 1000).toFixed(1);
  const shares = [...senders.values()].map((webhooks) => webhooks.length).join(" + ");
  console.log(
    `      ${runs * CALLS_PER_RUN} calls in ${seconds(startedAt, bookedAt)} s, ${shares} webhooks in ${
      seconds(bookedAt, deliveredAt)
    } s`,
  );
}

/** The alerts are those that the pure model finds in the ledger. */
async function checkAlerts(store: Store, runs: number): Promise<void> {
  const ledger = await readLedger(store);
  assert.equal(ledger.length, runs * CALLS_PER_RUN);
  const alerts = await readAlerts(store);
  assert.equal(new Set(alerts.map(({ alertId }) => alertId)).size, alerts.length);
  const byRule = Map.groupBy(alerts, ({ ruleId }) => ruleId);
  for (const { rule_id } of RESTING) assert.equal(byRule.get(rule_id!)?.length, 1, `${rule_id} fires once`);

  const perRun = byRule.get(PER_RUN.rule_id!) ?? [];
  assert.equal(perRun.length, runs);
  const found = new Map(perRun.map(({ runId, value }) => [runId, value]));
  assert.equal(found.size, runs, "each run fires once");
  const rules = (await readRules(store)).filter(({ ruleId }) => ruleId === PER_RUN.rule_id);
  // Without a cooldown runs are independent, and a run has few calls: the model checks all of them.
  for (const [runId, calls] of Map.groupBy(ledger, (call) => call.runId)) {
    assert.deepEqual(replay(rules, calls).map(({ value }) => value), [found.get(runId)]);
  }
}

async function countPending(store: Store): Promise<number> {
  const { rows } = await store.read({ sql: "SELECT count(*) FROM deliveries WHERE status = 'pending'" });
  return Number(rows[0]![0]);
}

/** The calls that one of the processes books, run by run in the same order as the others. */
function callsOf(index: number, size: number, runs: number): ReportedCall[] {
  const random = seededRandom(2026);
  const at = Date.now();
  const calls: ReportedCall[] = [];
  for (let run = 0; run < runs; run++) {
    for (let step = 1; step <= CALLS_PER_RUN; step++) {
      const nanoUsd = LEAST_NANO_USD + Math.floor(random() * (MOST_NANO_USD - LEAST_NANO_USD));
      const whose = run % SHARED_EVERY === 0 ? run / SHARED_EVERY + step : run;
      if (whose % size !== index) continue;
      calls.push({
        callId: `call_${run}_${step}`,
        at,
        agentId: agentOf(run),
        sessionId: null,
        runId: `run_${run}`,
        step,
        tools: [],
        provider: "elsewhere",
        model: "model",
        usage: usageOf({ inputTokens: 10, outputTokens: 2 }),
        costUsd: nanoUsd / 1e9,
        durationMs: null,
      });
    }
  }
  return calls;
}

function agentOf(index: number): string {
  return `agent-${index % AGENTS}`;
}
