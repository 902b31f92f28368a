import assert from "node:assert/strict";
import {
  getRun,
  getSession,
  listSessionEvents,
  recoverRuns,
  renewLease,
  requestCancel,
  RUN_LEASE_MS,
} from "../src/sessions/mod.ts";
import { createQuery, DATABASE_NOW, type Store } from "../src/store/mod.ts";
import { beginRun, createBooking, type TestBooking } from "./harness/booking.ts";
import { databaseKinds } from "./harness/databases.ts";
import { eagerClock } from "./harness/eager_clock.ts";
import { bookAnswer, listMessages, logOf } from "./harness/sessions.ts";

/** Sessions of several instances on one server: leases, recovery, and cancellation from elsewhere. */

for (
  const kind of databaseKinds().filter(({ name }) => name === "sqld" || name === "postgres")
) {
  const { name, ignore } = kind;

  /** Two instances on one database. */
  const test = (sentence: string, body: (a: TestBooking, b: TestBooking) => Promise<void>): void => {
    Deno.test({
      name: `${name}: ${sentence}`,
      ignore,
      async fn() {
        await using database = await kind.create();
        const clock = eagerClock();
        const open = async () => await createBooking(await database.open({ clock }), { clock });
        await body(await open(), await open());
      },
    });
  };

  const leaseLeft = async (store: Store, runId: string) =>
    Number(
      (await store.read({
        sql: `SELECT lease_until - ${DATABASE_NOW} FROM runs WHERE run_id = ?`,
        args: [runId],
      })).rows[0]![0],
    );

  test("an instance that starts never touches the live runs of its peers", async (a, b) => {
    const live = await beginRun(a, { sessionId: "ses_live" });
    const dead = await beginRun(a, { sessionId: "ses_dead" });
    await a.store.write([
      {
        sql: `UPDATE runs SET lease_until = ${DATABASE_NOW} WHERE run_id = ?`,
        args: [dead.runId],
      },
      {
        sql:
          "INSERT INTO reservations (scope, at, reservation_id, worst_nano_usd, estimate_nano_usd, expires_at) VALUES ('run ' || ?, 0, 'r1', 1, 1, 9999999999999)",
        args: [live.runId],
      },
    ]);
    assert.deepEqual(await recoverRuns(b), [dead.runId]);
    assert.equal((await getRun(b, live.runId)).status, "running");
    assert.equal((await getSession(b, "ses_live")).active_run_id, live.runId);
    assert.equal((await a.store.read({ sql: "SELECT count(*) FROM reservations" })).rows[0]![0], 1n);
    assert.equal((await bookAnswer(a, live, "continues")).holdsSession, true);
  });

  test("of instances that recover at once, one recovers", async (a, b) => {
    const dead = await beginRun(a, { sessionId: "ses" });
    await a.store.write([{ sql: "UPDATE runs SET lease_until = 1" }]);
    await Promise.all([recoverRuns(a), recoverRuns(b), recoverRuns(a), recoverRuns(b)]);
    assert.deepEqual(await logOf(b, "ses"), ["session.created", "run.started", "run.interrupted"]);
    assert.equal((await getSession(b, "ses")).event_log_count, 3);
    assert.equal((await getRun(b, dead.runId)).status, "interrupted");
  });

  test("every renewal extends the lease, by the server's clock, and a booking does not", async (a) => {
    const place = await beginRun(a);
    const isFull = async () => {
      const left = await leaseLeft(a.store, place.runId);
      assert.ok(left > RUN_LEASE_MS / 2 && left <= RUN_LEASE_MS, String(left));
    };
    await isFull();
    await a.store.write([{ sql: "UPDATE runs SET lease_until = 1" }]);
    assert.equal((await bookAnswer(a, place, "one")).holdsSession, true);
    assert.ok(await leaseLeft(a.store, place.runId) < 0);
    for (let i = 0; i < 2; i++) {
      await renewLease(a, place);
      await isFull();
    }
  });

  test("two instances that start a run on one session at once: one starts", async (a, b) => {
    for (let round = 0; round < 5; round++) {
      const outcomes = await Promise.allSettled([
        beginRun(a, { sessionId: `ses_${round}` }),
        beginRun(b, { sessionId: `ses_${round}` }),
      ]);
      assert.deepEqual(outcomes.map((outcome) => outcome.status).sort(), ["fulfilled", "rejected"]);
      assert.deepEqual(await logOf(a, `ses_${round}`), ["session.created", "run.started"]);
    }
  });

  test("a cancellation from another instance reaches the run", async (a, b) => {
    const place = await beginRun(a);
    await requestCancel(b, place.runId);
    assert.equal((await renewLease(a, place)).isCancelRequested, true);
  });

  test("two instances that book into one session keep its log without gaps", async (a, b) => {
    const place = await beginRun(a, { sessionId: "ses" });
    await Promise.all(Array.from({ length: 20 }, (_, i) => bookAnswer(i % 2 ? a : b, place, String(i))));
    const log = await listSessionEvents({ query: createQuery(b.store) }, {
      sessionId: "ses",
      after: 0,
      limit: 100,
    });
    assert.deepEqual(log.map((event) => event.seq), Array.from({ length: 42 }, (_, i) => i + 1));
    assert.equal((await getSession(a, "ses")).event_log_count, 42);
    assert.equal((await listMessages(b, "ses")).length, 21);
  });
}
