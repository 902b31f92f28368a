import assert from "node:assert/strict";
import { createRule, listAlerts } from "../src/alerts/mod.ts";
import { createBudget } from "../src/budgets/mod.ts";
import { bookLooseCalls, rollUp, sightCalls } from "../src/calls/mod.ts";
import { listCosts } from "../src/ledger/mod.ts";
import { explainCall } from "../src/ledger/explain/mod.ts";
import { usageOf } from "../src/pricing/mod.ts";
import { createBooking, type TestBooking } from "./harness/booking.ts";
import { checkTotals } from "./harness/check_books.ts";
import { dialectKinds } from "./harness/databases.ts";
import { AT, gatewayCall, LOG, sighting } from "./harness/sightings.ts";

const EARLY = sighting({
  quality: "provisional",
  usage: usageOf({ inputTokens: 1_000, outputTokens: 5 }),
});

async function callsAndCost({ store }: TestBooking) {
  const rows = await listCosts(store, { groupBy: "provider", limit: 10, offset: 0 });
  return rows.map((row) => [row.model_calls, row.output_tokens, row.cost_usd]);
}

for (const kind of dialectKinds()) {
  const test = (name: string, fn: (ctx: TestBooking, other: () => Promise<TestBooking>) => Promise<void>) =>
    Deno.test({
      name: `${name} (${kind.name})`,
      ignore: kind.ignore,
      async fn() {
        await using database = await kind.create();
        const ctx = await createBooking(await database.open());
        const others: TestBooking[] = [];
        await fn(ctx, async () => {
          const store = kind.name === "memory" ? ctx.store : await database.open({ isMigrated: false });
          others.push(await createBooking(store, { clock: ctx.clock }));
          return others.at(-1)!;
        });
        for (const one of [ctx, ...others]) await one.rollUps.ended();
      },
    });

  test("an alert fires for the amendment that raises the cost of a day over a threshold", async (ctx) => {
    await createRule(ctx, {
      name: "day",
      threshold_type: "per_day_usd",
      threshold_usd: 0.003,
      severity: "warning",
    });
    await sightCalls(ctx, LOG, [EARLY]);
    assert.equal((await listAlerts(ctx, { limit: 10 })).length, 0);
    await sightCalls(ctx, LOG, [sighting()]);
    const [alert] = await listAlerts(ctx, { limit: 10 });
    assert.deepEqual([alert?.value_usd, alert?.agent_id], [0.003524, "claude-code"]);
    await checkTotals(ctx.store);
  });

  test("no alert fires for a call that only another witness takes the place of", async (ctx) => {
    await sightCalls(ctx, LOG, [sighting()]);
    await createRule(ctx, {
      name: "day",
      threshold_type: "per_day_usd",
      threshold_usd: 0.005,
      severity: "warning",
    });
    await bookLooseCalls(ctx, [gatewayCall()]);
    assert.equal((await listAlerts(ctx, { limit: 10 })).length, 0);
    await checkTotals(ctx.store);
  });

  test("a budget warns of the amendment that reaches its limit", async (ctx) => {
    await createBudget(ctx, { name: "day", limit_usd: 0.003, per: "day" });
    await sightCalls(ctx, LOG, [EARLY]);
    assert.equal((await listAlerts(ctx, { limit: 10 })).length, 0);
    await sightCalls(ctx, LOG, [sighting()]);
    const [alert] = await listAlerts(ctx, { limit: 10 });
    assert.equal(alert?.threshold_type, "budget_per_day_usd");
  });

  test(
    "the gateway, two imports and an exporter of one call at the same time book it once",
    async (ctx, other) => {
      const [second, third] = [await other(), await other()];
      // Each process has booked before there were sightings.
      for (const [index, one] of [ctx, second, third].entries()) {
        await bookLooseCalls(one, [
          gatewayCall({ callId: `before_${index}`, responseId: `resp_before_${index}` }),
        ]);
      }
      await Promise.all([
        sightCalls(ctx, LOG, [sighting()]),
        bookLooseCalls(second, [gatewayCall()]),
        sightCalls(third, { ...LOG, machine: "desktop" }, [sighting()]),
        sightCalls(third, { ...LOG, source: "otlp", name: "exporter" }, [sighting({ ref: "span" })]),
      ]);
      assert.deepEqual(await callsAndCost(ctx), [[4, 4 * 631, 4 * 0.003524]]);
      await rollUp(ctx);
      await checkTotals(ctx.store);
    },
  );

  test(
    "sets that follow each other in one process or two book each call once, whatever name they share",
    async (ctx, other) => {
      const second = await other();
      const seen = (call: number, set: number) => {
        const [responseId, requestId] = [`resp_of_call_${call}`, `req_of_call_${call}`];
        const ids = [{ responseId, requestId }, { responseId: undefined, requestId }, {
          responseId,
          requestId,
        }, { responseId, requestId: undefined }][set % 4];
        const ref = set % 4 === 0 ? `of_set_${set}:${call}` : `of_call:${call}`;
        return sighting({ at: AT + call * 1_000, ...ids, ref });
      };
      // Each set has the last calls of the one before it, and two new ones.
      const setsFrom = (first: number) =>
        Array.from(
          { length: 12 },
          (_, set) => Array.from({ length: 4 }, (_, index) => seen(first + 2 * set + index, set)),
        );
      await Promise.all(setsFrom(0).map((set) => sightCalls(ctx, LOG, set)));
      assert.deepEqual(await callsAndCost(ctx), [[26, 26 * 631, 26 * 0.003524]]);
      await Promise.all(
        setsFrom(100).flatMap((set) => [
          sightCalls(ctx, LOG, set),
          sightCalls(second, { ...LOG, machine: "desktop" }, set),
        ]),
      );
      assert.deepEqual(await callsAndCost(ctx), [[52, 52 * 631, 52 * 0.003524]]);
      await rollUp(ctx);
      await checkTotals(ctx.store);
    },
  );

  test("the explanation of a call names its witnesses, what each said, and the calls taken back for it", async (ctx) => {
    await sightCalls(ctx, LOG, [EARLY]);
    await sightCalls(ctx, LOG, [sighting()]);
    const [before] = (await ctx.store.read({ sql: "SELECT call_id FROM calls WHERE adjusts IS NULL" })).rows;
    const amended = await explainCall(ctx, String(before![0]));
    assert.deepEqual(amended.adjustments.map((one) => [one.is_amendment, one.difference_usd]), [[
      true,
      0.002504,
    ]]);
    assert.deepEqual(amended.adjustments[0]?.price.difference_usd, 0);
    await bookLooseCalls(ctx, [gatewayCall()]);
    const explained = await explainCall(ctx, String(before![0]));
    assert.equal(explained.call.call_id, "call_1");
    assert.equal(explained.call.tags?.project, "shop");
    assert.deepEqual(
      explained.witnesses.map(({ witness, said }) => [witness, said.map((one) => one.output_tokens)]),
      [["log:claude-code:msg_1", [631, 5]]],
    );
    assert.deepEqual(explained.replaced.map((one) => one.call_id), [before![0]]);
    assert.equal(explained.call.at, new Date(AT - 500).toISOString());
  });
}
