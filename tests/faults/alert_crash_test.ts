import { AGENT_DEFAULTS } from "../../src/contract/limits.ts";
import assert from "node:assert/strict";
import { defineAgent } from "../../src/agents/mod.ts";
import { createRule, type RuleInCode } from "../../src/alerts/mod.ts";
import { DELIVERY_LEASE_MS } from "../../src/delivery/claim_delivery.ts";
import { openCore } from "../../src/service/mod.ts";
import type { Store } from "../../src/store/mod.ts";
import { newPlace as newCliPlace, type Place, purser, start } from "../harness/cli_process.ts";
import { seededRandom } from "../harness/random.ts";
import { skipSqld, startSqld } from "../harness/sqld.ts";
import { holdingAnswer, startWebhookReceiver, type WebhookReceiver } from "../harness/webhook_receiver.ts";
import { CHANNEL, configOf, type Moment } from "./alert_worker.ts";
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
} from "./alert_workers.ts";

const KILLS = Number(Deno.env.get("PURSER_KILLS") ?? 6);
const SQLD_KILLS = 4;
const RUNS_PER_LIFE = 10;
const TIMEOUT_MS = 30_000;
/** The time that a process is assumed to spend on its runs until one has been measured. */
const GUESSED_MS = 300;

/** Most runs exceed it, with their first call or their second. */
const PER_RUN: RuleInCode = {
  rule_id: "rule_per_run",
  name: "Each run once",
  threshold_type: "per_run_usd",
  threshold_usd: 0.000_1,
  severity: "warning",
  cooldown_seconds: 0,
  repeat: "once_per_window",
};
/** Fires with the first call, and never again. */
const RESTING: RuleInCode = {
  rule_id: "rule_resting",
  name: "Once in a year",
  threshold_type: "per_month_usd",
  threshold_usd: 0.000_000_001,
  severity: "critical",
  cooldown_seconds: 31_536_000,
};
const RULES = [PER_RUN, RESTING];

/**
 * The moment of a kill: by the process itself at a step, while the receiver holds one of its webhooks unanswered, or at
 * any time after the database was opened.
 */
type Aim = Moment | "sent" | "any";
const AIMS: Aim[] = ["claimed", "sent", "any", "answered", "any", "booked"];
/** The number of its webhooks that have to be sent again, at least and at most. */
const DOUBLED: Record<Aim, [number, number]> = {
  booked: [0, 1],
  claimed: [0, 0],
  sent: [1, 1],
  answered: [1, 1],
  any: [0, 1],
};

/** A process that was killed, or exited successfully. */
interface Life {
  name: string;
  worker: Worker;
  aim?: Aim;
}

Deno.test(`processes on a file, killed ${KILLS} times, lose no alert and repeat at most one webhook each`, async () => {
  const folder = await Deno.makeTempDir({ prefix: "purser_alert_crash_" });
  const db = `${folder}/books.db`;
  await using receiver = startWebhookReceiver();
  const random = seededRandom(2026);
  const lives: Life[] = [];
  let typicalMs = GUESSED_MS;
  let next = startWorker();
  try {
    for (let number = 0; number < KILLS; number++) {
      await using worker = next;
      next = startWorker(); // it loads its modules meanwhile
      const life = { name: `worker-${number}`, worker, aim: AIMS[number % AIMS.length]! };
      lives.push(life);
      const delayMs = 1.1 * random() * typicalMs;
      const timer = life.aim === "any" ? setTimeout(worker.kill, delayMs) : undefined;
      worker.order({ open: { db, url: receiver.url, name: life.name, rules: RULES } });
      const startedAt = performance.now();
      await kill(
        life,
        { receiver, turn: 1 + Math.floor(random() * 4), first: number * RUNS_PER_LIFE },
        () => {
          typicalMs = performance.now() - startedAt;
        },
      );
      clearTimeout(timer);
    }
    await endWaits(db);
    const last = { name: "last", worker: next };
    lives.push(last);
    receiver.answer = () => 204;
    next.order({ open: { db, url: receiver.url, name: last.name, rules: RULES } });
    next.order({ run: { first: KILLS * RUNS_PER_LIFE, count: 1 } });
    next.order({ drain: true });
    next.order({ close: true });
    assert.ok(await next.ended);
    await using store = await lookInto(db);
    await check(store, receiver, lives);
  } finally {
    await next[Symbol.asyncDispose]();
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test({
  name:
    `processes on sqld, killed ${SQLD_KILLS} times, leave their deliveries to another one once their leases have expired`,
  ignore: skipSqld,
  async fn() {
    await using sqld = await startSqld();
    await using receiver = startWebhookReceiver();
    await using survivor = startWorker();
    const db = sqld.url;
    const lives: Life[] = [];
    let first = 0;
    const open = (name: string) => ({ open: { db, url: receiver.url, name, rules: RULES } });
    // One of five runs in a row costs enough to fire, which wakes the survivor.
    const wake = async () => {
      assert.ok(await survivor.order({ run: { first, count: 5 } }));
      first += 5;
    };
    assert.ok(await survivor.order(open("survivor")));
    await using store = await lookInto(db);
    let next = startWorker();
    try {
      for (let number = 0; number < SQLD_KILLS; number++) {
        await using worker = next;
        next = startWorker();
        const aim = AIMS.filter((aim) => aim !== "any")[number % 4]!;
        const life = { name: `worker-${number}`, worker, aim };
        lives.push(life);
        worker.order(open(life.name));
        await kill(life, { receiver, turn: 1 + number % 3, first });
        first += RUNS_PER_LIFE;

        const held = (await readOutbox(store)).filter(({ isLeased }) => isLeased).map(({ id }) => id);
        assert.ok(held.length <= 1, "one at a time");
        if (aim !== "booked") assert.equal(held.length, 1, `${aim}: it has left its lease`);
        const sent = () => receiver.received.filter(({ webhookId }) => held.includes(webhookId)).length;
        const sentBefore = sent();
        receiver.answer = () => 204;
        await wake();
        await until("all is delivered but what is leased", async () => {
          const pending = (await readOutbox(store)).filter(({ status }) => status === "pending");
          return pending.every(({ id }) => held.includes(id));
        });
        assert.equal(sent(), sentBefore, "no process claims what another one may be sending");

        await endLeases(store);
        await wake();
        await until("all is delivered", async () => (await readOutbox(store)).every(isDelivered));
      }
    } finally {
      await next[Symbol.asyncDispose]();
    }
    lives.push({ name: "survivor", worker: survivor });
    survivor.order({ drain: true });
    survivor.order({ close: true });
    assert.ok(await survivor.ended);
    await check(store, receiver, lives);
  },
});

/** Lets a worker run until its planned end; `onRan` is called should its runs end before. */
async function kill(
  { name, worker, aim }: Life,
  { receiver, turn, first }: { receiver: WebhookReceiver; turn: number; first: number },
  onRan = () => {},
): Promise<void> {
  let webhooks = 0;
  receiver.answer = async ({ headers }) => {
    const isAim = aim === "sent" && headers.get("x-worker") === name && ++webhooks === turn;
    if (!isAim) return 204;
    worker.kill();
    return await new Promise(() => {});
  };
  const moment = aim === "sent" || aim === "any" ? undefined : aim;
  const ran = worker.order({
    run: { first, count: RUNS_PER_LIFE, kill: moment && { moment, turn } },
  });
  ran.then((isDone) => isDone && onRan());
  const timer = setTimeout(worker.kill, TIMEOUT_MS);
  const startedAt = performance.now();
  await worker.ended;
  clearTimeout(timer);
  assert.ok(performance.now() < startedAt + TIMEOUT_MS, `${name} reaches ${aim}, the ${turn}th`);
  if (moment) assert.equal(worker.said.at(-1)?.dies, moment, `${name} ends where planned`);
}

/** Makes the leases of the dead process expire, and ends the waits of deliveries that were cut off more than once. */
async function endWaits(db: string): Promise<void> {
  await using store = await lookInto(db);
  await store.write([{
    sql: "UPDATE deliveries SET due_at = 0, lost_claims = 0 WHERE status = 'pending'",
  }]);
}

async function endLeases(store: Store): Promise<void> {
  await store.write([{
    sql:
      "UPDATE deliveries SET lease_until = CAST(unixepoch('subsec') * 1000 AS INTEGER) - 1 WHERE lease_until > 0",
  }]);
}

const isDelivered = ({ status }: { status: string }) => status === "delivered";

async function check(store: Store, { received }: WebhookReceiver, lives: readonly Life[]): Promise<void> {
  const said = lives.flatMap(({ worker }) => worker.said);
  const ledger = await readLedger(store);
  const booked = new Set(ledger.map(({ callId }) => callId));
  assert.deepEqual(
    said.filter(({ call }) => call && !booked.has(call)),
    [],
    "no acknowledged call is lost",
  );

  const alerts = await readAlerts(store);
  const fired = new Set(alerts.map(({ alertId }) => alertId));
  assert.equal(fired.size, alerts.length);
  assert.deepEqual(said.filter(({ alert }) => alert && !fired.has(alert)), [], "nor an alert");
  assert.deepEqual(
    alerts.map(({ alertId: _, ...alert }) => alert),
    replay(await readRules(store), ledger),
    "the alerts are those that the pure model finds in the ledger",
  );

  const outbox = await readOutbox(store);
  for (const deliveries of [outbox, await readOutbox(store, "log")]) {
    assert.deepEqual(deliveries.map(({ alert }) => alert).sort(), [...fired].sort());
    assert.ok(deliveries.every(isDelivered));
    assert.ok(deliveries.every(({ attempts }) => attempts === 1), "a kill costs no attempt");
    const lost = deliveries.reduce((sum, { lostClaims }) => sum + lostClaims, 0);
    assert.ok(lost <= lives.length - 1, "and one claim at most");
  }
  const sent = Map.groupBy(received, ({ webhookId }) => webhookId);
  assert.deepEqual([...sent.keys()].sort(), outbox.map(({ id }) => id).sort(), "every alert has arrived");
  const alertOf = new Map(outbox.map(({ id, alert }) => [id, alert]));
  const doubled = new Map(lives.map(({ name }) => [name, 0]));
  for (const [id, webhooks] of sent) {
    assert.equal(new Set(webhooks.map(({ body }) => body)).size, 1, "what arrives twice is the same");
    assert.equal(JSON.parse(webhooks[0]!.body).data.alert_id, alertOf.get(id));
    const senders = webhooks.map(({ headers }) => headers.get("x-worker")!);
    assert.equal(new Set(senders).size, senders.length, "no process sends one twice");
    for (const name of senders.slice(0, -1)) doubled.set(name, doubled.get(name)! + 1);
  }
  for (const { name, aim } of lives) {
    const [least, most] = aim ? DOUBLED[aim] : [0, 0];
    const times = doubled.get(name)!;
    assert.ok(times >= least && times <= most, `${name}, killed at ${aim}: ${times} are doubled`);
  }
  const again = received.length - sent.size;
  assert.ok(again <= lives.length - 1);
  const retried = outbox.filter(({ lostClaims }) => lostClaims > 0).length;
  console.log(
    `      ${
      lives.length - 1
    } kills, ${ledger.length} calls, ${fired.size} alerts, ${again} webhooks doubled, ` +
      `${retried} deliveries resumed`,
  );
}

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
