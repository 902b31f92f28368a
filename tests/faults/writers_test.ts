import assert from "node:assert/strict";
import { createRule, type RuleInput } from "../../src/alerts/mod.ts";
import { openCore } from "../../src/service/mod.ts";
import type { Store } from "../../src/store/mod.ts";
import { checkAllEnded, checkBooks } from "../harness/check_books.ts";
import { checkDecisions, logDecisions } from "../harness/decision_log.ts";
import { seededRandom } from "../harness/random.ts";
import { startWebhookReceiver, type WebhookReceiver } from "../harness/webhook_receiver.ts";
import { configOf } from "./alert_worker.ts";
import { lookInto, readOutbox, until } from "./alert_workers.ts";
import type { Line } from "./books_worker.ts";
import { type BooksWorker, checkPromises, countRunsOf, startBooksWorker } from "./books_workers.ts";

/** Several processes that write to one file at once, killed at any moment and replaced, while another one reads. */

/** The number of kills; `PURSER_WRITER_KILLS=100` for a thorough run. */
const KILLS = Number(Deno.env.get("PURSER_WRITER_KILLS") ?? 10);
/** The seed of the actions; their timing differs all the same. */
const SEED = Number(Deno.env.get("PURSER_SEED") ?? Math.floor(Math.random() * 1e9));
const WRITERS = 4;
const SPARE = 2;
const LONGEST_LIFE_MS = 900;

const once = { cooldown_seconds: 0, repeat: "once_per_window" } as const;
const RULES: RuleInput[] = [
  { name: "Run", threshold_type: "per_run_usd", threshold_usd: 0.000_1, severity: "info", ...once },
  {
    name: "Hour",
    threshold_type: "per_hour_usd",
    threshold_usd: 0.01,
    severity: "warning",
    cooldown_seconds: 1,
  },
  { name: "Once an hour", threshold_type: "per_hour_usd", threshold_usd: 0.02, severity: "warning", ...once },
  {
    ...{ name: "Session", threshold_type: "per_session_usd", threshold_usd: 0.003, severity: "warning" },
    ...{ cooldown_seconds: 1, agent_id: "agent-1" },
  },
  { name: "Month", threshold_type: "per_month_usd", threshold_usd: 0.001, severity: "critical" },
];

Deno.test(`${WRITERS} processes that write to one file, killed ${KILLS} times, neither lose nor repeat anything acknowledged`, async () => {
  console.log(`      PURSER_SEED=${SEED}`);
  const random = seededRandom(SEED);
  const folder = await Deno.makeTempDir({ prefix: "purser_writers_" });
  const db = `${folder}/books.db`;
  const base = Date.now();
  await using receiver = startWebhookReceiver();
  await setUp(db);
  const all: BooksWorker[] = [];
  const start = () => {
    const worker = startBooksWorker();
    all.push(worker);
    return worker;
  };
  let lives = 0;
  const open = async (worker: BooksWorker) => {
    const name = `w${++lives}`;
    assert.ok(await worker.order({ open: { db, name, hook: receiver.url } }));
    void worker.order({ work: { seed: SEED + lives, base, lanes: 3 } });
  };
  const reading = new AbortController();
  try {
    const spares = Array.from({ length: SPARE }, start);
    const writers = Array.from({ length: WRITERS }, start);
    await Promise.all(writers.map(open));
    await using store = await lookInto(db);
    const looks = readOn(store, reading.signal);
    looks.catch(() => {}); // reported below
    const dead: string[] = [];
    for (let kill = 0; kill < KILLS; kill++) {
      await new Promise((resolve) => setTimeout(resolve, random() * LONGEST_LIFE_MS));
      const index = Math.floor(random() * WRITERS);
      await writers[index]!.kill();
      dead.push(...writers[index]!.instances());
      writers[index] = spares.shift()!;
      spares.push(start());
      await open(writers[index]!);
      assert.equal(
        await countRunsOf(store, dead),
        0,
        "the next process ends the runs of those that were killed",
      );
    }
    await Promise.all(writers.map((worker) => worker.order({ rest: true })));
    reading.abort();
    const seen = await looks;
    for (const worker of writers) assert.ok(await worker.order({ close: { sweeps: false } }));
    // The next process recovers what the killed ones have left.
    await endReservations(store);
    await endWaits(store);
    const last = spares.shift()!;
    assert.ok(await last.order({ open: { db, name: "last", hook: receiver.url } }));
    await until("all is delivered", async () => {
      const { rows } = await store.read({ sql: "SELECT count(*) FROM deliveries WHERE status = 'pending'" });
      return rows[0]![0] === 0n;
    });
    assert.ok(await last.order({ close: { sweeps: true } }));
    for (const worker of spares) await worker.kill();
    const lines = all.flatMap(({ said }) => said);
    await check(store, { lines, base, receiver, seen });
    await store.close();
    assert.deepEqual(
      [...Deno.readDirSync(folder)].map(({ name }) => name),
      ["books.db"],
      "nothing is left beside it",
    );
  } finally {
    reading.abort();
    await Promise.all(all.map((worker) => worker.kill()));
    await Deno.remove(folder, { recursive: true });
  }
});

async function setUp(db: string): Promise<void> {
  const core = await openCore({ config: configOf(db) });
  await logDecisions(core.store);
  for (const rule of RULES) await createRule(core, rule);
  await core.close();
}

/** Reads repeatedly from this process, which writes nothing; returns the number of reads. */
async function readOn(store: Store, signal: AbortSignal): Promise<number> {
  let looks = 0;
  for (; !signal.aborted; looks++) {
    const begun = performance.now();
    await checkBooks(store);
    // Reads take longer as the books grow, and keep this process from its kills.
    await new Promise((resolve) => setTimeout(resolve, 50 + 2 * (performance.now() - begun)));
  }
  return looks;
}

/** Makes the leases of reservations of killed processes expire: the next sweep releases them. */
async function endReservations(store: Store): Promise<void> {
  await store.write([{
    sql: "UPDATE reservations SET expires_at = 1 WHERE scope NOT IN (SELECT run_id FROM runs)",
  }]);
}

/** Makes deliveries that were cut off with their process due at once, so that no test waits for them. */
async function endWaits(store: Store): Promise<void> {
  await store.write([{
    sql: "UPDATE deliveries SET due_at = 0, lost_claims = 0 WHERE status = 'pending'",
  }]);
}

async function check(
  store: Store,
  { lines, base, receiver, seen }: {
    lines: readonly Line[];
    base: number;
    receiver: WebhookReceiver;
    seen: number;
  },
): Promise<void> {
  const [integrity] = (await store.read({ sql: "PRAGMA integrity_check" })).rows;
  assert.deepEqual(integrity, ["ok"]);
  assert.deepEqual((await store.read({ sql: "PRAGMA foreign_key_check" })).rows, []);
  const promised = await checkPromises(store, lines, base);
  const { decisions, alerts } = await checkDecisions(store);
  const { rows } = await store.read({ sql: "SELECT count(*) FROM calls" });
  assert.equal(BigInt(decisions), rows[0]![0], "each call is evaluated");
  assert.equal(promised.alerts <= alerts, true, "an alert is published once at most");
  await checkAllEnded(store);
  const outbox = await readOutbox(store, "ops");
  const sent = Map.groupBy(receiver.received, ({ webhookId }) => webhookId);
  for (const { id, status } of outbox) {
    assert.equal(status, "delivered");
    assert.ok(sent.has(id), `delivery ${id} has arrived`);
  }
  assert.equal(sent.size, alerts, "each alert arrives");
  const doubled = receiver.received.length - sent.size;
  assert.ok(doubled <= KILLS, `a kill repeats one webhook at most: ${doubled}`);
  console.log(
    `      ${KILLS} kills, ${decisions} calls (${promised.calls} published, ${promised.reported} reported, ` +
      `${promised.runs} runs), ${alerts} alerts, ${doubled} webhooks doubled, ${seen} looks`,
  );
}
