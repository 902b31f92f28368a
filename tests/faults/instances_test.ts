import assert from "node:assert/strict";
import type { BudgetMode } from "../../src/contract/values.ts";
import type { Store } from "../../src/store/mod.ts";
import { answerTo } from "../harness/answers.ts";
import { checkAllEnded, checkBooks } from "../harness/check_books.ts";
import { serverKindsInTime } from "../harness/database_servers.ts";
import { startFakeProvider } from "../harness/fake_provider.ts";
import { type Fleet, type Instance, openFleet } from "../harness/instances.ts";
import { startWebhookReceiver, type WebhookReceiver } from "../harness/webhook_receiver.ts";
import { bundleWorker } from "../harness/shared_build.ts";
import { isThorough } from "../harness/thorough.ts";
import { lookInto, until } from "./alert_workers.ts";
import { CALL_NANO_USD } from "./budget_worker.ts";

/** Real servers and commands on one database server: one set of books, even when some are killed. */

const BUDGET_WORKER = await bundleWorker("budget");

/** In a thorough run; `budget_instances_test.ts` has budgets of several processes in the gate, too. */
const MODES: readonly BudgetMode[] = isThorough ? ["strict", "stop"] : [];

/** The runs that are started on one session at once, of which one starts. */
const ROUNDS = isThorough ? 3 : 1;

/** The model API: answers of `slow:model` wait until they are released. */
async function startModels() {
  let arrived = 0;
  let opened = Promise.withResolvers<void>();
  const provider = await startFakeProvider(async (request) => {
    if (request.model === "model") {
      arrived++;
      await opened.promise;
    }
    return answerTo(request, { text: "the answer", usage: { inputTokens: 100, outputTokens: 10 } });
  });
  return {
    url: provider.baseUrls.compatible,
    untilAsked: (count: number) =>
      until(`${count} requests are held`, () => Promise.resolve(arrived >= count)),
    letGo() {
      arrived = 0;
      opened.resolve();
      opened = Promise.withResolvers();
    },
    async [Symbol.asyncDispose]() {
      opened.resolve();
      await provider.close();
    },
  };
}

type Models = Awaited<ReturnType<typeof startModels>>;

interface Scene {
  db: string;
  store: Store;
  fleet: Fleet;
  servers: [Instance, Instance, Instance, Instance];
  models: Models;
  receiver: WebhookReceiver;
}

const run = (server: Instance, agent: string, session_id: string, input = "Hello") =>
  server.send("POST", `/agents/${agent}/runs`, { input, session_id });

const one = async (store: Store, sql: string) => (await store.read({ sql })).rows[0]?.[0];

for (const { name, ignore, start } of serverKindsInTime) {
  Deno.test({
    name:
      `${name}: four servers and commands on one database keep one set of books, even when they are killed`,
    ignore,
    async fn(t) {
      await using server = await start(true);
      await using models = await startModels();
      await using receiver = startWebhookReceiver();
      await using fleet = await openFleet({
        db: server.url,
        remote_timeout_ms: 5_000,
        providers: { slow: { base_url: models.url } },
        prices: ["model", "quick"].map((model) => ({
          ...{ provider: "slow", model, input_usd_per_million: 1, output_usd_per_million: 2 },
        })),
      }, receiver);
      // Four at once on an empty database.
      const servers = await Promise.all(
        ["a", "b", "c", "d"].map((name) => fleet.start(name)),
      ) as Scene["servers"];
      await using store = await lookInto(server.url);
      const scene: Scene = { db: server.url, store, fleet, servers, models, receiver };
      const step = async (sentence: string, body: (scene: Scene) => Promise<void>) => {
        assert.ok(await t.step(sentence, () => body(scene)), sentence);
      };

      await step("agents and rules set on one server apply on all", shareSettings);
      await step("of many concurrent runs on one session one starts, on any server", runOnce);
      await step("a command beside them works on the same books", runCommands);
      for (const mode of MODES) {
        await step(
          `a ${mode} budget is shared by calls of one run in four processes`,
          (s) => shareBudget(s, mode),
        );
      }
      await step("a killed server's runs are taken over when their lease expires", takeOverRuns);
      await step("a killed server's delivery is taken over when its lease expires", takeOverDelivery);
      await step("at the end the books are consistent", async () => {
        await until(
          "all is delivered",
          async () => await one(store, "SELECT count(*) FROM deliveries WHERE status = 'pending'") === 0n,
        );
        await checkBooks(store);
        await checkAllEnded(store);
        const runs = await one(store, "SELECT count(DISTINCT run_id) FROM calls");
        assert.equal(await one(store, "SELECT count(*) FROM alerts"), runs, "each run has its alert");
        // Those of the metered calls went to the log alone: those processes have no other channel.
        const sent = await one(store, "SELECT count(*) FROM deliveries WHERE channel = 'ops'");
        assert.equal(sent, runs as bigint - BigInt(MODES.length));
        const ids = receiver.received.map(({ body }) => JSON.parse(body).data.alert_id);
        assert.equal(BigInt(new Set(ids).size), sent, "and each was sent");
        assert.equal(BigInt(ids.length), sent as bigint + 1n, "once, but for the one that was taken over");
      });
    },
  });
}

async function shareSettings({ servers: [a, b, c, d] }: Scene): Promise<void> {
  assert.equal((await a.send("PUT", "/agents/slow", { model: "slow:model" })).status, 201);
  assert.equal((await b.send("PUT", "/agents/quick", { model: "slow:quick" })).status, 201);
  const rule = {
    ...{ name: "Every run", threshold_type: "per_run_usd", threshold_usd: 0.000_000_001, severity: "info" },
    ...{ cooldown_seconds: 0, repeat: "once_per_window" },
  };
  assert.equal((await c.send("POST", "/alerts/rules", rule)).status, 201);
  for (const server of [a, b, c, d]) {
    const { body: agents } = await server.send("GET", "/agents");
    assert.deepEqual(agents.map(({ agent_id }: { agent_id: string }) => agent_id), ["quick", "slow"]);
    assert.equal((await server.send("GET", "/alerts/rules")).body.length, 1);
  }
}

async function runOnce({ servers, models, store }: Scene): Promise<void> {
  for (let round = 1; round <= ROUNDS; round++) {
    const tries = [...servers, ...servers].map((server) => run(server, "slow", "shared", `round ${round}`));
    await models.untilAsked(1);
    // The others are refused while the one runs.
    const refused = await firstOf(tries, tries.length - 1);
    assert.ok(refused.every(({ status, body }) => status === 409 && /is in progress/.test(body.detail)));
    models.letGo();
    const statuses = (await Promise.all(tries)).map(({ status }) => status);
    assert.deepEqual(statuses.filter((status) => status === 200).length, 1, `${statuses}`);
  }
  const rounds = BigInt(ROUNDS);
  assert.equal(await one(store, "SELECT count(*) FROM calls WHERE session_id = 'shared'"), rounds);
  assert.equal(await one(store, "SELECT count(*) FROM messages WHERE session_id = 'shared'"), 2n * rounds);
}

/** Returns the first so many once they are there. */
async function firstOf<T>(promises: Promise<T>[], count: number): Promise<T[]> {
  const values: T[] = [];
  const enough = Promise.withResolvers<void>();
  for (const promise of promises) {
    promise.then((value) => {
      values.push(value);
      if (values.length === count) enough.resolve();
    }, enough.reject);
  }
  await enough.promise;
  return values;
}

async function runCommands({ fleet, servers: [a], models, store }: Scene): Promise<void> {
  const held = run(a, "slow", "held");
  await models.untilAsked(1);
  const [refused, other, costs] = await Promise.all([
    fleet.command("run", "slow", "Hello", "--session", "held"),
    fleet.command("run", "quick", "Hello", "--session", "own"),
    fleet.command("cost", "--json"),
  ]);
  assert.equal(refused.code, 1, refused.err);
  assert.match(refused.err, /Cannot start a run on session held: run run_\w+ is in progress/);
  assert.equal(other.code, 0, other.err);
  assert.match(other.out, /the answer/);
  assert.equal(costs.code, 0, costs.err);
  assert.doesNotMatch(costs.err + other.err, /durab/i, "a command doesn't warn");
  models.letGo();
  assert.equal((await held).status, 200);
  assert.equal(await one(store, "SELECT count(*) FROM runs WHERE session_id IN ('held', 'own')"), 2n);
}

async function shareBudget({ db, store }: Scene, mode: "strict" | "stop"): Promise<void> {
  const runId = `run_${mode}`;
  const each = 8;
  // Room for half of the calls.
  const limit = CALL_NANO_USD * 10 + CALL_NANO_USD / 2;
  const workers = Array.from({ length: 4 }, () =>
    new Deno.Command(Deno.execPath(), {
      args: ["run", "-RWENS", "--quiet", ...BUDGET_WORKER, db, runId, mode, `${limit}`, `${each}`],
      ...{ stdin: "piped", stdout: "piped" },
    }).spawn());
  const said = await Promise.all(workers.map(async (worker) => {
    const reader = worker.stdout.pipeThrough(new TextDecoderStream()).getReader();
    assert.equal((await reader.read()).value, "ready\n");
    return reader;
  }));
  const outcomes = await Promise.all(workers.map(async (worker, index) => {
    await worker.stdin.close();
    let text = "";
    for (;;) {
      const { done, value } = await said[index]!.read();
      if (done) break;
      text += value;
    }
    assert.ok((await worker.status).success);
    return JSON.parse(text) as { made: number; refused: number };
  }));
  const made = outcomes.reduce((sum, outcome) => sum + outcome.made, 0);
  const spent = Number(
    await one(
      store,
      `SELECT sum(whole_usd) * 1000000000 + sum(rest_nano_usd) FROM run_usage WHERE run_id = '${runId}'`,
    ),
  );
  assert.equal(spent, made * CALL_NANO_USD);
  assert.equal(outcomes.reduce((sum, { refused }) => sum + refused, 0), 4 * each - made);
  if (mode === "strict") assert.ok(spent > 0 && spent <= limit, `${spent} of ${limit}`);
  else assert.ok(spent >= limit && spent < limit + CALL_NANO_USD, `${spent} of ${limit}`);
  assert.equal(await one(store, "SELECT count(*) FROM reservations"), 0n);
}

async function takeOverRuns({ servers: [a, b], fleet, models, store }: Scene): Promise<void> {
  const dying = await fleet.start("dying");
  const lost = ["orphan-1", "orphan-2"].map((session) => run(dying, "slow", session));
  await models.untilAsked(2);
  await dying.kill();
  assert.deepEqual((await Promise.all(lost)).map(({ status }) => status), [0, 0]);
  assert.match((await run(a, "slow", "orphan-1")).body.detail, /is in progress/, "its lease is not over");
  await store.write([{ sql: "UPDATE runs SET lease_until = 1 WHERE status = 'running'" }]); // a minute passes
  models.letGo();
  // A run on the session takes it over at once; the other session is recovered by the next process that starts.
  const again = run(b, "slow", "orphan-1");
  await models.untilAsked(1);
  models.letGo();
  assert.equal((await again).status, 200);
  const next = await fleet.start("next");
  const { body: session } = await next.send("GET", "/sessions/orphan-2");
  assert.deepEqual([session.status, session.active_run_id], ["interrupted", null]);
  assert.equal(await one(store, "SELECT count(*) FROM runs WHERE status = 'interrupted'"), 2n);
}

async function takeOverDelivery({ servers: [a], fleet, receiver, store }: Scene): Promise<void> {
  await until(
    "nothing waits",
    async () => await one(store, "SELECT count(*) FROM deliveries WHERE status = 'pending'") === 0n,
  );
  const dying = await fleet.start("deliverer");
  const { promise: never } = Promise.withResolvers<number>();
  receiver.answer = ({ headers }) => headers.get("x-instance") === "deliverer" ? never : 204;
  const before = receiver.received.length;
  assert.equal((await run(dying, "quick", "delivered-late")).status, 200);
  await receiver.untilReceived(before + 1);
  const held = receiver.received.at(-1)!;
  assert.equal(held.headers.get("x-instance"), "deliverer");
  await dying.kill();
  await store.write([{ sql: "UPDATE deliveries SET lease_until = 1 WHERE lease_until IS NOT NULL" }]);
  // A wake-up makes a dispatcher check all due deliveries; otherwise each checks every 30 s, and another may take it.
  assert.equal((await run(a, "quick", "delivered-at-once")).status, 200);
  await receiver.untilReceived(before + 3);
  const again = receiver.received.slice(before + 1).find(({ webhookId }) => webhookId === held.webhookId);
  assert.ok(again !== undefined && again.headers.get("x-instance") !== "deliverer");
  await until(
    "it is settled",
    async () =>
      await one(store, `SELECT status FROM deliveries WHERE delivery_id = '${held.webhookId}'`) ===
        "delivered",
  );
  const { rows } = await store.read({
    sql: "SELECT attempts, lost_claims FROM deliveries WHERE delivery_id = ?",
    args: [held.webhookId!],
  });
  assert.deepEqual(rows, [[1n, 1n]]);
}
