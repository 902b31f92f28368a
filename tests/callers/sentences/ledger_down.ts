import assert from "node:assert/strict";
import { join } from "node:path";
import { reportCalls } from "../../../src/calls/mod.ts";
import { until } from "../../harness/deliveries.ts";
import { inDirectory } from "../../harness/in_directory.ts";
import { report } from "../../harness/booking_tests.ts";
import { answerFor, COST, isElsewhere, makesCalls, overOneWire, type Sentence } from "../sentence.ts";
import { MODEL, readRows, type World } from "../world.ts";

/** The calls that are made or reported while the ledger takes no writes. */
export const LEDGER_DOWN: readonly Sentence[] = [
  {
    says: "sends nothing while the ledger is known to take no writes",
    async check(caller, openWorld) {
      await using world = await openWorld();
      const { core } = world.purser;
      core.callSpool.isLedgerDown = true;
      const { write } = core.store;
      core.store.write = () => Promise.reject(new Error("no disk"));
      const outcome = await caller.call(world);
      core.store.write = write;
      assert.equal(outcome.isOk, false);
      assert.equal(world.fake.calls, 0);
    },
  },
  {
    says: "gives no answer that can't be booked, and logs its cost",
    async check(caller, openWorld) {
      await using world = await openWorld();
      const { store } = world.purser.core;
      const { writeInSet } = store;
      world.fake.onRequest = () => void (store.writeInSet = () => Promise.reject(new Error("no disk")));
      world.fake.enqueue(answerFor(caller));
      const outcome = await caller.call(world);
      store.writeInSet = writeInSet;
      assert.ok(!outcome.isOk);
      const [line, ...more] = world.purser.logs.filter(({ message }) =>
        message === "A model call was made and could not be booked"
      );
      assert.ok(line && more.length === 0, "logged once");
      assert.equal((line.fields.cost_event as { cost_usd: number }).cost_usd, 0.0014);
    },
  },
  {
    says: "books a call once that found the disk full, as soon as there is room",
    isOfSqlite: true,
    of: (caller) => makesCalls(caller) && overOneWire(caller),
    check: (caller, openWorld) =>
      inDirectory(async (folder) => {
        await using world = await openWorld({
          sqlite: undefined,
          config: { dbUrl: join(folder, "purser.db") },
        });
        const { clock, core } = world.purser;
        const full = Promise.withResolvers<void>();
        world.fake.onRequest = () => void fillDisk(world).then(full.resolve, full.reject);
        world.fake.enqueue({ ...answerFor(caller), after: full.promise });
        const { isOk } = await caller.call(world);
        assert.equal(isOk, caller.kind !== "run", "the answer goes out, and a run's end can't be stored");
        assert.equal(core.callSpool.kept().length, 1);
        assert.deepEqual(await costsOfModel(world), []);
        await emptyDisk(world);
        await until(() => {
          clock.advance(1_000);
          return core.callSpool.kept().length === 0;
        });
        assert.deepEqual(await costsOfModel(world), [[COST]]);
      }),
  },
  {
    says:
      "refuses a call that was made elsewhere while the disk is full, and books it once where it is told again",
    isOfSqlite: true,
    of: isElsewhere,
    async check(caller, openWorld) {
      await using world = await openWorld();
      await fillDisk(world);
      world.fake.enqueue(answerFor(caller), answerFor(caller), answerFor(caller));
      const outcome = await caller.call(world, { callId: "reported" });
      assert.ok(!outcome.isOk && outcome.code === "unavailable", JSON.stringify(outcome));
      assert.deepEqual(await costsOfModel(world), []);
      await emptyDisk(world);
      assert.deepEqual(await caller.call(world, { callId: "reported" }), { isOk: true });
      assert.deepEqual(await caller.call(world, { callId: "reported" }), { isOk: true });
      assert.deepEqual(await costsOfModel(world), [[COST]]);
    },
  },
];

const costsOfModel = (world: World) =>
  readRows(world, `SELECT cost_nano_usd FROM calls WHERE model = '${MODEL}'`);

/** Lets the database grow no further, and fills its last pages with calls of another model. */
async function fillDisk(world: World): Promise<void> {
  const { core } = world.purser;
  await core.store.write([{ sql: "PRAGMA max_page_count = 1" }]);
  for (let number = 0;; number++) {
    try {
      await reportCalls(core, "report", [
        report(`filler-${number}`, { model: "filler", at: core.clock.now() }),
      ]);
    } catch (error) {
      assert.match(String(error), /the disk is full/);
      return;
    }
  }
}

async function emptyDisk(world: World): Promise<void> {
  await world.purser.core.store.write([{ sql: "PRAGMA max_page_count = 1000000" }]);
}
