import assert from "node:assert/strict";
import type { RuleInCode } from "../../src/alerts/mod.ts";
import { DATABASE_NOW, type Store } from "../../src/store/mod.ts";
import { serverKindsInTime } from "../harness/database_servers.ts";
import { seededRandom } from "../harness/random.ts";
import { startWebhookReceiver, type WebhookReceiver } from "../harness/webhook_receiver.ts";
import type { Moment } from "./alert_worker.ts";
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
const SERVER_KILLS = 4;
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
type Aim = Exclude<Moment, "stated"> | "sent" | "any";
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

for (const { name, ignore, start } of serverKindsInTime) {
  Deno.test({
    name:
      `processes on ${name}, killed ${SERVER_KILLS} times, leave their deliveries to another one once their leases have expired`,
    ignore,
    async fn() {
      await using server = await start(false);
      await using receiver = startWebhookReceiver();
      await using survivor = startWorker();
      const db = server.url;
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
        for (let number = 0; number < SERVER_KILLS; number++) {
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
}

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
    sql: `UPDATE deliveries SET lease_until = ${DATABASE_NOW} - 1 WHERE lease_until > 0`,
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
