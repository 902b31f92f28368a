import assert from "node:assert/strict";
import { bookLooseCalls, rollUp } from "../src/calls/mod.ts";
import {
  applyRepricing,
  continueRepricing,
  getRepricing,
  listRepricings,
  planRepricing,
  undoRepricing,
} from "../src/calls/repricing/mod.ts";
import type { RepricingFilter } from "../src/contract/repricings.ts";
import { createRule } from "../src/alerts/mod.ts";
import { listAllEvents } from "../src/sessions/mod.ts";
import { listCalls, readSessionUsage } from "../src/ledger/mod.ts";
import { explainCall } from "../src/ledger/explain/mod.ts";
import { ConstraintError } from "../src/store/mod.ts";
import { createBooking, type TestBooking } from "./harness/booking.ts";
import { checkTotals } from "./harness/check_books.ts";
import { dialectKinds, type TestDatabase } from "./harness/databases.ts";
import {
  ALL,
  AT,
  failingAfter,
  listEntries,
  manyCalls,
  priced,
  sums,
  total,
  withPrices,
} from "./harness/repricings.ts";

for (const { name, ignore, create } of dialectKinds()) {
  const test = (sentence: string, body: (ctx: TestBooking, database: TestDatabase) => Promise<void>) =>
    Deno.test({
      name: `${name}: ${sentence}`,
      ignore,
      async fn() {
        await using database = await create();
        await body(await createBooking(await database.open()), database);
      },
    });

  test("a repricing starts when the one that refuses it has ended before it is found", async (ctx) => {
    await bookLooseCalls(ctx, manyCalls(await withPrices(ctx, { a: 1 }), 3));
    const now = await withPrices(ctx, { a: 2 });
    const { write } = ctx.store;
    let refusals = 0;
    now.store.write = (statements) => {
      const isStart = statements.some(({ sql }) =>
        /^(INSERT INTO repricings|UPDATE repricings SET status = 'undoing')/.test(sql)
      );
      // The index of the one in progress refuses it; by the time of the next read that one is applied.
      if (isStart && refusals++ % 2 === 0) {
        return Promise.reject(new ConstraintError("repricings.in_progress"));
      }
      return write.call(ctx.store, statements);
    };
    const { status, repricing_id, changed_calls } = await applyRepricing(now, ALL);
    assert.deepEqual([status, changed_calls], ["applied", 3]);
    assert.equal((await undoRepricing(now, repricing_id!)).status, "undone");
    assert.equal(refusals, 4);
  });

  test("a dry run changes nothing, and applying does what it said", async (ctx) => {
    const before = await withPrices(ctx, { a: 1 });
    await bookLooseCalls(ctx, manyCalls(before, 30));
    await bookLooseCalls(ctx, [
      priced(before, { callId: "unknown", model: "b" }),
      priced(before, { callId: "unknown still", model: "c" }),
      { ...priced(before, { callId: "reported" }), costNanoUsd: 5n, priceSource: "reported", rates: null },
    ]);
    const now = await withPrices(ctx, { a: 2, b: 3 });
    const planned = await planRepricing(now, ALL);
    assert.equal(planned.repricing_id, null);
    assert.deepEqual(
      [planned.calls, planned.changed_calls, planned.unpriced_calls_before, planned.unpriced_calls_after],
      [32, 31, 2, 1],
    );
    assert.equal(planned.difference_usd, 30 * 14e-6 + 42e-6);
    assert.deepEqual(await total(ctx.store), [30n * 14_000n + 5n, 2, 0]);
    const applied = await applyRepricing(now, ALL);
    assert.equal(applied.status, "applied");
    assert.deepEqual(sums(applied), sums(planned));
    assert.deepEqual(await total(ctx.store), [30n * 28_000n + 42_000n + 5n, 1, 0]);
    assert.deepEqual((await planRepricing(now, ALL)).changed_calls, 0);
    await checkTotals(ctx.store);
  });

  test("calls without a price get one when it is known, and lose it when that is undone", async (ctx) => {
    const before = await withPrices(ctx, { a: 1 });
    await bookLooseCalls(ctx, [
      priced(before, { callId: "one", model: "b", sessionId: "s" }),
      priced(before, { callId: "two", sessionId: "s" }),
    ]);
    const now = await withPrices(ctx, { a: 9, b: 3 });
    const applied = await applyRepricing(now, { unpriced: true });
    assert.deepEqual([applied.calls, applied.changed_calls], [1, 1]);
    const costs = async () =>
      (await listCalls(ctx.query, { sessionId: "s", limit: 9 })).map((
        call,
      ) => [call.cost_usd, call.price_source]);
    assert.deepEqual(await costs(), [[0.000042, "config"], [0.000014, "config"]]);
    assert.equal((await undoRepricing(now, applied.repricing_id!)).status, "undone");
    assert.deepEqual(await costs(), [[null, "none"], [0.000014, "config"]]);
    // Undone is done: it neither happens twice, nor can it be applied again.
    const entries = await listEntries(ctx.store);
    assert.equal((await undoRepricing(now, applied.repricing_id!)).status, "undone");
    assert.deepEqual(await listEntries(ctx.store), entries);
    await assert.rejects(continueRepricing(now, applied.repricing_id!), { code: "conflict" });
    await checkTotals(ctx.store);
  });

  test("a partly priced call is whole when all its parts have a rate", async (ctx) => {
    const { prices } = ctx;
    const partly = { ...priced(ctx, { callId: "one" }), costNanoUsd: 3n, unpricedParts: ["web_searches"] };
    await bookLooseCalls(ctx, [{ ...partly, rates: null, priceSource: "config" }]);
    assert.deepEqual(await total(ctx.store), [3n, 0, 1]);
    const now = await withPrices(ctx, { a: 1 });
    const applied = await applyRepricing(now, { unpriced: true });
    assert.deepEqual([applied.partly_priced_calls_before, applied.partly_priced_calls_after], [1, 0]);
    assert.deepEqual(await total(ctx.store), [14_000n, 0, 0]);
    await undoRepricing({ ...now, prices }, applied.repricing_id!);
    assert.deepEqual(await total(ctx.store), [3n, 0, 1]);
    assert.deepEqual((await explainCall(ctx, "one")).call.unpriced_parts, ["web_searches"]);
  });

  test("a stated cost is left alone unless it is included", async (ctx) => {
    const now = await withPrices(ctx, { a: 1 });
    await bookLooseCalls(ctx, [
      {
        ...priced(now, { callId: "stated" }),
        costNanoUsd: 5n,
        priceSource: "provider",
        listCostNanoUsd: 14_000n,
      },
    ]);
    assert.equal((await planRepricing(now, ALL)).calls, 0);
    const applied = await applyRepricing(now, { ...ALL, include_reported: true });
    assert.equal(applied.changed_calls, 1);
    assert.equal((await explainCall(ctx, "stated")).call.list_cost_usd, undefined);
    await undoRepricing(now, applied.repricing_id!);
    const { call, adjustments } = await explainCall(ctx, "stated");
    assert.deepEqual([call.cost_usd, call.list_cost_usd, call.price_source], [5e-9, 0.000014, "provider"]);
    assert.deepEqual(
      adjustments.map(({ is_undo, price }) => [is_undo, price.cost_usd, price.difference_usd]),
      [
        [false, 0.000014, 0],
        [true, 5e-9, 0],
      ],
    );
  });

  test("a repricing fires no rule, and the next call is decided on what the others cost by now", async (ctx) => {
    await createRule(ctx, {
      ...{ name: "r", threshold_type: "per_run_usd", severity: "info", cooldown_seconds: 0 },
      threshold_usd: 0.00005,
    });
    const before = await withPrices(ctx, { a: 1 });
    await bookLooseCalls(ctx, [priced(before, { callId: "1", runId: "run", sessionId: "s" })]);
    const now = await withPrices(ctx, { a: 4 });
    await applyRepricing(now, ALL);
    const alerts = async () => (await ctx.store.read({ sql: "SELECT value_nano_usd FROM alerts" })).rows;
    assert.deepEqual(await alerts(), []);
    await bookLooseCalls(ctx, [priced(before, { callId: "2", runId: "run", sessionId: "s" })]);
    assert.deepEqual(await alerts(), [[56_000n + 14_000n]]);
    const events = await listAllEvents(ctx, { after: 0, limit: 9 });
    assert.deepEqual(events.map(({ payload }) => payload.cost_usd), [0.000056, 0.000014]);
    assert.equal((await readSessionUsage(ctx.store, ["s"])).get("s")!.cost_usd, 0.00007);
  });

  test("a filter chooses calls by time, provider, model, agent and estimate", async (ctx) => {
    const before = await withPrices(ctx, {});
    await bookLooseCalls(ctx, [
      priced(before, { callId: "1", agentId: "ann", model: "a" }),
      priced(before, { callId: "2", agentId: "bob", model: "b", isEstimated: true }),
      priced(before, { callId: "3", agentId: "bob", model: "a", at: AT + 3_600_000 }),
    ]);
    const count = async (filter: RepricingFilter) => (await planRepricing(before, filter)).calls;
    const iso = (ms: number) => new Date(ms).toISOString();
    assert.equal(await count({ unpriced: true }), 3);
    assert.equal(await count({ unpriced: true, agent_id: "bob" }), 2);
    assert.equal(await count({ unpriced: true, model: "a" }), 2);
    assert.equal(await count({ unpriced: true, provider: "openai" }), 0);
    assert.equal(await count({ unpriced: true, estimated: true }), 1);
    assert.equal(await count({ from: iso(AT), to: iso(AT + 3_600_000) }), 2);
    assert.equal(await count({ from: iso(AT + 1), to: iso(AT + 3_600_001) }), 1);
  });

  test("a repricing that was interrupted is finished by the next, each call once", async (ctx) => {
    const before = await withPrices(ctx, { a: 1 });
    const calls = manyCalls(before, 1_750);
    for (let i = 0; i < calls.length; i += 1_000) await bookLooseCalls(ctx, calls.slice(i, i + 1_000));
    const now = await withPrices(ctx, { a: 2 });
    await assert.rejects(applyRepricing(failingAfter(now, 2), ALL), /out of order/);
    const [interrupted] = (await listRepricings(ctx, { limit: 9 })).rows;
    assert.equal(interrupted!.status, "applying");
    assert.ok(interrupted!.calls > 0 && interrupted!.calls < 1_750, String(interrupted!.calls));
    await checkTotals(ctx.store);
    await assert.rejects(applyRepricing(now, { unpriced: true }), { code: "conflict" });
    // Two processes finish it at once, one by the same request.
    const [one, other] = await Promise.all([
      applyRepricing(now, ALL),
      continueRepricing(now, interrupted!.repricing_id!),
    ]);
    assert.deepEqual([one.status, other.status, one.repricing_id], [
      "applied",
      "applied",
      other.repricing_id,
    ]);
    assert.deepEqual([one.calls, one.changed_calls], [1_750, 1_750]);
    assert.deepEqual(await total(ctx.store), [1_750n * 28_000n, 0, 0]);
    await assert.rejects(undoRepricing(failingAfter(now, 2), one.repricing_id!), /out of order/);
    assert.equal((await getRepricing(ctx, one.repricing_id!)).status, "undoing");
    await Promise.all([undoRepricing(now, one.repricing_id!), undoRepricing(now, one.repricing_id!)]);
    assert.deepEqual(await total(ctx.store), [1_750n * 14_000n, 0, 0]);
    await rollUp(ctx);
    await checkTotals(ctx.store);
  });

  test("a repricing that is half applied can be undone", async (ctx) => {
    const before = await withPrices(ctx, { a: 1 });
    for (const fields of [{ callId: "1" }]) await bookLooseCalls(ctx, [priced(before, fields)]);
    const now = await withPrices(ctx, { a: 2 });
    await assert.rejects(applyRepricing(failingAfter(now, 1), ALL), /out of order/);
    const [half] = (await listRepricings(ctx, { limit: 1 })).rows;
    assert.equal((await undoRepricing(now, half!.repricing_id!)).status, "undone");
    assert.deepEqual(await total(ctx.store), [14_000n, 0, 0]);
  });

  test("a repricing is undone only after those that followed it", async (ctx) => {
    const before = await withPrices(ctx, { a: 1 });
    await bookLooseCalls(ctx, [priced(before, { callId: "1" })]);
    const first = await applyRepricing(await withPrices(ctx, { a: 2 }), ALL);
    const second = await applyRepricing(await withPrices(ctx, { a: 3 }), ALL);
    assert.equal(second.difference_usd, 0.000014);
    const { repricing_id: empty } = await applyRepricing(await withPrices(ctx, { a: 3 }), ALL);
    await assert.rejects(undoRepricing(ctx, first.repricing_id!), {
      code: "conflict",
      message: new RegExp(`${second.repricing_id} was applied after it`),
    });
    assert.notEqual(empty, second.repricing_id);
    await undoRepricing(ctx, second.repricing_id!);
    await undoRepricing(ctx, first.repricing_id!);
    assert.deepEqual(await total(ctx.store), [14_000n, 0, 0]);
  });
}
