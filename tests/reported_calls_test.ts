import assert from "node:assert/strict";
import { bookCall, bookLooseCalls, reportCalls, type ReportedCall, rollUp } from "../src/calls/mod.ts";
import type { CallBounds } from "../src/budgets/mod.ts";
import { MAX_AHEAD_MS, readRunUsage } from "../src/ledger/mod.ts";
import { explainCall } from "../src/ledger/explain/mod.ts";
import { readRunCost } from "./harness/run_cost.ts";
import { toUsd } from "../src/kernel/money.ts";
import { usageOf } from "../src/pricing/mod.ts";
import { getSession } from "../src/sessions/mod.ts";
import { beginRun, dump } from "./harness/booking.ts";
import { checkBooks } from "./harness/check_books.ts";
import { bookingTests, hasCode, NOW, report } from "./harness/booking_tests.ts";
import { dialectKinds } from "./harness/databases.ts";
import { modelCall } from "./harness/model_calls.ts";

/** Booking of calls that were made elsewhere and are reported. */

for (const kind of dialectKinds()) {
  const test = bookingTests(kind);

  test("a report is booked once, however often it is sent", async (ctx) => {
    const reports = [report("a"), report("b", { costUsd: 0.5 }), report("c", { model: "unknown" })];
    assert.deepEqual(await reportCalls(ctx, "report", reports), { booked: 3, duplicates: 0, unpriced: 1 });
    const before = await dump(ctx.store);
    assert.deepEqual(await reportCalls(ctx, "report", reports), { booked: 0, duplicates: 3, unpriced: 0 });
    assert.deepEqual(await reportCalls(ctx, "report", reports.slice(1)), {
      booked: 0,
      duplicates: 2,
      unpriced: 0,
    });
    assert.deepEqual(await dump(ctx.store), before);
    assert.deepEqual(await reportCalls(ctx, "report", [...reports, report("d")]), {
      booked: 1,
      duplicates: 3,
      unpriced: 0,
    });
    assert.equal(ctx.published.filter((event) => event.type === "cost.recorded").length, 4);
  });

  test("an empty report books nothing", async (ctx) => {
    const before = await dump(ctx.store);
    assert.deepEqual(await reportCalls(ctx, "report", []), { booked: 0, duplicates: 0, unpriced: 0 });
    assert.deepEqual(await dump(ctx.store), before);
  });

  test("a known call with other content is a conflict, and nothing of its report is written", async (ctx) => {
    const known = report("known", {
      sessionId: "ses",
      runId: "run",
      step: 1,
      tools: ["t"],
      durationMs: 5,
      costUsd: 1,
    });
    await reportCalls(ctx, "report", [known]);
    const before = await dump(ctx.store);
    const others: Partial<ReportedCall>[] = [
      { at: NOW - 1 },
      { agentId: "other" },
      { sessionId: null },
      { sessionId: "other" },
      { runId: null },
      { step: 2 },
      { step: null },
      { tools: [] },
      { tools: ["t", "t"] },
      { provider: "openai" },
      { model: "other" },
      { usage: usageOf({ inputTokens: 11, outputTokens: 2 }) },
      { usage: usageOf({ inputTokens: 10, outputTokens: 1 }) },
      { usage: usageOf({ inputTokens: 10, outputTokens: 2, cacheReadTokens: 1 }) },
      { usage: usageOf({ inputTokens: 10, outputTokens: 2, cacheWriteTokens: 1 }) },
      { usage: usageOf({ inputTokens: 10, outputTokens: 2, reasoningTokens: 1 }) },
      { costUsd: 1.000000001 },
      { costUsd: undefined },
      { durationMs: 6 },
      { durationMs: null },
      { isEstimated: true },
    ];
    for (const other of others) {
      await assert.rejects(
        reportCalls(ctx, "report", [report("new_1"), { ...known, ...other }, report("new_2")]),
        hasCode("conflict", /Cannot book call known/),
        JSON.stringify(other),
      );
    }
    assert.deepEqual(await dump(ctx.store), before);
    assert.equal(ctx.published.length, 1);
  });

  test("a call twice in one report counts once, and with two contents is a conflict", async (ctx) => {
    assert.deepEqual(await reportCalls(ctx, "report", [report("a"), report("b"), report("a")]), {
      booked: 2,
      duplicates: 1,
      unpriced: 0,
    });
    const before = await dump(ctx.store);
    await assert.rejects(
      reportCalls(ctx, "report", [report("c"), report("d"), report("c", { step: 1 })]),
      hasCode("conflict", /call c: it is in this request/),
    );
    assert.deepEqual(await dump(ctx.store), before);
  });

  test("one report books a thousand calls", async (ctx) => {
    await beginRun(ctx, { sessionId: "ses_known" });
    const reports = Array.from({ length: 1_000 }, (_, i) =>
      report(`call_${i}`, {
        at: NOW - i * 60_000,
        agentId: `agent_${i % 7}`,
        sessionId: [null, "ses_known", "ses_unknown"][i % 3],
        runId: i % 2 ? `run_${i % 11}` : null,
        costUsd: (i + 1) / 1_000,
      }));
    assert.deepEqual(await reportCalls(ctx, "report", reports), {
      booked: 1_000,
      duplicates: 0,
      unpriced: 0,
    });
    assert.deepEqual(await reportCalls(ctx, "report", reports), {
      booked: 0,
      duplicates: 1_000,
      unpriced: 0,
    });
    const { rows } = await ctx.store.read({ sql: "SELECT count(*), sum(cost_nano_usd) FROM calls" });
    assert.deepEqual(rows[0], [1_000n, 500_500_000_000n]);
    assert.equal((await getSession(ctx, "ses_known")).event_log_count, 2 + 333);
  });

  test("concurrent reports book each call once", async (ctx) => {
    const reports = Array.from({ length: 20 }, (_, i) => report(`call_${i}`, { costUsd: 1, runId: "run" }));
    const outcomes = await Promise.all(
      Array.from({ length: 10 }, (_, i) => reportCalls(ctx, "report", i % 2 ? reports : reports.slice(5))),
    );
    assert.equal(outcomes.reduce((sum, outcome) => sum + outcome.booked, 0), 20);
    assert.equal(await readRunCost(ctx.store, "run"), 20_000_000_000n);
    assert.equal(ctx.published.length, 20);
  });

  test("of two concurrent reports with different content, one is booked and the other is a conflict", async (ctx) => {
    const outcomes = await Promise.allSettled([
      reportCalls(ctx, "report", [report("x", { step: 1 }), report("a")]),
      reportCalls(ctx, "report", [report("x", { step: 2 }), report("b")]),
    ]);
    assert.deepEqual(outcomes.map((outcome) => outcome.status).sort(), ["fulfilled", "rejected"]);
    const refused = outcomes.find((outcome) => outcome.status === "rejected") as PromiseRejectedResult;
    assert.ok(hasCode("conflict")(refused.reason));
    const { rows } = await ctx.store.read({ sql: "SELECT count(*) FROM calls" });
    assert.deepEqual(rows[0], [2n]);
  });

  test("a call in the future is refused together with its whole report", async (ctx) => {
    const before = await dump(ctx.store);
    await assert.rejects(
      reportCalls(ctx, "report", [report("a"), report("b", { at: NOW + MAX_AHEAD_MS + 1 })]),
      hasCode("invalid", /\[1\]\.at/),
    );
    assert.deepEqual(await dump(ctx.store), before);
    await reportCalls(ctx, "report", [report("b", { at: NOW + MAX_AHEAD_MS })]);
  });

  test("impossible values are refused by name, and nothing is written", async (ctx) => {
    const before = await dump(ctx.store);
    const wrong: [RegExp, Partial<ReportedCall>][] = [
      [/\[1\]\.at/, { at: -1 }],
      [/\[1\]/, { usage: usageOf({ inputTokens: 1, cacheReadTokens: 2 }) }],
      [/\[1\]/, { usage: usageOf({ inputTokens: -1 }) }],
      [/\[1\]/, { usage: usageOf({ outputTokens: 1.5 }) }],
      [/\[1\]\.cost_usd/, { costUsd: -0.1 }],
      [/\[1\]\.cost_usd/, { costUsd: NaN }],
      [/\[1\]\.cost_usd/, { costUsd: Infinity }],
      [/\[1\]\.cost_usd/, { costUsd: 1e30 }],
      [/\[1\]\.cost_usd: it costs more than 1000000 USD/, { costUsd: 1_000_000.000000001 }],
      [/\[1\]: it costs more than 1000000 USD/, { usage: usageOf({ inputTokens: 1e12 + 1 }) }],
      [/\[1\]\.agent_id: Cannot use snapshot as an agent's name/, { agentId: "snapshot" }],
      [/\[1\]\.agent_id/, { agentId: "a b" }],
      [/\[1\]\.call_id/, { callId: "a\0b" }],
      [/\[1\]\.call_id/, { callId: "\ud800" }],
      [/\[1\]\.provider/, { provider: "a\0" }],
      [/\[1\]\.model/, { model: "\udfff" }],
      [/\[1\]\.tools\.1/, { tools: ["good", "\0"] }],
    ];
    for (const [pattern, fields] of wrong) {
      await assert.rejects(
        reportCalls(ctx, "report", [report("good"), report("bad", fields)]),
        hasCode("invalid", pattern),
        JSON.stringify(fields),
      );
    }
    assert.deepEqual(await dump(ctx.store), before);
  });

  test("a reported cost is used, rounded half to even; without one the call is priced", async (ctx) => {
    const costs: [number | null | undefined, bigint | null, string][] = [
      [0.0000000005, 0n, "reported"],
      [0.0000000015, 2n, "reported"],
      [0.0000000025, 2n, "reported"],
      [0.00000000250001, 3n, "reported"],
      [0.1 + 0.2, 300_000_000n, "reported"],
      [0, 18_000n, "config"],
      [1e-12, 0n, "reported"],
      [1e6, 10n ** 15n, "reported"],
      [undefined, 18_000n, "config"],
      [null, 18_000n, "config"],
    ];
    await reportCalls(ctx, "report", costs.map(([costUsd], i) => report(`call_${i}`, { costUsd })));
    const { rows } = await ctx.store.read({
      sql: "SELECT cost_nano_usd, price_source FROM calls ORDER BY cast(substr(call_id, 6) AS INTEGER)",
    });
    assert.deepEqual(rows, costs.map(([, nano, source]) => [nano, source]));
  });

  test("a reported 0 is a cost of a model without a price only, and is kept beside the price of any other", async (ctx) => {
    const own = { provider: "own", model: "model" };
    const reports = [
      report("known", { costUsd: 0 }),
      report("own", { ...own, costUsd: 0 }),
      report("empty", { costUsd: 0, usage: usageOf({}) }),
      report("beside", { costUsd: 1, statedCostUsd: 2 }),
      report("priced", { statedCostUsd: 3 }),
    ];
    assert.deepEqual(await reportCalls(ctx, "report", reports), { booked: 5, duplicates: 0, unpriced: 0 });
    assert.deepEqual(await reportCalls(ctx, "report", reports), { booked: 0, duplicates: 5, unpriced: 0 });
    const { rows } = await ctx.store.read({
      sql: "SELECT call_id, cost_nano_usd, price_source, stated_nano_usd FROM calls ORDER BY position",
    });
    assert.deepEqual(rows, [
      ["known", 18_000n, "config", 0n],
      ["own", 0n, "reported", null],
      ["empty", 0n, "reported", null],
      ["beside", 1_000_000_000n, "reported", 2_000_000_000n],
      ["priced", 18_000n, "config", 3_000_000_000n],
    ]);
    const { call } = await explainCall(ctx, "known");
    assert.deepEqual([call.stated_cost_usd, call.stated_cost_reason], [0, "zero"]);
    // It stays the same call when its model gets a price, or loses it.
    const prices = {
      ...ctx.prices,
      price: (input: Parameters<typeof ctx.prices.price>[0]) => {
        const isKnown = input.provider === "own";
        return { costNanoUsd: isKnown ? 5n : null, priceSource: isKnown ? "config" : "none", rates: null };
      },
    };
    const later = { ...ctx, prices };
    assert.deepEqual(await reportCalls(later, "report", reports), { booked: 0, duplicates: 5, unpriced: 0 });
  });

  test("a report is booked however large the totals are", async (ctx) => {
    const most = 2n ** 63n - 1n;
    const full = modelCall({ callId: "full", costNanoUsd: most, runId: "run" });
    await bookLooseCalls(ctx, [full]);
    await reportCalls(ctx, "report", [report("known")]);
    const { agentId, provider, model, at, runId } = full;
    const past = report("past", { agentId, provider, model, at, runId, costUsd: 1 });
    assert.deepEqual(await reportCalls(ctx, "report", [report("fits"), report("known"), past]), {
      booked: 2,
      duplicates: 1,
      unpriced: 0,
    });
    for (const isRolledUp of [false, true]) {
      if (isRolledUp) await rollUp(ctx);
      const { rows } = await ctx.store.read({
        sql: "SELECT sum(whole_usd), sum(rest_nano_usd) FROM run_usage WHERE run_id = 'run'",
      });
      const [whole, rest] = rows[0] as [bigint, bigint];
      assert.equal(whole * 1_000_000_000n + rest, most + 1_000_000_000n);
      await checkBooks(ctx.store);
    }
  });

  test("a booked call that is reported back with its cost is a duplicate", async (ctx) => {
    const place = await beginRun(ctx);
    const usage = usageOf({ inputTokens: 10, outputTokens: 2, cacheWriteTokens: 5, cacheWrite1hTokens: 3 });
    const call = modelCall({ callId: "a", ...place, at: NOW, usage, durationMs: 1.6, isEstimated: true });
    await bookCall(ctx, { run: place, call, progress: { events: [], messages: [] } });
    const before = await dump(ctx.store);
    const back = report("a", {
      ...place,
      provider: call.provider,
      model: call.model,
      // Not in a cost event: which cache writes last an hour.
      usage: { ...usage, cacheWrite1hTokens: 0 },
      durationMs: 2,
      isEstimated: true,
      costUsd: toUsd(call.costNanoUsd!),
    });
    // 0 beside tokens of a model with a price is no cost.
    for (const same of [back, { ...back, costUsd: null }, { ...back, costUsd: 0 }, { ...back, usage }]) {
      assert.deepEqual(await reportCalls(ctx, "report", [same]), { booked: 0, duplicates: 1, unpriced: 0 });
    }
    const others: Partial<ReportedCall>[] = [
      { costUsd: 0.5 },
      { isEstimated: false },
      { usage: { ...usage, cacheWrite1hTokens: 2 } },
    ];
    for (const other of others) {
      await assert.rejects(reportCalls(ctx, "report", [{ ...back, ...other }]), hasCode("conflict"));
    }
    assert.deepEqual(await dump(ctx.store), before);
  });

  test("a reported call of a live run settles into the run's budget", async (ctx) => {
    const place = await beginRun(ctx);
    const budget = { limitNanoUsd: 1_000_000n, mode: "stop" as const };
    const bounds: CallBounds = { estimateNanoUsd: 1_000n, isUnpriced: false };
    const request = { ...place, keyId: null, budget, bound: () => bounds };
    const first = await ctx.gate.admit(request);
    assert.ok(first.go && first.grant); // from here on the gate holds the run
    await reportCalls(ctx, "report", [
      report("a", { runId: place.runId, sessionId: place.sessionId, costUsd: 0.001 }),
    ]);
    const second = await ctx.gate.admit(request);
    assert.ok(!second.go);
    assert.deepEqual(second.refusals.map(({ reason, standing }) => [reason, standing.settledNanoUsd]), [
      ["spent", 1_000_000n],
    ]);
    await ctx.gate.release(first.grant);
    assert.equal((await readRunUsage(ctx.store, place.runId)).cost_usd, 0.001);
  });
}
