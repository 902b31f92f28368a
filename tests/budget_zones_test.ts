import assert from "node:assert/strict";
import { bookLooseCalls, rollUp } from "../src/calls/mod.ts";
import { createBudget, listBudgets, removeBudget } from "../src/budgets/mod.ts";
import { ALL_SEEING } from "../src/ledger/mod.ts";
import { createBooking } from "./harness/booking.ts";
import { add, BUDGETS, DAY, read, spend } from "./harness/budget_requests.ts";
import { dialectKinds } from "./harness/databases.ts";
import { modelCall } from "./harness/model_calls.ts";
import { openTestPurser } from "./harness/test_purser.ts";

/** Budgets whose windows are those of a time zone, or begin on another day. The clock stands at noon of Sunday, 1 November 2026. */

const windowOf = ({ window_start, resets_at }: { window_start: string; resets_at: string | null }) =>
  [window_start, resets_at].map((time) => time?.slice(0, 16) ?? null);

Deno.test("a day in a time zone is one day, also one of 25 hours, and counts from before the budget existed", async () => {
  await using purser = await openTestPurser();
  await spend(purser, 1, { at: "2026-11-01T03:59:59.999Z" });
  await spend(purser, 2, { at: "2026-11-01T04:00:00.000Z" });
  // New York sets its clocks back in this night.
  const budget = await add(purser, { ...DAY, time_zone: "america/new_york" });
  assert.equal(budget.time_zone, "America/New_York");
  assert.deepEqual(windowOf(budget), ["2026-11-01T04:00", "2026-11-02T05:00"]);
  assert.equal(budget.spent_usd, 2);
  await spend(purser, 0.5, { at: "2026-11-01T11:00:00.000Z" });
  assert.equal((await read(purser, budget.budget_id)).spent_usd, 2.5);
  purser.clock.advance(16 * 3_600_000 + 59 * 60_000);
  assert.equal((await read(purser, budget.budget_id)).spent_usd, 2.5);
  purser.clock.advance(60_000);
  const next = await read(purser, budget.budget_id);
  assert.deepEqual([...windowOf(next), next.spent_usd], ["2026-11-02T05:00", "2026-11-03T05:00", 0]);
});

Deno.test("weeks, months and quarters begin where the budget says; 30 days move, and have no end", async () => {
  await using purser = await openTestPurser();
  const windows: [fields: object, from: string, to: string | null][] = [
    [{ per: "week" }, "2026-10-26T00:00", "2026-11-02T00:00"],
    [{ per: "week", week_start: "sunday" }, "2026-11-01T00:00", "2026-11-08T00:00"],
    [
      { per: "week", week_start: "sunday", time_zone: "Asia/Kolkata" },
      "2026-10-31T18:30",
      "2026-11-07T18:30",
    ],
    [{ per: "month", month_start_day: 15 }, "2026-10-15T00:00", "2026-11-15T00:00"],
    [{ per: "month", time_zone: "Europe/Berlin" }, "2026-10-31T23:00", "2026-11-30T23:00"],
    [{ per: "quarter" }, "2026-10-01T00:00", "2027-01-01T00:00"],
    [
      { per: "quarter", month_start_day: 6, time_zone: "Europe/London" },
      "2026-10-05T23:00",
      "2027-01-06T00:00",
    ],
    [{ per: "30d" }, "2026-10-02T00:00", null],
    [{ per: "30d", time_zone: "Asia/Kathmandu" }, "2026-10-01T18:15", null],
  ];
  for (const [index, [fields, from, to]] of windows.entries()) {
    const agent_id = `agent-${index}`;
    const before = new Date(Date.parse(`${from}Z`) - 1).toISOString();
    await spend(purser, 1, { at: before, agent_id });
    await spend(purser, 2, {
      at: `${from}:00.000Z`,
      agent_id,
    });
    const budget = await add(purser, {
      ...{ name: "B", limit_usd: 50, agent_id },
      ...fields,
    });
    assert.deepEqual([...windowOf(budget), budget.spent_usd], [from, to, 2], JSON.stringify(fields));
    assert.deepEqual({ ...budget, ...fields }, budget);
  }
});

Deno.test("a budget whose windows can't be so is refused by its field, and nothing is added", async () => {
  await using purser = await openTestPurser();
  const faults: [fields: object, message: RegExp][] = [
    [
      { time_zone: "Europe/Berln" },
      /time_zone.*Europe\/Berln\\" is not a time zone; did you mean Europe\/Berlin\?/,
    ],
    [{ time_zone: "Berlin" }, /did you mean Europe\/Berlin\?/],
    [{ per: "lifetime", time_zone: "Europe/Berlin" }, /time_zone.*can't be together with per lifetime/],
    [{ week_start: "sunday" }, /week_start.*can't be together with per day/],
    [{ per: "week", week_start: "Sunday" }, /week_start/],
    [{ per: "month", month_start_day: 29 }, /month_start_day/],
    [{ per: "month", month_start_day: 0 }, /month_start_day/],
    [{ month_start_day: 15 }, /month_start_day.*can't be together with per day/],
  ];
  for (const [fields, message] of faults) {
    const { status, body } = await purser.api("POST", BUDGETS, { ...DAY, ...fields });
    assert.equal(status, 400, JSON.stringify(fields));
    assert.match(JSON.stringify(body), message);
  }
  assert.deepEqual((await purser.api("GET", BUDGETS)).body, []);
  const { rows } = await purser.core.store.read({ sql: "SELECT calendar FROM calendars" });
  assert.deepEqual(rows, []);
});

Deno.test("a changed zone counts anew, and the windows of a zone go with its last budget", async () => {
  await using purser = await openTestPurser();
  await spend(purser, 1, { at: "2026-10-31T23:30:00.000Z" });
  const { budget_id } = await add(purser, DAY);
  const change = async (fields: object) =>
    (await purser.api("PATCH", `${BUDGETS}/${budget_id}`, fields)).body;
  assert.equal((await change({ time_zone: "Europe/Berlin" })).spent_usd, 1);
  assert.equal((await change({ limit_usd: 70 })).time_zone, "Europe/Berlin");
  assert.equal((await change({ time_zone: "Asia/Tokyo" })).spent_usd, 0 + 1);
  const week = await change({ per: "week", week_start: "sunday" });
  assert.deepEqual([...windowOf(week), week.time_zone], [
    "2026-10-31T15:00",
    "2026-11-07T15:00",
    "Asia/Tokyo",
  ]);
  const refused = await purser.api("PATCH", `${BUDGETS}/${budget_id}`, { per: "day" });
  assert.match(JSON.stringify(refused.body), /week_start.*can't be together with per day/);
  const calendars = async () =>
    (await purser.core.store.read({ sql: "SELECT calendar FROM calendars ORDER BY 1" })).rows.flat();
  assert.deepEqual(await calendars(), ["Asia/Tokyo day", "Asia/Tokyo week sunday"]);
  await purser.api("DELETE", `${BUDGETS}/${budget_id}`);
  assert.deepEqual(await calendars(), []);
  const left =
    "SELECT kind FROM spend_counters WHERE kind LIKE '%/%' UNION ALL SELECT calendar FROM window_starts";
  assert.deepEqual((await purser.core.store.read({ sql: left })).rows, []);
});

Deno.test("a budget without a zone has that of the server, and keeps it", async () => {
  await using purser = await openTestPurser({
    config: { timeZone: "Europe/Berlin", weekStart: "sunday", monthStartDay: 15 },
  });
  const fieldsOf = async (fields: object) => {
    const { time_zone, week_start, month_start_day } = await add(purser, { ...DAY, ...fields });
    return [time_zone, week_start, month_start_day];
  };
  assert.deepEqual(await fieldsOf({}), ["Europe/Berlin", "monday", 1]);
  assert.deepEqual(await fieldsOf({ per: "week" }), ["Europe/Berlin", "sunday", 1]);
  assert.deepEqual(await fieldsOf({ per: "month" }), ["Europe/Berlin", "monday", 15]);
  assert.deepEqual(await fieldsOf({ per: "month", month_start_day: 1, time_zone: "UTC" }), [
    "UTC",
    "monday",
    1,
  ]);
  assert.deepEqual(await fieldsOf({ per: "lifetime" }), ["UTC", "monday", 1]);
});

Deno.test("windows are known ahead after any time, whichever process asks first", async () => {
  await using purser = await openTestPurser();
  const { budget_id } = await add(purser, { ...DAY, time_zone: "Europe/Berlin" });
  purser.clock.advance(500 * 86_400_000);
  purser.core.budgets.changed(); // as when a process starts
  await purser.core.budgets.refresh();
  await spend(purser, 1, { at: new Date(purser.clock.now()).toISOString() });
  const budget = await read(purser, budget_id);
  assert.deepEqual([...windowOf(budget), budget.spent_usd], ["2028-03-14T23:00", "2028-03-15T23:00", 1]);
});

Deno.test("a refusal names the zone, and when its window ends there", async () => {
  await using purser = await openTestPurser();
  await add(purser, { ...DAY, limit_usd: 1, time_zone: "Europe/Berlin" });
  await spend(purser, 1, { at: "2026-11-01T11:00:00.000Z" });
  const { status, body } = await purser.api("POST", `${BUDGETS}/reservations`, {
    agent_id: "ann",
    estimate_usd: 1,
  });
  assert.equal(status, 402);
  assert.match(
    body.detail,
    /\(\$1 per day in Europe\/Berlin, all agents\).*it resets at 2026-11-02T00:00\+01:00 \(Europe\/Berlin\)/,
  );
  const [check] = (await purser.api("GET", `${BUDGETS}/check?agent_id=ann`)).body;
  assert.deepEqual([check.time_zone, check.resets_at], ["Europe/Berlin", "2026-11-01T23:00:00.000Z"]);
});

for (const { name, ignore, create } of dialectKinds()) {
  Deno.test({
    name: `calls are counted by the days of zones whether they are rolled up or not, over ${name}`,
    ignore,
    async fn() {
      await using database = await create();
      const store = await database.open();
      const ctx = await createBooking(store);
      const now = ctx.clock.now();
      let calls = 0;
      const book = (at: number, more: object = {}) =>
        bookLooseCalls(ctx, [
          modelCall({ callId: `call_${++calls}`, at, costNanoUsd: 1_000_000_000n, ...more }),
        ], {});
      const amounts = async () =>
        (await listBudgets(ctx, { limit: 10, viewer: ALL_SEEING })).map(({ spent_usd }) => spent_usd);
      for (let hour = 0; hour < 48; hour++) {
        await book(now - hour * 3_600_000, { agentId: hour % 2 ? "ann" : "bob" });
      }
      await rollUp(ctx);
      const zone = { limit_usd: 500, per: "day" as const, time_zone: "Asia/Kathmandu" };
      const { budget_id } = await createBudget(ctx, { name: "All", ...zone });
      await createBudget(ctx, { name: "Ann", ...zone, agent_id: "ann" });
      await createBudget(ctx, { name: "Each", ...zone, each: "model" });
      const before = await amounts();
      for (let i = 0; i < 20; i++) await book(now, { agentId: "ann" });
      const expected = before.map((usd) => usd! + 20);
      assert.deepEqual(await amounts(), expected);
      await rollUp(ctx);
      assert.deepEqual(await amounts(), expected);
      await removeBudget(ctx, budget_id);
      assert.deepEqual(await amounts(), expected.slice(1));
    },
  });
}
