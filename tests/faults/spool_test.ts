import assert from "node:assert/strict";
import { listReleases, releaseHolds } from "../../src/budgets/reservations/mod.ts";
import { listHolds } from "../../src/budgets/reservations/holds.ts";
import { systemClock } from "../../src/kernel/clock.ts";
import { createIds } from "../../src/kernel/ids.ts";
import { createQuery, type Store, tables } from "../../src/store/mod.ts";
import { createBooking } from "../harness/booking.ts";
import { isThorough } from "../harness/thorough.ts";
import { sharedInTime, type SharedWhere } from "../harness/database_servers.ts";
import { checkBooked, openScene, spoolFiles, type SpoolWorker, until } from "./spool_scene.ts";
import { type Way, WAYS } from "./spool_worker.ts";

/**
 * A strict budget of $0.01 with four calls of up to $0.0024 in flight, while the ledger is taken away: by another process that
 * locks the file, or by a server that is frozen. Deadlines are shorter than usual.
 */

const CALLS = 4;

const readBudgets = (store: Store) => createQuery(store).select().from(tables.budgets);

const test = (name: string, where: SharedWhere, fn: () => Promise<void>) =>
  Deno.test({
    name: `${where}: ${name}`,
    ignore: sharedInTime.find((each) => each.where === where)!.ignore,
    fn,
  });

/** The ways of four calls: in a thorough run all by one of them. */
const WAYS_OF_CALLS: readonly (readonly Way[])[] = isThorough
  ? WAYS.map((way) => Array<Way>(CALLS).fill(way))
  : [["gateway", "stream", "stream", "meter"]];

/** Makes four calls, takes the ledger away while the provider has them, and returns their answers. */
async function callWithoutLedger(
  scene: Awaited<ReturnType<typeof openScene>>,
  workers: readonly SpoolWorker[],
  ways: readonly Way[],
) {
  for (const [index, way] of ways.entries()) await workers[index % workers.length]!.order({ way, calls: 1 });
  await scene.billed(CALLS);
  await scene.takeAway();
  scene.answer();
  return await Promise.all(
    workers.flatMap((worker) => Array.from({ length: CALLS / workers.length }, () => worker.next())),
  );
}

// The spool is the same for each database: the gate has time for a file.
for (const { where } of sharedInTime.filter(({ where }) => where === "file" || isThorough)) {
  for (const ways of WAYS_OF_CALLS) {
    const kinds = [...new Set(ways)];
    test(
      `calls by ${
        kinds.join(", ")
      } that can't be booked are answered, count against the limit, and are booked once`,
      where,
      async () => {
        await using scene = await openScene(where);
        const worker = await scene.start();
        const answers = await callWithoutLedger(scene, [worker], ways);
        for (const { text, error } of answers) assert.match(text ?? "", /\[DONE\]|Hello/, `${error}`);
        const streams = answers.filter(({ text }) => text!.includes("[DONE]"));
        assert.equal(streams.length, ways.filter((way) => way === "stream").length);
        assert.equal(spoolFiles(scene.folder).length, 1);
        const refused = async (pattern: RegExp) => {
          for (const way of kinds) await worker.order({ way, calls: 1 });
          for (const _ of kinds) assert.match((await worker.next()).error!, pattern);
          assert.equal(scene.provider.calls, CALLS);
        };
        await refused(/database/); // no call is made while the ledger is away
        scene.giveBack();
        await checkBooked(scene.store, CALLS);
        await refused(/strict budget/); // a fifth one does not fit
        const { rows } = await scene.store.read({ sql: "SELECT rule_id, severity FROM alerts" });
        assert.deepEqual(rows, [["bud_day", "warning"]], "the budget has warned once");
        await worker.end();
        assert.deepEqual(spoolFiles(scene.folder), []);
      },
    );
  }

  for (const moment of ["before", "while"] as const) {
    test(
      `calls in the spool of a process that is killed ${moment} the ledger takes them are booked once by the next, at their own time`,
      where,
      async () => {
        await using scene = await openScene(where);
        const worker = await scene.start();
        const before = Date.now();
        await callWithoutLedger(scene, [worker], Array<Way>(CALLS).fill("gateway"));
        const after = Date.now();
        if (moment === "before") await worker.kill();
        scene.giveBack();
        if (moment === "while") {
          await until(async () => (await scene.store.read({ sql: "SELECT 1 FROM calls" })).rows.length > 0);
          await worker.kill();
        }
        const others = await Promise.all([scene.start(), scene.start()]);
        await checkBooked(scene.store, CALLS);
        const { rows } = await scene.store.read({ sql: "SELECT min(at), max(at) FROM calls" });
        const [first, last] = rows[0]!.map(Number) as [number, number];
        assert.ok(before <= first && last <= after, "they have the time at which they were sent");
        await until(() => spoolFiles(scene.folder).length === 0);
        await Promise.all(others.map((other) => other.end()));
      },
    );
  }

  test(
    "what a strict budget reserves for calls of a killed process stays held, and is released with a reason",
    where,
    async () => {
      await using scene = await openScene(where);
      const { store } = scene;
      const worker = await scene.start();
      await worker.order({ way: "meter", calls: CALLS });
      await scene.billed(CALLS);
      await worker.kill();
      const [budget] = (await readBudgets(store)).filter(({ budgetId }) => budgetId === "bud_day");
      const clock = { now: () => Date.now() };
      if (where !== "file") {
        assert.deepEqual(await listHolds({ store, clock }, budget!), [], "its lease is not over");
        await store.write([{ sql: "UPDATE reservations SET expires_at = 1" }]); // a minute passes
      }
      const next = await scene.start();
      await next.order({ way: "meter", calls: 1 });
      assert.match((await next.next()).error!, /strict budget/, "no call takes its room");
      const holds = await listHolds({ store, clock }, budget!);
      assert.deepEqual(
        holds.map(({ reason, agent_id, run_id }) => [reason, agent_id, run_id?.slice(0, 4)]),
        Array.from({ length: CALLS }, () => ["unbooked", "metered", "run_"]),
      );
      assert.equal(scene.provider.calls, CALLS);
      const ctx = { ...await createBooking(store), ids: createIds(systemClock), clock: systemClock };
      const one = { reservation_id: holds[0]!.reservation_id, reason: "not on the bill" };
      const author = { actor: "key" as const, keyId: "key_1" };
      const release = await releaseHolds({ ...ctx, author }, "bud_day", one);
      assert.deepEqual([release.reservation_ids, release.key_id], [[one.reservation_id], "key_1"]);
      assert.equal(release.released_usd, holds[0]!.held_usd);
      await next.order({ way: "meter", calls: 1 });
      scene.answer();
      assert.equal((await next.next()).text, "Hello");
      await assert.rejects(releaseHolds(ctx, "bud_day", one), /doesn't hold it/);
      const rest = await releaseHolds(ctx, "bud_day", { reason: "the rest" });
      assert.equal(rest.reservation_ids.length, CALLS - 1);
      const releases = await listReleases(ctx, "bud_day", { limit: 10 });
      assert.deepEqual(releases.map(({ reason }) => reason), ["the rest", "not on the bill"]);
      await next.end();
      assert.equal((await store.read({ sql: "SELECT 1 FROM reservations" })).rows.length, 0);
    },
  );

  test("calls of four processes without their ledger are booked once, within the limit", where, async () => {
    await using scene = await openScene(where);
    const workers = await Promise.all(Array.from({ length: CALLS }, () => scene.start()));
    for (const { text, error } of await callWithoutLedger(scene, workers, Array<Way>(CALLS).fill("meter"))) {
      assert.ok(text?.includes("Hello"), `${error}`);
    }
    scene.giveBack();
    await checkBooked(scene.store, CALLS);
    await Promise.all(workers.map((worker) => worker.end()));
  });

  test("a run whose call can't be booked fails, and its call is booked once", where, async () => {
    await using scene = await openScene(where);
    const worker = await scene.start();
    await worker.order({ way: "run", calls: 1 });
    await scene.billed(1);
    await scene.takeAway();
    scene.answer();
    assert.match((await worker.next()).error!, /database/);
    scene.giveBack();
    await checkBooked(scene.store, 1);
    await until(async () =>
      (await scene.store.read({ sql: "SELECT 1 FROM runs WHERE status <> 'running' AND steps = 1" })).rows
        .length === 1
    );
    await worker.end();
  });
}
