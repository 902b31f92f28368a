import assert from "node:assert/strict";
import { listReleases, releaseHolds } from "../src/budgets/reservations/mod.ts";
import type { Statement, Store } from "../src/store/mod.ts";
import { createBooking } from "./harness/booking.ts";
import { dialectKinds } from "./harness/databases.ts";
import { one, testOver } from "./harness/store_tests.ts";

/** Releases of what a strict budget holds for calls that are not in progress. */

const DAY =
  `INSERT INTO budgets (budget_id, name, limit_nano_usd, per, scope, mode, action, warn_at, allow_unpriced, enabled,
  created_at, updated_at) VALUES ('bud_day', 'Day', 1000, 'day', '', 'strict', 'refuse', '[]', 0, 1, 0, 0)`;

const HOLD =
  `INSERT INTO reservations (scope, at, reservation_id, worst_nano_usd, estimate_nano_usd, strictness, expires_at,
  is_held, agent_id) VALUES ('', ?, 'inst_1/req_1', 5, 0, 2, 0, 1, 'a')`;

/** Returns the context of a process with a budget that holds the worst case of one call. */
async function holding(store: Store) {
  const ctx = await createBooking(store);
  await store.write([{ sql: DAY }, { sql: HOLD, args: [ctx.clock.now()] }]);
  return ctx;
}

for (const kind of dialectKinds()) {
  const test = testOver(kind);

  test("of two releases at once of what a budget holds, one is made", async (store) => {
    const ctx = await holding(store);
    const outcomes = await Promise.allSettled(
      ["not billed", "not billed either"].map((reason) => releaseHolds(ctx, "bud_day", { reason })),
    );
    assert.deepEqual(outcomes.map(({ status }) => status).sort(), ["fulfilled", "rejected"]);
    const refused = outcomes.find((outcome) => outcome.status === "rejected");
    assert.match(String(refused!.reason), /it holds nothing for calls that are not in progress/);
    const releases = await listReleases(ctx, "bud_day", { limit: 10 });
    assert.deepEqual(releases.map(({ released_usd }) => released_usd), [0.000000005]);
    const { rows } = await store.read({
      sql: "SELECT action, kind, subject_id, subject_name, before, after FROM audit_entries",
    });
    const [release] = releases;
    assert.deepEqual(rows, [[
      "released",
      "budget",
      "bud_day",
      "Day",
      null,
      JSON.stringify({
        release_id: release!.release_id,
        reservation_ids: ["inst_1/req_1"],
        released_usd: 0.000000005,
        reason: release!.reason,
      }),
    ]], "the one that is made is in the audit log, the other is not");
  });

  test("nothing is released of a call that has been booked since it was read", async (store) => {
    const ctx = await holding(store);
    let hasBooked = false;
    const booking = {
      read: (statement: Statement) => store.read(statement),
      async write(statements: readonly Statement[]) {
        if (!hasBooked) await store.write([{ sql: "DELETE FROM reservations" }]);
        hasBooked = true;
        return await store.write(statements);
      },
    } as Store;
    await assert.rejects(
      releaseHolds({ ...ctx, store: booking }, "bud_day", { reason: "not billed" }),
      /it holds nothing for calls that are not in progress/,
    );
    assert.equal(await one(store, "SELECT count(*) FROM budget_releases"), 0n);
  });
}
