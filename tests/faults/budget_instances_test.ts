import assert from "node:assert/strict";
import { setTimeout } from "node:timers/promises";
import { bookLooseCalls } from "../../src/calls/mod.ts";
import { shapesOf } from "../../src/budgets/budget_fields.ts";
import { sweepReservations } from "../../src/budgets/reservations/mod.ts";
import { addShapes } from "../../src/ledger/mod.ts";
import { readEnvironment } from "../../src/config/mod.ts";
import { DATABASE_NOW, type Store } from "../../src/store/mod.ts";
import { createBooking } from "../harness/booking.ts";
import {
  createShared,
  serverKindsInTime,
  sharedInTime,
  type SharedWhere,
} from "../harness/database_servers.ts";
import { modelCall } from "../harness/model_calls.ts";
import { seededRandom } from "../harness/random.ts";
import {
  type CallsDone,
  type CallsOrder,
  costOf,
  MAX_OUTPUT_TOKENS,
  NOON,
  openDatabase,
} from "./budget_calls_worker.ts";
import { startWorker, type Worker } from "./budget_calls_workers.ts";

/**
 * Real processes share budgets over one database, and are killed. PURSER_BUDGET_KILLS sets the number of histories of each number
 * of processes, PURSER_BUDGET_CALLS that of the calls at once against a budget that is nearly spent, PURSER_BUDGET_SEED other histories.
 */

const { PURSER_BUDGET_KILLS, PURSER_BUDGET_CALLS = "48", PURSER_BUDGET_SEED = "20261123" } =
  readEnvironment();

const CALL = costOf(MAX_OUTPUT_TOKENS);

interface Limit {
  id: string;
  limit: bigint;
  per: string;
  scope: string;
  each?: string;
  shape?: string;
  mode?: "stop" | "strict";
}

async function addBudgets(store: Store, budgets: readonly Limit[]): Promise<void> {
  const shapes = budgets.flatMap(({ scope, shape = null }) => shapesOf({ scope, shape }));
  await store.write([
    ...addShapes(shapes, NOON),
    ...budgets.map(({ id, limit, per, scope, each = null, shape = null, mode = "strict" }) => ({
      sql:
        `INSERT INTO budgets (budget_id, name, limit_nano_usd, per, scope, each, shape, mode, action, warn_at, allow_unpriced,
        enabled, created_at, updated_at) VALUES (?1, ?1, ?2, ?3, ?4, ?5, ?6, ?7, 'refuse', '[0.8, 1]', 0, 1, 0, 0)`,
      args: [id, limit, per, scope, each, shape, mode],
    })),
  ]);
}

const sum = async (store: Store, condition: string) =>
  (await store.read({ sql: `SELECT coalesce(sum(cost_nano_usd), 0) FROM calls WHERE ${condition}` }))
    .rows[0]![0] as bigint;

/** SQL for the process that holds a reservation. */
const HOLDER = "substr(reservation_id, 1, instr(reservation_id, '/') - 1)";

/**
 * Returns the sums that count in a scope: those of calls in progress, and what is held for good, which is the worst of calls that
 * were lost and of calls that killed processes have left.
 */
async function held(store: Store, scope: string, killed: readonly string[] = []) {
  const { rows } = await store.read({
    sql: `SELECT coalesce(sum(CASE WHEN gone THEN 0 ELSE worst_nano_usd END), 0),
      coalesce(sum(CASE WHEN gone THEN worst_nano_usd ELSE 0 END), 0),
      count(CASE WHEN gone AND is_lost = 0 AND NOT is_of_killed THEN 1 END)
      FROM (SELECT k.*, (is_lost = 1 OR is_held = 1 AND (is_of_killed OR expires_at <= ${DATABASE_NOW})) AS gone
        FROM (SELECT r.*, (${HOLDER} IN (SELECT value FROM json_each(?2))) AS is_of_killed FROM reservations r) k) h
      WHERE scope = ?1`,
    args: [scope, JSON.stringify(killed)],
  });
  const [open, kept, ofOthers] = rows[0] as [bigint, bigint, bigint];
  return { open, kept, ofOthers };
}

/** The figures of many histories. */
interface Figures {
  histories: number;
  made: number;
  refused: number;
  killed: number;
}

/**
 * Ends the leases of killed processes until it is disposed of. On a file a lock shows that a process is dead; on a server its
 * lease has to end: a minute passes. It does so again and again, since the server may commit late what was sent before the kill.
 */
function endLeases(store: Store, gone: readonly string[]): AsyncDisposable {
  const stopped = new AbortController();
  const ended = (async () => {
    while (!stopped.signal.aborted) {
      if (gone.length > 0) {
        await store.write([{
          sql: `UPDATE reservations SET expires_at = 1 WHERE is_lost = 0 AND expires_at <> 1
            AND ${HOLDER} IN (SELECT value FROM json_each(?))`,
          args: [JSON.stringify(gone)],
        }]);
      }
      await setTimeout(200, undefined, { signal: stopped.signal }).catch(() => {});
    }
  })();
  return {
    async [Symbol.asyncDispose]() {
      stopped.abort();
      await ended;
    },
  };
}

/** Carries out histories of one number of processes; those that were killed are replaced for the next. */
async function playHistories(
  { db, store, where }: Scene,
  { processes, histories, seed }: { processes: number; histories: number; seed: number },
): Promise<Figures> {
  const random = seededRandom(seed);
  const upTo = (most: number) => Math.floor(random() * (most + 1));
  const figures: Figures = { histories: 0, made: 0, refused: 0, killed: 0 };
  const workers: (Worker | undefined)[] = Array.from({ length: processes }, () => undefined);
  try {
    for (let number = 1; number <= histories; number++) {
      await Promise.all(
        workers.map(async (worker, index) => workers[index] = worker ?? await startWorker(db)),
      );
      const name = `p${processes}h${number}`;
      const [agentId, keyId] = [`agent_${name}`, `key_${name}`];
      const sessionIds = [`ses_${name}_1`, `ses_${name}_2`];
      const customers = [`acme_${name}`, `globex_${name}`];
      // Who has the tightest limit differs from history to history.
      const part = () => BigInt(5 + upTo(4));
      const calls = Math.ceil(48 / processes) + upTo(6);
      // Room for about half of the calls, which cost half of their bound.
      const limit = CALL * BigInt(Math.ceil(calls * processes / 8) + 1) + BigInt(upTo(1_000_000));
      const acme = `by tag:customer ${customers[0]}`;
      const tree = `by tree ${sessionIds[0]}`;
      const limits: Limit[] = [
        { id: `day_${name}`, limit, per: "day", scope: agentId },
        { id: `tree_${name}`, limit: limit * part() / 6n, per: "tree", scope: tree },
        { id: `acme_${name}`, limit: limit * part() / 12n, per: "day", scope: acme },
        {
          id: `customer_${name}`,
          limit: limit * part() / 12n,
          per: "hour",
          scope: agentId,
          each: "tag:customer",
          shape: "agent,tag:customer",
        },
        {
          id: `both_${name}`,
          limit: limit * part() / 12n,
          per: "lifetime",
          scope: `by key,tag:customer ${keyId} ${customers[1]}`,
        },
        { id: `week_${name}`, limit: limit * 5n / 4n, per: "week", scope: `key ${keyId}` },
        { id: `hour_${name}`, limit: limit * 3n / 4n, per: "hour", scope: agentId, each: "session" },
        { id: `stop_${name}`, limit: limit * 2n, per: "month", scope: agentId, mode: "stop" },
      ];
      await addBudgets(store, limits);
      const dying = workers.filter(() => random() < (processes === 1 ? 0.5 : 0.25)) as Worker[];
      const killed = dying.map(({ instanceId }) => instanceId);
      for (const worker of dying) worker.killAfter(1 + upTo(Math.ceil(calls / 4)));
      const atOnce = 1 + upTo(7);
      const gone: string[] = [];
      await using _passing = where === "file" ? undefined : endLeases(store, gone);
      const outcomes = await Promise.all(workers.map(async (worker, index) => {
        const outcome = await worker!.order({
          agentId,
          keyId,
          sessionIds,
          customers,
          calls,
          atOnce,
          seed: seed + number * 100 + index,
        });
        if (outcome) return outcome;
        const { instanceId } = worker!;
        workers[index] = undefined;
        figures.killed++;
        await worker![Symbol.asyncDispose]();
        gone.push(instanceId);
        return undefined;
      }));
      for (const worker of dying) worker.killAfter(Infinity);
      await sweepReservations({ store, instanceId: "inst_test" });
      const ofTag = (customer: string) => `agent_id = '${agentId}' AND tags ->> 'customer' = '${customer}'`;
      const counters: [scope: string, calls: string, budget: string][] = [
        [agentId, `agent_id = '${agentId}'`, "day"],
        [`key ${keyId}`, `key_id = '${keyId}'`, "week"],
        ...sessionIds.map((
          id,
        ): [string, string, string] => [`session ${id}`, `session_id = '${id}'`, "hour"]),
        [tree, `coalesce(root_session_id, session_id) = '${sessionIds[0]}'`, "tree"],
        [acme, ofTag(customers[0]!), "acme"],
        ...customers.map((customer): [string, string, string] => [
          `by agent,tag:customer ${agentId} ${customer}`,
          ofTag(customer),
          "customer",
        ]),
        [`by key,tag:customer ${keyId} ${customers[1]}`, ofTag(customers[1]!), "both"],
      ];
      for (const [scope, condition, budget] of counters) {
        const booked = await sum(store, condition);
        const { open, kept, ofOthers } = await held(store, scope, killed);
        assert.equal(open, 0n, `${name}: something is still reserved in ${scope}`);
        assert.equal(ofOthers, 0n, `${name}: a process that lives has left something in ${scope}`);
        const most = limits.find(({ id }) => id === `${budget}_${name}`)!.limit;
        assert.ok(booked + kept <= most, `${name}: ${booked} and ${kept} held of ${most} in ${scope}`);
      }
      for (const outcome of outcomes) {
        assert.deepEqual(outcome?.wrong ?? [], [], `${name}: refused while it fits`);
        figures.made += outcome?.made ?? 0;
        figures.refused += outcome?.refused ?? 0;
      }
      figures.histories++;
    }
  } finally {
    await Promise.all(workers.map((worker) => worker?.[Symbol.asyncDispose]()));
  }
  return figures;
}

interface Scene {
  db: string;
  store: Store;
  where: SharedWhere;
}

async function withDatabase(where: Scene["where"], body: (scene: Scene) => Promise<void>): Promise<void> {
  await using stack = new AsyncDisposableStack();
  const { db } = stack.use(await createShared(where));
  const store = await openDatabase(db);
  stack.defer(() => store.close());
  await body({ db, store, where });
}

for (const { where, ignore } of sharedInTime) {
  for (const processes of [1, 4, 16]) {
    // Sixteen processes take seconds to start, so that the gate has four, and one alone over a file.
    const inGate = processes === 4 || processes === 1 && where === "file";
    const histories = Number(PURSER_BUDGET_KILLS ?? (inGate ? (processes === 1 ? 2 : 1) : 0));
    Deno.test({
      name:
        `${where}: budgets of ${processes} processes that are killed are not overshot, and hold only what was in flight`,
      ignore: ignore || histories === 0,
      fn: () =>
        withDatabase(where, async (scene) => {
          const figures = await playHistories(scene, {
            processes,
            histories,
            seed: Number(PURSER_BUDGET_SEED) + processes,
          });
          if (PURSER_BUDGET_KILLS) console.log(JSON.stringify({ where, processes, ...figures }));
          assert.ok(figures.made > 0 && figures.refused > 0 && figures.killed > 0, JSON.stringify(figures));
        }),
    });
  }
}

/** Orders the same of several processes at once. */
async function orderAll(db: string, processes: number, order: CallsOrder): Promise<CallsDone> {
  const workers = await Promise.all(Array.from({ length: processes }, () => startWorker(db)));
  try {
    const all: CallsDone = { made: 0, refused: 0, wrong: [] };
    const outcomes = await Promise.all(
      workers.map((worker, index) => worker.order({ ...order, seed: order.seed + index })),
    );
    for (const { made, refused, wrong } of outcomes.map((outcome) => outcome!)) {
      all.made += made;
      all.refused += refused;
      all.wrong.push(...wrong);
    }
    return all;
  } finally {
    await Promise.all(workers.map((worker) => worker[Symbol.asyncDispose]()));
  }
}

const ORDER = { agentId: "agent", keyId: "key_1", sessionIds: ["ses_1"], seed: 7 };

for (const { name, ignore } of serverKindsInTime) {
  Deno.test({
    name: `${name}: many calls of four processes at once don't overshoot a strict day that is nearly spent`,
    ignore,
    fn: () =>
      withDatabase(name, async ({ db, store }) => {
        const calls = Number(PURSER_BUDGET_CALLS);
        const limit = 135_000_000n; // nine tenths are spent: the rest is less than the calls cost
        await addBudgets(store, [{ id: "day", limit, per: "day", scope: "" }]);
        const nearly = modelCall({ callId: "nearly", at: NOON, costNanoUsd: limit * 9n / 10n });
        await bookLooseCalls(await createBooking(store), [nearly]);
        const { made, refused, wrong } = await orderAll(db, 4, { ...ORDER, calls: calls / 4, atOnce: 16 });
        const spent = await sum(store, "true");
        const { open, kept } = await held(store, "");
        if (calls > 96) {
          console.log(
            JSON.stringify({ calls, made, refused, spent: Number(spent) / 1e9, held: Number(kept) / 1e9 }),
          );
        }
        assert.deepEqual([open, wrong], [0n, []]);
        assert.ok(made > 0 && refused > 0);
        assert.ok(spent + kept <= limit, `${spent} and ${kept} of ${limit}`);
        assert.ok(spent + kept + costOf(1) > limit, `${spent} and ${kept} of ${limit}: there was room`);
      }),
  });
}

for (
  const { where, ignore } of sharedInTime
) {
  const [processes, atOnce] = where === "file" ? [1, 1] : [4, 4];
  Deno.test({
    name: `${where}: a stop budget of ${processes * atOnce} callers is overshot by at most a call of each`,
    ignore,
    fn: () =>
      withDatabase(where, async ({ db, store }) => {
        const limit = CALL * 20n;
        await addBudgets(store, [{ id: "day", limit, per: "day", scope: "agent", mode: "stop" }]);
        const order = { ...ORDER, calls: 60 / processes, atOnce, isDearer: true };
        const { refused, wrong } = await orderAll(db, processes, order);
        const { rows } = await store.read({ sql: "SELECT cost_nano_usd FROM calls ORDER BY position" });
        const costs = rows.map(([cost]) => cost as bigint);
        const spent = costs.reduce((total, cost) => total + cost, 0n);
        assert.ok(refused > 0 && spent >= limit, `${spent} of ${limit}`);
        assert.deepEqual(wrong, []);
        // The calls of those that were in flight when the limit was reached, and that of the last one to reach it.
        let beyond = 0;
        for (let total = 0n, index = 0; index < costs.length; total += costs[index++]!) {
          if (total >= limit) beyond++;
        }
        assert.ok(beyond <= processes * atOnce - 1, `${beyond} calls beyond the limit`);
        assert.equal((await held(store, "agent")).open, 0n);
      }),
  });
}
