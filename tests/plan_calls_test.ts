import assert from "node:assert/strict";
import { createRule, listAlerts } from "../src/alerts/mod.ts";
import { createBudget, listBudgets } from "../src/budgets/mod.ts";
import { bookLooseCalls, reportCalls, rollUp, sightCalls } from "../src/calls/mod.ts";
import { applyRepricing, undoRepricing } from "../src/calls/repricing/mod.ts";
import { listSources } from "../src/ingest/mod.ts";
import {
  ALL_SEEING,
  listCalls,
  listCosts,
  readCostTotal,
  readSessionUsage,
  readStatedApart,
  sumSteps,
} from "../src/ledger/mod.ts";
import { explainCall } from "../src/ledger/explain/mod.ts";
import { usageOf } from "../src/pricing/mod.ts";
import { createBooking, type TestBooking } from "./harness/booking.ts";
import { hasCode, NOW, report } from "./harness/booking_tests.ts";
import { checkTotals } from "./harness/check_books.ts";
import { dialectKinds } from "./harness/databases.ts";
import { eagerClock } from "./harness/eager_clock.ts";
import { ALL, withPrices } from "./harness/repricings.ts";
import { gatewayCall, LOG, sighting } from "./harness/sightings.ts";

/** Calls that a plan pays for: what they would cost by the API is apart from what is billed. */

const PRICE = 0.003524;
const KEY_LOG = { ...LOG, sender: { keyId: "key_1" } };

/** The sums of a ledger: calls, cost, plan value and calls without a price. */
async function sumsOf({ store }: TestBooking) {
  const { model_calls, cost_usd, plan_usd, unpriced_calls } = await readCostTotal(store, {});
  return [model_calls, cost_usd, plan_usd, unpriced_calls];
}

async function callOf({ query }: TestBooking) {
  const [call, ...others] = await listCalls(query, { sessionId: "ses_a", limit: 10 });
  assert.deepEqual(others, []);
  return call!;
}

const billingOf = async (ctx: TestBooking) => {
  const { billing, cost_usd, plan_usd } = await callOf(ctx);
  return [billing, cost_usd, plan_usd];
};

for (const kind of dialectKinds()) {
  const test = (sentence: string, body: (ctx: TestBooking) => Promise<void>) =>
    Deno.test({
      name: `${kind.name}: ${sentence}`,
      ignore: kind.ignore,
      async fn() {
        await using database = await kind.create();
        const clock = eagerClock(NOW);
        const ctx = await createBooking(await database.open({ clock }), { clock });
        await body(ctx);
        await rollUp(ctx);
        await checkTotals(ctx.store);
        await ctx.rollUps.ended();
      },
    });

  test("a plan's call is billed at nothing, and its price by the API is apart in each sum", async (ctx) => {
    await reportCalls(ctx, "report", [
      report("plan", { isPlan: true, sessionId: "ses_a", runId: "run_a", costUsd: 0.25 }),
      report("billed", { sessionId: "ses_a", runId: "run_a", costUsd: 0.5 }),
    ]);
    for (const isRolledUp of [false, true]) {
      if (isRolledUp) await rollUp(ctx);
      assert.deepEqual(await sumsOf(ctx), [2, 0.5, 0.25, 0]);
      const usage = (await readSessionUsage(ctx.store, ["ses_a"])).get("ses_a")!;
      assert.deepEqual([usage.cost_usd, usage.plan_usd], [0.5, 0.25]);
      for (const groupBy of ["agent", "session", "run", "day", "hour", "model", "source"] as const) {
        const rows = await listCosts(ctx.store, { groupBy, limit: 10, offset: 0 });
        assert.deepEqual(rows.map((row) => [row.cost_usd, row.plan_usd]), [[0.5, 0.25]], groupBy);
      }
    }
    const calls = await listCalls(ctx.query, { sessionId: "ses_a", limit: 10 });
    assert.deepEqual(calls.map((call) => [call.call_id, call.billing, call.cost_usd, call.plan_usd]), [
      ["billed", undefined, 0.5, undefined],
      ["plan", "plan", 0, 0.25],
    ]);
    const steps = sumSteps(calls.map((call) => ({ ...call, step: 1 })));
    assert.deepEqual(steps.map((step) => [step.cost_usd, step.plan_usd]), [[0.5, 0.25]]);
    const compared = await readCostTotal(ctx.store, { from: NOW, compare: { from: 0, to: NOW + 1 } });
    assert.deepEqual([compared.previous?.plan_usd, compared.difference_usd], [0.25, 0]);
  });

  test("without a plan's call, no answer has a plan value", async (ctx) => {
    await reportCalls(ctx, "report", [report("billed", { sessionId: "ses_a" })]);
    assert.ok(!("plan_usd" in await readCostTotal(ctx.store, {})));
    assert.ok(!("plan_usd" in (await readSessionUsage(ctx.store, ["ses_a"])).get("ses_a")!));
    assert.ok(!("plan_usd" in await callOf(ctx)));
  });

  test("budgets and alerts count billed money only", async (ctx) => {
    await createBudget(ctx, { name: "day", limit_usd: 1, per: "day" });
    await createRule(ctx, {
      name: "day",
      threshold_type: "per_day_usd",
      threshold_usd: 0.5,
      severity: "warning",
    });
    await reportCalls(ctx, "report", [report("plan", { isPlan: true, costUsd: 2 })]);
    assert.equal((await listAlerts(ctx, { limit: 10 })).length, 0);
    await reportCalls(ctx, "report", [report("billed", { costUsd: 0.75 })]);
    const [budget] = await listBudgets(ctx, { limit: 1 });
    assert.equal(budget!.spent_usd, 0.75);
    const alerts = await listAlerts(ctx, { limit: 10 });
    assert.deepEqual(
      alerts.filter(({ threshold_type }) => threshold_type === "per_day_usd").map((one) => one.value_usd),
      [0.75],
    );
  });

  test("a plan's call without a price is unpriced, which no plan value of 0 hides", async (ctx) => {
    await reportCalls(ctx, "report", [
      report("plan", { isPlan: true, model: "unknown", sessionId: "ses_a" }),
    ]);
    assert.deepEqual(await sumsOf(ctx), [1, null, undefined, 1]);
    assert.deepEqual(await billingOf(ctx), ["plan", null, null]);
  });

  test("a repricing moves what a plan pays for, and nothing that is billed; undone, it is as before", async (ctx) => {
    const first = await withPrices(ctx, { a: 1 });
    const plan = (callId: string, model: string) =>
      report(callId, { isPlan: true, model, sessionId: "ses_a" });
    await reportCalls(first, "report", [plan("priced", "a"), plan("unpriced", "b")]);
    const before = await sumsOf(ctx);
    assert.deepEqual([before[1], before[3]], [0, 1]);
    const value = before[2] as number;
    const repricing = await applyRepricing(await withPrices(ctx, { a: 2, b: 1 }), ALL);
    assert.deepEqual([repricing.changed_calls, repricing.difference_usd], [2, 0]);
    const [, cost, planUsd, unpriced] = await sumsOf(ctx);
    assert.deepEqual([cost, unpriced], [0, 0]);
    assert.ok(Math.abs(planUsd as number - 3 * value) < 1e-9);
    const explained = await explainCall(ctx, "unpriced");
    assert.deepEqual([explained.call.billing, explained.call.cost_usd], ["plan", 0]);
    const [adjustment] = explained.adjustments;
    assert.deepEqual(
      [adjustment!.difference_usd, adjustment!.plan_difference_usd, adjustment!.price.difference_usd],
      [0, explained.call.plan_usd, 0],
    );
    assert.equal((await applyRepricing(await withPrices(ctx, { a: 2, b: 1 }), ALL)).changed_calls, 0);
    await undoRepricing(ctx, repricing.repricing_id!);
    assert.deepEqual(await sumsOf(ctx), before);
  });

  test("a stated cost is compared with what the call would cost by the API", async (ctx) => {
    const stated = { isPlan: true, sessionId: "ses_a", statedCostUsd: 0.25, costUsd: 0.25 };
    await reportCalls(ctx, "report", [report("same", stated)]);
    assert.equal((await callOf(ctx)).stated_cost_usd, undefined);
    assert.deepEqual(await readStatedApart(ctx, 0), []);
    await reportCalls(ctx, "report", [report("other", { ...stated, statedCostUsd: 1 })]);
    const apart = await readStatedApart(ctx, 0);
    assert.deepEqual(apart.map(({ calls, statedUsd, bookedUsd }) => [calls, statedUsd, bookedUsd]), [[
      1,
      1,
      0.25,
    ]]);
  });

  test("a report of a plan's call is booked once, also when its cost event is sent back", async (ctx) => {
    const plan = report("plan", { isPlan: true, sessionId: "ses_a" });
    await reportCalls(ctx, "report", [plan]);
    const { plan_usd } = await callOf(ctx);
    const same = [plan, { ...plan, isPlan: false }, { ...plan, costUsd: plan_usd! }];
    for (const one of same) {
      assert.deepEqual(await reportCalls(ctx, "report", [one]), { booked: 0, duplicates: 1, unpriced: 0 });
    }
    await assert.rejects(
      reportCalls(ctx, "report", [{ ...plan, costUsd: 0.5 }]),
      hasCode("conflict"),
    );
    assert.deepEqual(await billingOf(ctx), ["plan", 0, plan_usd]);
  });

  test("a report that says later that a plan pays takes the cost out of the bill, also as it grows", async (ctx) => {
    const billed = report("call", { sessionId: "ses_a" });
    const grown = { ...billed, usage: usageOf({ inputTokens: 10, outputTokens: 5 }) };
    await reportCalls(ctx, "report", [billed]);
    assert.deepEqual(await billingOf(ctx), [undefined, 0.000018, undefined]);
    assert.equal((await reportCalls(ctx, "report", [{ ...billed, isPlan: true }])).amended, 1);
    assert.deepEqual(await billingOf(ctx), ["plan", 0, 0.000018]);
    assert.equal((await reportCalls(ctx, "report", [grown])).amended, 1);
    assert.deepEqual(await billingOf(ctx), ["plan", 0, 0.00003]);
    assert.deepEqual(await sumsOf(ctx), [1, 0, 0.00003, 0]);
    await assert.rejects(
      reportCalls(ctx, "report", [{ ...grown, isPlan: true, keyId: "other", at: NOW - 1 }]),
      hasCode("conflict"),
    );
  });

  test("a log that says later that a plan pays takes the call out of the bill", async (ctx) => {
    const first = await sightCalls(ctx, LOG, [sighting()]);
    assert.deepEqual([first.costNanoUsd, first.planNanoUsd], [3_524_000n, 0n]);
    const second = await sightCalls(ctx, LOG, [sighting({ isPlan: true })]);
    assert.deepEqual([second.amended, second.costNanoUsd, second.planNanoUsd], [
      1,
      -3_524_000n,
      3_524_000n,
    ]);
    assert.deepEqual(await billingOf(ctx), ["plan", 0, PRICE]);
    assert.deepEqual(await sumsOf(ctx), [1, 0, PRICE, 0]);
    assert.equal((await sightCalls(ctx, LOG, [sighting()])).duplicates, 1);
    const sources = await listSources(ctx, ALL_SEEING);
    assert.deepEqual(sources.map((source) => [source.cost_usd, source.plan_usd]), [[0, PRICE]]);
    const explained = await explainCall(ctx, (await callOf(ctx)).call_id);
    assert.deepEqual(explained.witnesses[0]!.said.map(({ billing }) => billing).sort(), ["plan", undefined]);
    const [{ difference_usd, plan_difference_usd, price }] = explained.adjustments as [
      typeof explained.adjustments[0],
    ];
    assert.deepEqual([difference_usd, plan_difference_usd], [-PRICE, PRICE]);
    assert.deepEqual([price.billing, price.cost_usd, price.difference_usd], ["plan", PRICE, 0]);
    assert.deepEqual([explained.booked.billing, explained.booked.cost_usd], [undefined, PRICE]);
  });

  test("the gateway has made its call with an API key: it is billed, also where a log says plan", async (ctx) => {
    await sightCalls(ctx, LOG, [sighting({ isPlan: true })]);
    await bookLooseCalls(ctx, [gatewayCall()]);
    await sightCalls(ctx, { ...LOG, machine: "desktop" }, [sighting({ isPlan: true })]);
    assert.deepEqual(await billingOf(ctx), [undefined, PRICE, undefined]);
    assert.deepEqual(await sumsOf(ctx), [1, PRICE, undefined, 0]);
  });

  test("another key does not take a call out of the bill by saying that a plan pays", async (ctx) => {
    await sightCalls(ctx, KEY_LOG, [sighting()]);
    for (const source of ["log", "otlp", "report"] as const) {
      const other = { ...LOG, source, name: `other-${source}`, sender: { keyId: "key_2" } };
      await sightCalls(ctx, other, [sighting({ isPlan: true, ref: `ref-${source}` })]);
      assert.deepEqual(await billingOf(ctx), [undefined, PRICE, undefined], source);
    }
  });

  test("a log that says that a plan pays amends the call of a better witness that says nothing of it", async (ctx) => {
    await sightCalls(ctx, { ...LOG, source: "otlp", name: "exporter" }, [sighting({ ref: "span" })]);
    const { amended, planNanoUsd } = await sightCalls(ctx, LOG, [sighting({ isPlan: true })]);
    assert.deepEqual([amended, planNanoUsd], [1, 3_524_000n]);
    assert.deepEqual(await billingOf(ctx), ["plan", 0, PRICE]);
  });

  test("an exporter that says nothing of who pays leaves that to the log", async (ctx) => {
    await sightCalls(ctx, LOG, [sighting({ isPlan: true })]);
    await sightCalls(ctx, { ...LOG, source: "otlp", name: "exporter" }, [sighting({ ref: "span" })]);
    assert.deepEqual(await billingOf(ctx), ["plan", 0, PRICE]);
  });
}
