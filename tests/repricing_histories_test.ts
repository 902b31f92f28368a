import assert from "node:assert/strict";
import fc from "#dev/fast_check.ts";
import { bookLooseCalls, rollUp } from "../src/calls/mod.ts";
import { applyRepricing, planRepricing, undoRepricing } from "../src/calls/repricing/mod.ts";
import type { RepricingFilter } from "../src/contract/repricings.ts";
import { type ModelCall } from "../src/ledger/mod.ts";
import { explainCall } from "../src/ledger/explain/mod.ts";
import { usageOf } from "../src/pricing/mod.ts";
import { createBooking, type TestBooking } from "./harness/booking.ts";
import { checkTotals } from "./harness/check_books.ts";
import { dialectKinds } from "./harness/databases.ts";
import { cases } from "./harness/thorough.ts";
import { ALL, AT, priced, sums, total, withPrices } from "./harness/repricings.ts";

/** Repricings in any history of bookings, repricings and undos; `repricing_test.ts` has them case by case. */

const anyPrices = fc.record({ a: fc.constantFrom(0, 1, 2.5), b: fc.constantFrom(1, 7) }, {
  requiredKeys: [],
});
const anyFilter: fc.Arbitrary<RepricingFilter> = fc.oneof(
  fc.constant({ unpriced: true }),
  fc.constant(ALL),
  fc.constantFrom("a", "b").map((model) => ({ ...ALL, model })),
  fc.constant({ ...ALL, include_reported: true }),
);
const anyHistory = fc.array(
  fc.oneof(
    fc.record({
      does: fc.constant("book" as const),
      models: fc.array(fc.constantFrom("a", "b", "c"), { minLength: 1, maxLength: 4 }),
      kind: fc.constantFrom("priced" as const, "reported" as const, "partly" as const),
      prices: anyPrices,
    }),
    fc.record({ does: fc.constant("reprice" as const), filter: anyFilter, prices: anyPrices }),
    fc.record({ does: fc.constant("undo" as const) }),
    fc.record({ does: fc.constant("roll up" as const) }),
  ),
  { minLength: 1, maxLength: 12 },
);
type History = typeof anyHistory extends fc.Arbitrary<infer T> ? T : never;

async function goThrough(ctx: TestBooking, history: History): Promise<void> {
  /** The totals before each repricing that is not undone, and what was booked since. */
  const applied: { repricingId: string; before: readonly [bigint, number, number] }[] = [];
  let booked = 0;
  for (const step of history) {
    switch (step.does) {
      case "book": {
        const prices = await withPrices(ctx, step.prices);
        const before = await total(ctx.store);
        await bookLooseCalls(
          ctx,
          step.models.map((model): ModelCall => {
            const call = priced(prices, {
              callId: `call_${String(booked++).padStart(4, "0")}`,
              model,
              at: AT + booked * 1_700_000,
              runId: `run_${booked % 3}`,
              sessionId: `ses_${booked % 2}`,
              usage: usageOf({ inputTokens: booked * 3, outputTokens: booked }),
            });
            if (step.kind === "reported") {
              return { ...call, costNanoUsd: 77n, priceSource: "reported", rates: null };
            }
            if (step.kind === "partly" && call.costNanoUsd !== null) {
              return { ...call, unpricedParts: ["web_searches"] };
            }
            return call;
          }),
        );
        const after = await total(ctx.store);
        for (const each of applied) {
          each.before = [0, 1, 2].map((i) =>
            (each.before as unknown as number[])[i]! +
            ((after as unknown as number[])[i]! - (before as unknown as number[])[i]!)
          ) as unknown as typeof each.before;
        }
        break;
      }
      case "reprice": {
        const now = await withPrices(ctx, step.prices);
        const before = await total(ctx.store);
        const planned = await planRepricing(now, step.filter);
        const done = await applyRepricing(now, step.filter);
        assert.deepEqual(sums(done), sums(planned));
        // Where no cost would change, nothing is booked, and there is nothing to undo.
        if (done.repricing_id === null) {
          assert.equal(done.changed_calls, 0);
          assert.deepEqual(await total(ctx.store), before);
        } else applied.push({ repricingId: done.repricing_id, before });
        break;
      }
      case "undo": {
        const last = applied.pop();
        if (!last) break;
        await undoRepricing(ctx, last.repricingId);
        assert.deepEqual(await total(ctx.store), last.before);
        break;
      }
      case "roll up":
        await rollUp(ctx);
    }
    await checkTotals(ctx.store);
    await checkCalls(ctx);
  }
}

/** Each call, as listed, is the sum of its entries, and is explained without a difference. */
async function checkCalls(ctx: TestBooking): Promise<void> {
  const { rows } = await ctx.store.read({
    sql:
      `SELECT coalesce(adjusts, call_id), sum(coalesce(cost_nano_usd, 0)), sum(unpriced), sum(partly_priced)
      FROM calls GROUP BY 1`,
  });
  for (const [callId, cost, unpriced, partly] of rows) {
    const { call, booked, adjustments } = await explainCall(ctx, String(callId));
    assert.equal(call.cost_usd, unpriced === 1n ? null : Number(cost) / 1e9);
    assert.equal(call.unpriced_parts !== undefined, partly === 1n);
    assert.equal((adjustments.at(-1)?.price ?? booked).cost_usd, call.cost_usd);
    for (const { price } of adjustments) {
      assert.ok(price.difference_usd === null || price.difference_usd === 0, JSON.stringify(price));
    }
  }
}

for (const { name, ignore, create } of dialectKinds()) {
  Deno.test({
    name: `${name}: after any bookings, repricings and undos, totals are the sum of the entries`,
    ignore,
    fn: () =>
      fc.assert(
        fc.asyncProperty(anyHistory, async (history) => {
          await using database = await create();
          const ctx = await createBooking(await database.open());
          await goThrough(ctx, history);
        }),
        { numRuns: cases({ file: 10, memory: 20, sqld: 3, postgres: 1 }[name]) },
      ),
  });
}
