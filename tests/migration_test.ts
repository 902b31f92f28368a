import assert from "node:assert/strict";
import { bookLooseCalls, rollUp } from "../src/calls/mod.ts";
import { systemClock } from "../src/kernel/clock.ts";
import { databaseLogic } from "../src/service/parts.ts";
import { listCosts } from "../src/ledger/mod.ts";
import { migrate } from "../src/store/schema/migrate.ts";
import { type Migration, migrations } from "../src/store/migrations/migrations.ts";
import { chunkOf } from "../src/store/migrations/m0006_positions.ts";
import { ConstraintError, installLogic, type Store } from "../src/store/mod.ts";
import { createBooking } from "./harness/booking.ts";
import { checkTotals } from "./harness/check_books.ts";
import { databaseKinds, type TestDatabase } from "./harness/databases.ts";
import { modelCall } from "./harness/model_calls.ts";
import {
  fillOldDatabase,
  OLD_VERSION,
  oldBooking,
  oldMigrations,
  readNewTotals,
  readOldTotals,
} from "./harness/old_database.ts";

const CALLS = 2_003;

/** The same steps with so many calls in a commit. */
const inChunksOf = (calls: number): Migration[] =>
  migrations.map((each) =>
    each.chunks ? { ...each, chunks: { ...each.chunks, statements: chunkOf(calls) } } : each
  );

const open = (database: TestDatabase) => database.open({ isMigrated: false });

async function openOld(database: TestDatabase, calls = CALLS) {
  const store = await open(database);
  await migrate(store, systemClock, oldMigrations);
  await fillOldDatabase(store, calls);
  return { store, before: await readOldTotals(store) };
}

/** Simulates a process that is killed before its nth commit from now on. */
function killedAfter(store: Store, commits: number): Pick<Store, "read" | "write"> & Store {
  return new Proxy(store, {
    get(target, name) {
      if (name === "write") {
        return (...args: Parameters<Store["write"]>) =>
          commits-- > 0 ? target.write(...args) : Promise.reject(new Error("killed"));
      }
      const value = Reflect.get(target, name, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

const versionsOf = async (store: Store) =>
  (await store.read({ sql: "SELECT version FROM purser_migrations ORDER BY version" })).rows.flat();

const namesOf = async (store: Store) =>
  (await store.read({ sql: "SELECT name FROM sqlite_schema WHERE name IS NOT NULL" })).rows
    .flat() as string[];

/** Checks that all data is unchanged in the new form. */
async function checkMigrated(store: Store, before: Awaited<ReturnType<typeof readOldTotals>>): Promise<void> {
  const after = await readNewTotals(store);
  for (const [what, rows] of Object.entries(before)) {
    assert.equal(after[what]!.length, rows.length, what);
    assert.deepEqual(after[what], rows, what);
  }
  await checkTotals(store);
  const left = (await namesOf(store)).filter((name) => /^spend_(?!counters)|without_position/.test(name));
  assert.deepEqual(left, []);
}

for (const kind of databaseKinds()) {
  const { name, ignore } = kind;

  const test = (sentence: string, body: (database: TestDatabase) => Promise<void>): void => {
    Deno.test({
      name: `${name}: ${sentence}`,
      ignore,
      async fn() {
        await using database = await kind.create();
        await body(database);
      },
    });
  };

  test("a new database is made in one commit, by one of several processes that start at once", async (database) => {
    const store = await open(database);
    await assert.rejects(migrate(killedAfter(store, 0), systemClock), /killed/);
    assert.deepEqual((await namesOf(store)).filter((name) => name === "calls"), []);
    const others = name === "memory" ? [] : [await open(database), await open(database)];
    await Promise.all([killedAfter(store, 1), ...others].map((each) => migrate(each, systemClock)));
    assert.deepEqual(await versionsOf(store), migrations.map(({ version }) => BigInt(version)));
  });

  test("a database of the previous schema is migrated with every total unchanged, and stays usable", async (database) => {
    const { store, before } = await openOld(database);
    assert.deepEqual([before.runs!.length, before.sessions!.length, before.totals!.length], [101, 51, 120]);
    assert.deepEqual(before.keptRuns, before.runs!.map((row) => row.slice(0, -5)));
    await migrate(store, systemClock);
    await installLogic(store, databaseLogic);
    await checkMigrated(store, before);
    assert.deepEqual(await versionsOf(store), migrations.map(({ version }) => BigInt(version)));
    const { rows: positions } = await store.read({
      sql: "SELECT name, position FROM rollup_positions ORDER BY 1",
    });
    assert.deepEqual(positions, [["decisions", BigInt(CALLS)], ["totals", BigInt(CALLS)]]);
    // Later bookings are added to it; rules evaluate new calls only, and all earlier spend.
    const ctx = await createBooking(store, { clock: systemClock });
    assert.deepEqual((await store.read({ sql: "SELECT * FROM alerts" })).rows, []);
    const [, runId] = before.runs!.map(([id]) => id as string);
    await bookLooseCalls(ctx, [
      modelCall({
        callId: "new",
        at: Number(before.calls!.at(-1)![2]),
        runId: runId!,
        agentId: "agent-1",
        costNanoUsd: 5n,
      }),
    ]);
    const { rows } = await store.read({ sql: "SELECT run_id, value_nano_usd FROM alerts" });
    assert.deepEqual(rows, [[runId, (before.runs![1]![9] as bigint) + 5n]]);
    await checkTotals(store);
    await rollUp(ctx);
    await checkTotals(store);
    const { rows: [last] } = await store.read({ sql: "SELECT max(position) FROM calls" });
    assert.deepEqual(last, [BigInt(CALLS + 1)]);
    const [row] = await listCosts(store, { groupBy: "agent", agentId: "agent-1", limit: 1, offset: 0 });
    const own = before.totals!.filter(([agent]) => agent === "agent-1");
    assert.equal(row!.model_calls, own.reduce((sum, [, , , calls]) => sum + Number(calls), 1));
  });

  test("an empty database of the previous schema is migrated", async (database) => {
    const { store, before } = await openOld(database, 0);
    await migrate(store, systemClock);
    await installLogic(store, databaseLogic);
    await checkMigrated(store, before);
  });

  test("a migration that was ended after any commit is continued by the next process", async (database) => {
    const { store: first, before } = await openOld(database, 403);
    const steps = inChunksOf(100);
    let store = first;
    // The new tables, five chunks, the old ledger's removal, and the steps after it.
    const commits = 7 + migrations.filter(({ version }) => version > 7).length;
    for (let commit = 1; commit <= commits; commit++) {
      const killed = migrate(killedAfter(store, 1), systemClock, steps);
      if (commit < commits) await assert.rejects(killed, /killed/);
      else await killed;
      if (name !== "memory") {
        await store.close();
        store = await open(database);
      }
      const { rows: [row] } = await store.read({
        sql: "SELECT count(*), coalesce(max(position), 0) FROM calls",
      });
      const over = commit === 1 ? 0n : BigInt(Math.min((commit - 1) * 100, 403));
      assert.deepEqual(row, [over, over]);
      await checkRolledUp(store, over);
    }
    await migrate(store, systemClock, steps);
    await installLogic(store, databaseLogic);
    await checkMigrated(store, before);
  });

  for (const stopAfter of [0, 1, 3]) {
    test(`several processes that migrate at once after ${stopAfter} commits migrate each call once`, async (database) => {
      const { store, before } = await openOld(database, 1_003);
      const steps = inChunksOf(50);
      if (stopAfter > 0) {
        await assert.rejects(migrate(killedAfter(store, stopAfter), systemClock, steps), /killed/);
      }
      const stores = [store];
      const others = { file: 3, sqld: 1, memory: 0 }[name];
      for (let i = 0; i < others; i++) stores.push(await open(database));
      await Promise.all([...stores, ...stores].map((each) => migrate(each, systemClock, steps)));
      await Promise.all(stores.map((each) => installLogic(each, databaseLogic)));
      for (const each of stores) await checkMigrated(each, before);
      assert.deepEqual(await versionsOf(store), migrations.map(({ version }) => BigInt(version)));
    });
  }

  test("a process that has migrated books while another one is still migrating", async (database) => {
    if (name === "memory") return;
    const { store: slow, before } = await openOld(database, 503);
    const steps = inChunksOf(50);
    const fast = await open(database);
    let isFinished = false;
    // Before its third commit, the other process overtakes it, and books.
    let commits = 0;
    const overtaken = new Proxy(slow, {
      get(target, name) {
        if (name === "write") {
          return async (...args: Parameters<Store["write"]>) => {
            if (++commits === 3) {
              await migrate(fast, systemClock, steps);
              await installLogic(fast, databaseLogic);
              await checkMigrated(fast, before);
              await bookLooseCalls(await createBooking(fast, { clock: systemClock }), [
                modelCall({ callId: "new" }),
              ]);
              isFinished = true;
            }
            return await target.write(...args);
          };
        }
        const value = Reflect.get(target, name, target);
        return typeof value === "function" ? value.bind(target) : value;
      },
    });
    await migrate(overtaken, systemClock, steps);
    assert.equal(isFinished, true);
    await installLogic(slow, databaseLogic);
    await checkTotals(slow);
    const { rows } = await slow.read({ sql: "SELECT count(*), max(position) FROM calls" });
    assert.deepEqual(rows, [[504n, 504n]]);
  });

  test("a running older program fails to book from the migration's first commit on", async (database) => {
    const { store, before } = await openOld(database, 203);
    await store.write(oldBooking("old 1"));
    const steps = inChunksOf(100);
    const expectRefused = async (callId: string) => {
      const [insert, upsert] = oldBooking(callId);
      for (const unit of [[insert!, upsert!], [insert!], [upsert!]]) {
        const error = await store.write(unit).then(() => undefined, (error) => error);
        // Not by a constraint: that program takes a constraint error for a call that is already booked.
        assert.ok(error instanceof Error && !(error instanceof ConstraintError), String(error));
      }
    };
    await assert.rejects(migrate(killedAfter(store, 1), systemClock, steps), /killed/);
    await expectRefused("old 2");
    await assert.rejects(migrate(killedAfter(store, 1), systemClock, steps), /killed/);
    await expectRefused("old 3");
    await migrate(store, systemClock, steps);
    await installLogic(store, databaseLogic);
    await expectRefused("old 4");
    await checkTotals(store);
    const { rows } = await store.read({
      sql: "SELECT count(*), count(*) FILTER (WHERE call_id = 'old 1') FROM calls",
    });
    assert.deepEqual(rows, [[BigInt(before.calls!.length + 1), 1n]]);
    // And it can't reopen the database.
    await assert.rejects(
      migrate(store, systemClock, oldMigrations),
      new RegExp(`knows up to ${OLD_VERSION}`),
    );
  });
}

/** While the migration runs, elapsed spans are rolled up, and nothing else. */
async function checkRolledUp(store: Store, over: bigint): Promise<void> {
  for (const table of ["usage_totals", "usage_days", "usage_hours"]) {
    const { rows } = await store.read({ sql: `SELECT coalesce(sum(model_calls), 0) FROM ${table}` });
    assert.deepEqual(rows, [[over]], table);
  }
}
