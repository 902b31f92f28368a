import { type Grouping, GROUPINGS } from "../src/contract/values.ts";
import assert from "node:assert/strict";
import { HOUR_MS } from "../src/kernel/clock.ts";
import {
  type CostFilter,
  countWithoutRules,
  listCalls,
  listCosts,
  MOVE_COUNTERS,
  readRunUsage,
  readSessionUsage,
  recordCalls,
  rollUpTotals,
  toCostEvent,
} from "../src/ledger/mod.ts";
import { adjustCall } from "./harness/adjust.ts";
import { readRunCost } from "./harness/run_cost.ts";
import { toUsd } from "../src/kernel/money.ts";
import { usageOf } from "../src/pricing/mod.ts";
import { ConstraintError, createQuery } from "../src/store/mod.ts";
import { checkTotals } from "./harness/check_books.ts";
import { dialectKinds } from "./harness/databases.ts";
import { modelCall } from "./harness/model_calls.ts";
import { testOver } from "./harness/store_tests.ts";
import { add } from "./harness/ledger_model.ts";

/** The rows of the ledger case by case; `ledger_test.ts` has them against a model. */

for (const kind of dialectKinds()) {
  const test = testOver(kind);

  test("a call that is booked twice is refused, and counts once", async (store) => {
    const [a, b, c] = ["a", "b", "c"].map((callId) =>
      modelCall({ callId, runId: "run_1", sessionId: "ses_1" })
    );
    await store.write(recordCalls([a!]));
    for (const batch of [[a!], [b!, a!], [b!, c!, b!]]) {
      await assert.rejects(store.write(recordCalls(batch)), ConstraintError);
    }
    assert.equal(await readRunCost(store, "run_1"), 1_000n);
    const [row] = await listCosts(store, { groupBy: "agent", limit: 10, offset: 0 });
    assert.equal(row!.model_calls, 1);
  });

  test("positions have no gaps and follow the order of commits, also after refused units", async (store) => {
    const book = (...ids: string[]) => store.write(recordCalls(ids.map((callId) => modelCall({ callId }))));
    await book("a", "b");
    await assert.rejects(book("c", "d", "a"), ConstraintError);
    await book("e");
    await store.write([
      ...recordCalls([modelCall({ callId: "f" })]),
      adjustCall("x", "a", { costNanoUsd: 1n }),
    ]);
    const { rows } = await store.read({ sql: "SELECT position, call_id FROM calls ORDER BY position" });
    assert.deepEqual(rows, ["a", "b", "e", "f", "x"].map((callId, index) => [BigInt(index + 1), callId]));
  });

  test("totals hold any sum: whole USD and nano-USD apart", async (store) => {
    const most = 2n ** 63n - 1n;
    const dear = (callId: string) =>
      modelCall({ callId, runId: "r", sessionId: "s", costNanoUsd: most, at: Date.now() });
    const exact = async (view: string) => {
      const { rows } = await store.read({ sql: `SELECT sum(whole_usd), sum(rest_nano_usd) FROM ${view}` });
      return (rows[0]![0] as bigint) * 1_000_000_000n + (rows[0]![1] as bigint);
    };
    const decided = [countWithoutRules(Date.now()), MOVE_COUNTERS];
    const steps = [[], rollUpTotals(), [], decided, [...rollUpTotals(), ...decided]];
    for (const [index, more] of steps.entries()) {
      await store.write([...recordCalls([dear(`${index}`), dear(`${index}+`)]), ...more]);
      const total = most * BigInt(2 * (index + 1));
      for (const view of ["run_usage", "session_usage", "total_usage", "daily_usage", "hourly_usage"]) {
        assert.equal(await exact(view), total, view);
      }
      assert.equal((await readRunUsage(store, "r")).cost_usd, toUsd(total));
      assert.equal((await readSessionUsage(store, ["s"])).get("s")!.cost_usd, toUsd(total));
      for (const groupBy of GROUPINGS) {
        const [row] = await listCosts(store, { groupBy, limit: 10, offset: 0 });
        assert.equal(row!.cost_usd, toUsd(total), groupBy);
      }
      // Decisions see a value above any possible limit, and still an integer.
      assert.equal(await readRunCost(store, "r"), most);
      await checkTotals(store);
    }
  });

  test("rows whose sum exceeds 64 bits are listed, most expensive first", async (store) => {
    const most = 9_000_000_000_999_999_999n;
    const at = Date.parse("2028-02-29T10:30:00.000Z");
    const calls = ["a", "b", "c", "d"].map((callId, index) =>
      modelCall({
        callId,
        at: at + (index % 2) * HOUR_MS,
        agentId: index < 3 ? "ann" : "bob",
        sessionId: `s${index % 2}`,
        model: `m${index}`,
        costNanoUsd: most / BigInt(1 + index),
      })
    );
    for (const call of calls) {
      await store.write(recordCalls([call]));
      if (call.callId === "b") await store.write(rollUpTotals());
    }
    const total = (ids: string) => toUsd(add(calls.filter((call) => ids.includes(call.callId))).nano);
    const costs = async (filter: Partial<CostFilter> & { groupBy: Grouping }) =>
      (await listCosts(store, { limit: 10, offset: 0, ...filter })).map((row) => row.cost_usd);
    const spans = [{}, { from: at - 1, to: at + 2 * HOUR_MS }, { to: at + HOUR_MS + 1 }];
    for (const span of spans) {
      assert.deepEqual(await costs({ groupBy: "agent", ...span }), [total("abc"), total("d")]);
      assert.deepEqual(await costs({ groupBy: "model", ...span }), ["a", "b", "c", "d"].map(total));
      assert.deepEqual(await costs({ groupBy: "hour", ...span }), [total("bd"), total("ac")]);
      assert.deepEqual(await costs({ groupBy: "day", ...span }), [total("abcd")]);
      assert.deepEqual(await costs({ groupBy: "session", ...span }), [total("bd"), total("ac")]);
    }
  });

  test("groups a nano-USD apart are listed most expensive first", async (store) => {
    const costs = [1_999_999_999n, 2_000_000_001n, 2_000_000_000n];
    await store.write(recordCalls(costs.flatMap((costNanoUsd, index) => [
      modelCall({ callId: `${index}`, agentId: `a${index}`, costNanoUsd }),
      modelCall({ callId: `${index}+`, agentId: `a${index}`, model: "other", costNanoUsd: 999_999_999n }),
    ])));
    const rows = await listCosts(store, { groupBy: "agent", limit: 10, offset: 0 });
    assert.deepEqual(rows.map((row) => row.agent_id), ["a1", "a2", "a0"]);
    assert.deepEqual(rows.map((row) => row.cost_usd), [3, 2.999999999, 2.999999998]);
  });

  test("groups and runs are in order of their cost after adjustments that lower it", async (store) => {
    await store.write([
      ...recordCalls([
        modelCall({ callId: "a", agentId: "ann", runId: "run_a", costNanoUsd: 1_000_000_000n }),
        modelCall({ callId: "b", agentId: "bob", runId: "run_b", costNanoUsd: 900_000_000n }),
      ]),
      adjustCall("x", "a", { costNanoUsd: -400_000_000n }),
    ]);
    const costs = async (groupBy: Grouping) =>
      (await listCosts(store, { groupBy, sort: "cost", limit: 10, offset: 0 })).map(({ cost_usd }) =>
        cost_usd
      );
    for (let isRolledUp = false;; isRolledUp = true) {
      for (const groupBy of ["agent", "run"] as const) assert.deepEqual(await costs(groupBy), [0.9, 0.6]);
      if (isRolledUp) break;
      await store.write(rollUpTotals());
    }
  });

  test("a cost of zero is 0, an unknown one null, and both together a number", async (store) => {
    const costs = async (groupBy: Grouping) =>
      (await listCosts(store, { groupBy, limit: 10, offset: 0 })).map((
        row,
      ) => [row.model_calls, row.unpriced_calls, row.cost_usd]);
    assert.deepEqual(await costs("agent"), []);
    await store.write(recordCalls([modelCall({ callId: "a", costNanoUsd: null, runId: "r" })]));
    assert.deepEqual(await costs("agent"), [[1, 1, null]]);
    assert.equal((await readRunUsage(store, "r")).cost_usd, null);
    assert.equal((await readRunUsage(store, "none")).cost_usd, 0);
    await store.write(recordCalls([modelCall({ callId: "b", costNanoUsd: 0n })]));
    assert.deepEqual(await costs("agent"), [[2, 1, 0]]);
    await store.write(recordCalls([modelCall({ callId: "c", costNanoUsd: 1n })]));
    assert.deepEqual(await costs("day"), [[3, 1, 0.000000001]]);
  });

  test("a call that is reported later counts in the hour and the day in which it was made", async (store) => {
    const at = (text: string) => Date.parse(text);
    await store.write(
      recordCalls([modelCall({ callId: "now", at: at("2028-03-01T00:00:00.000Z"), sessionId: "s" })]),
    );
    await store.write(recordCalls([
      modelCall({ callId: "late", at: at("2028-02-29T23:59:59.999Z"), sessionId: "s", model: "old" }),
    ]));
    const rows = async (groupBy: Grouping) => await listCosts(store, { groupBy, limit: 10, offset: 0 });
    assert.deepEqual((await rows("day")).map((row) => row.day), ["2028-03-01", "2028-02-29"]);
    assert.deepEqual((await rows("hour")).map((row) => row.hour), [
      "2028-03-01T00:00:00.000Z",
      "2028-02-29T23:00:00.000Z",
    ]);
    // The latest call's model, not that of the call that was booked last.
    assert.equal((await rows("session"))[0]!.model, "echo");
  });

  test("a call is read from the ledger as it was booked", async (store) => {
    const calls = [
      modelCall({
        callId: "a",
        sessionId: "ses_1",
        runId: "run_1",
        step: 3,
        tools: ["calculator", "it's"],
        usage: usageOf({
          inputTokens: 9,
          cacheReadTokens: 3,
          cacheWriteTokens: 2,
          cacheWrite1hTokens: 1,
          outputTokens: 4,
          reasoningTokens: 1,
        }),
        costNanoUsd: 2n ** 53n + 1n,
        isEstimated: true,
        durationMs: 1.6,
      }),
      modelCall({
        callId: "b",
        sessionId: "ses_1",
        costNanoUsd: null,
        priceSource: "none",
        durationMs: null,
      }),
    ];
    await store.write(recordCalls(calls));
    const query = createQuery(store);
    const expected = calls.map(toCostEvent).map((event) => ({
      ...event,
      duration_ms: event.duration_ms && Math.round(event.duration_ms),
    }));
    assert.deepEqual(await listCalls(query, { sessionId: "ses_1", limit: 10 }), expected);
    assert.deepEqual(
      await listCalls(query, { sessionId: "ses_1", limit: 10, after: [calls[0]!.at, "a"] }),
      expected.slice(1),
    );
  });

  test("a thousand calls in one batch are a thousand rows", async (store) => {
    const calls = Array.from(
      { length: 1_000 },
      (_, i) => modelCall({ callId: `call_${i}`, costNanoUsd: BigInt(i) }),
    );
    await store.write(recordCalls(calls));
    const { rows } = await store.read({ sql: "SELECT count(*), sum(cost_nano_usd) FROM calls" });
    assert.deepEqual(rows[0], [1_000n, 499_500n]);
    assert.equal((await listCosts(store, { groupBy: "agent", limit: 1, offset: 0 }))[0]!.cost_usd, 0.0004995);
  });
}
