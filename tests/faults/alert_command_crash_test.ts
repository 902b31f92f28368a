import { AGENT_DEFAULTS } from "../../src/contract/limits.ts";
import assert from "node:assert/strict";
import { defineAgent } from "../../src/agents/mod.ts";
import { createRule } from "../../src/alerts/mod.ts";
import { DELIVERY_LEASE_MS } from "../../src/delivery/claim_delivery.ts";
import { openCore } from "../../src/service/mod.ts";
import { newPlace as newCliPlace, type Place, purser, start } from "../harness/cli_process.ts";
import { holdingAnswer, startWebhookReceiver, type WebhookReceiver } from "../harness/webhook_receiver.ts";
import { CHANNEL, configOf } from "./alert_worker.ts";
import { lookInto, readOutbox, startWorker } from "./alert_workers.ts";

/** Commands deliver what a killed process or a receiver that hangs has left. */

const WEBHOOK_TIMEOUT_MS = 60_000;
/** The longest wait of a command for its webhooks. */
const GRACE_MS = 5_000;

/** A command that writes; commands that only read deliver nothing. */
const CHANGE = ["agents", "set", "other", "--model", "demo:echo"];

Deno.test("the alerts of a killed process are delivered by the next command that writes", async () => {
  await using receiver = startWebhookReceiver();
  await using place = await newPlace(receiver);
  await using worker = startWorker();
  worker.order({ open: { db: place.env.PURSER_DB!, url: receiver.url, name: "killed" } });
  worker.order({ run: { first: 4, count: 1, kill: { moment: "booked", turn: 1 } } });
  assert.equal(await worker.ended, false);
  assert.deepEqual(worker.said.at(-1), { dies: "booked" });
  assert.deepEqual(await outboxOf(place), [{ status: "pending", attempts: 0, error: null, isLeased: false }]);
  assert.equal(receiver.received.length, 0);

  const { code, err } = await purser(place, CHANGE);
  assert.equal(code, 0, err);
  assert.equal(receiver.received.length, 1);
  assert.deepEqual(await attemptsOf(place), ["delivered after 1"]);
});

Deno.test("a delivery cut off by a kill is resumed when the next process starts, before its lease expires", async () => {
  await using receiver = startWebhookReceiver(() => new Promise(() => {}));
  await using place = await newPlace(receiver);
  const run = start(place, ["run", "helper", "What is 17 * 23?"]);
  const said = Promise.withResolvers<void>();
  const heard = (async () => {
    let text = "";
    for await (const chunk of run.stderr.pipeThrough(new TextDecoderStream())) {
      if ((text += chunk).includes("2 steps")) said.resolve();
    }
  })();
  await Promise.all([receiver.untilReceived(1), said.promise]);
  run.kill("SIGKILL"); // both of its calls are booked
  await Promise.all([run.status, heard, new Response(run.stdout).text()]);
  receiver.answer = () => 204;

  const startedAt = performance.now();
  const server = start(place, ["serve", "--port", "0"]);
  await receiver.untilReceived(3, { timeoutMs: DELIVERY_LEASE_MS });
  const tookMs = performance.now() - startedAt;
  server.kill("SIGTERM");
  const { code, stderr } = await server.output();
  assert.equal(code, 0, new TextDecoder().decode(stderr));
  assert.ok(tookMs < DELIVERY_LEASE_MS, `it took ${tookMs} ms`);
  const ids = receiver.received.map(({ webhookId }) => webhookId);
  assert.equal(ids[1], ids[0], "the one that may have arrived is sent again");
  assert.equal(receiver.received[1]!.body, receiver.received[0]!.body);
  assert.notEqual(ids[2], ids[0], "and then the other one of this run, for the first time");
  assert.deepEqual(await attemptsOf(place), ["delivered after 1", "delivered after 1"]);
});

Deno.test("a run waits for a webhook that hangs for at most the grace period, and the next command that writes delivers it", async () => {
  const { answer, letGo } = holdingAnswer();
  await using receiver = startWebhookReceiver(answer);
  await using place = await newPlace(receiver);
  const startedAt = performance.now();
  const { code, out, err } = await purser(place, ["run", "helper", "hello"]);
  const tookMs = performance.now() - startedAt;
  assert.deepEqual([code, out], [0, "You said: hello\n"], err);
  assert.ok(tookMs > GRACE_MS && tookMs < WEBHOOK_TIMEOUT_MS, `it took ${tookMs} ms`);
  const pending = {
    status: "pending",
    attempts: 1,
    error: "stopped before there was an answer",
    isLeased: false,
  };
  assert.deepEqual(await outboxOf(place), [pending]);

  letGo();
  assert.equal((await purser(place, CHANGE)).code, 0);
  assert.deepEqual(await attemptsOf(place), ["delivered after 2"]);
  const [first, second, ...more] = receiver.received.map(({ webhookId }) => webhookId);
  assert.deepEqual([second, more], [first, []]);
});

Deno.test("a run whose webhook is refused ends at once, and a command that writes delivers it after the wait", async () => {
  await using receiver = startWebhookReceiver();
  await using place = await newPlace(receiver);
  await receiver.refuse();
  const timeOf = async (args: string[]) => {
    const startedAt = performance.now();
    assert.equal((await purser(place, args)).code, 0);
    return performance.now() - startedAt;
  };
  const readMs = await timeOf(["agents", "list"]);
  const tookMs = await timeOf(["run", "helper", "hello"]);
  assert.ok(tookMs < GRACE_MS + 2 * readMs, `it took ${tookMs} ms, and a command that reads ${readMs} ms`);
  assert.deepEqual(await attemptsOf(place), ["pending after 1"]);
  assert.match((await outboxOf(place))[0]!.error ?? "", /refused/);

  receiver.listen();
  {
    await using store = await lookInto(place.env.PURSER_DB!);
    await store.write([{ sql: "UPDATE deliveries SET due_at = due_at - 7000 WHERE status = 'pending'" }]);
  }
  assert.equal((await purser(place, CHANGE)).code, 0);
  assert.equal(receiver.received.length, 1);
  assert.deepEqual(await attemptsOf(place), ["delivered after 2"]);
});

/** A sandbox for the real CLI with one agent, and a rule that fires with every call of it. */
async function newPlace({ url }: WebhookReceiver): Promise<Place> {
  const place = await newCliPlace();
  const db = place.env.PURSER_DB!;
  const core = await openCore({ config: configOf(db) });
  await defineAgent(core, {
    ...AGENT_DEFAULTS,
    agentId: "helper",
    model: "demo:echo",
    tools: ["calculator"],
  });
  await createRule(core, {
    name: "Every call",
    threshold_type: "per_run_usd",
    threshold_usd: 0.000_000_001,
    severity: "warning",
    cooldown_seconds: 0,
  });
  await core.close();
  place.env.PURSER_CONFIG = `${place.folder}/purser.json`;
  await Deno.writeTextFile(
    place.env.PURSER_CONFIG,
    JSON.stringify({
      channels: [{ kind: "webhook", name: CHANNEL, url, timeout_ms: WEBHOOK_TIMEOUT_MS }],
      allow_private_networks: ["127.0.0.0/8"],
    }),
  );
  return place;
}

async function outboxOf({ env }: Place) {
  await using store = await lookInto(env.PURSER_DB!);
  return (await readOutbox(store)).map(({ status, attempts, error, isLeased }) => ({
    status,
    attempts,
    error,
    isLeased,
  }));
}

async function attemptsOf(place: Place): Promise<string[]> {
  return (await outboxOf(place)).map(({ status, attempts }) => `${status} after ${attempts}`).sort();
}
