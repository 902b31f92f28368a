import assert from "node:assert/strict";
import { bookLooseCalls, rollUp } from "../src/calls/mod.ts";
import { type ModelCall, recordCalls } from "../src/ledger/mod.ts";
import { readRunBaseline, readRunCosts } from "../src/monitor/detect/baseline.ts";
import { listAnomalies } from "../src/anomalies/mod.ts";
import { startMonitor } from "../src/monitor/mod.ts";
import { usageOf } from "../src/pricing/mod.ts";
import type { Statement, Store } from "../src/store/mod.ts";
import { sendTo } from "./gateway/requests.ts";
import { answerTo } from "./harness/answers.ts";
import { createBooking, type TestBooking } from "./harness/booking.ts";
import { dialectKinds } from "./harness/databases.ts";
import { eagerClock } from "./harness/eager_clock.ts";
import { startFakeProvider } from "./harness/fake_provider.ts";
import { modelCall } from "./harness/model_calls.ts";
import { openTestPurser } from "./harness/test_purser.ts";

/** The monitor on calls outside of runs: of the gateway, metered and reported ones. */

const NOW = Date.parse("2026-11-21T09:30:00.000Z");
const HOUR = 3_600_000;
const CENT = 10_000_000n;
const USD = 100n * CENT;

let calls = 0;

type TestContext = TestBooking & { clock: ReturnType<typeof eagerClock> };

const callOf = (fields: Partial<ModelCall>) => modelCall({ callId: `call_${++calls}`, at: NOW, ...fields });
const book = (ctx: TestBooking, fields: Partial<ModelCall>) => bookLooseCalls(ctx, [callOf(fields)]);
const tokens = (inputTokens: number, cacheReadTokens = 0) =>
  usageOf({ inputTokens, cacheReadTokens, outputTokens: 2 });

/** Books calls that no process observed. */
const livePast = (ctx: TestBooking, past: Partial<ModelCall>[]) =>
  ctx.store.write(recordCalls(past.map(callOf)));

const found = async (ctx: TestBooking) =>
  (await listAnomalies(ctx, { limit: 100 })).map((anomaly) => ({
    ...anomaly,
    anomaly_id: "",
    detected_at: "",
  }))
    .reverse();
const messages = async (ctx: TestBooking) =>
  (await found(ctx)).map(({ severity, message }) => `${severity}: ${message}`);

for (const kind of dialectKinds()) {
  /** `other` is another process on the same database. */
  const test = (
    sentence: string,
    body: (ctx: TestContext, other: () => Promise<TestBooking>) => Promise<void>,
  ) =>
    Deno.test({
      name: `${kind.name}: ${sentence}`,
      ignore: kind.ignore,
      async fn() {
        await using database = await kind.create();
        const clock = eagerClock(NOW);
        const store = await database.open({ clock });
        await body(
          { ...await createBooking(store, { clock }), clock },
          () => createBooking(store, { clock }),
        );
      },
    });

  test("a session without a run whose input grows is found once, with the calls of its helpers in between", async (ctx) => {
    const monitor = startMonitor(ctx);
    const session = {
      sessionId: "claude:1",
      agentId: "laptop",
      provider: "anthropic",
      model: "claude-sonnet-4-5",
    };
    for (let i = 0; i <= 71; i++) {
      const before = i === 0 ? 0 : 5_000 * i;
      await book(ctx, { ...session, usage: tokens(5_000 * (i + 1), before) });
      // A helper with an input of its own, which repeats the tools' descriptions from the cache.
      if (i % 3 === 1) await book(ctx, { ...session, usage: tokens(4_500, 3_000) });
    }
    await monitor.stop();
    assert.deepEqual(await found(ctx), [{
      anomaly_id: "",
      kind: "growing_input",
      severity: "warning",
      agent_id: "laptop",
      session_id: "claude:1",
      run_id: null,
      call_id: (await found(ctx))[0]!.call_id,
      message: "The input of laptop grew from 5,000 to 100,000 tokens in 19 calls of one session",
      details: {
        provider: "anthropic",
        model: "claude-sonnet-4-5",
        first_input_tokens: 5_000,
        last_input_tokens: 100_000,
        steps: 19,
      },
      detected_at: "",
    }]);
  });

  test("questions about one cached text, in any order, are no growing input", async (ctx) => {
    const monitor = startMonitor(ctx);
    for (let i = 0; i < 300; i++) {
      const own = (i * 7_919) % 60_000;
      await book(ctx, { sessionId: "questions", usage: tokens(60_000 + own, 60_000) });
      await book(ctx, { sessionId: "batch", usage: tokens(1_000 + (i * 104_729) % 180_000) });
    }
    await monitor.stop();
    assert.deepEqual(await messages(ctx), []);
  });

  for (const unit of ["session", "run"] as const) {
    test(`a ${unit} that runs away to $18 is found without anything to compare it with`, async (ctx) => {
      const monitor = startMonitor(ctx);
      const place = unit === "run" ? { runId: "elsewhere" } : { sessionId: "nightly" };
      // Reported later: it ran two hours ago.
      for (let i = 0; i < 60; i++) {
        await book(ctx, { ...place, at: NOW - 2 * HOUR, costNanoUsd: 30n * CENT });
        await monitor.idle();
      }
      await monitor.stop();
      const [anomaly, ...others] = await found(ctx);
      assert.deepEqual(others, []);
      assert.equal(
        anomaly!.message,
        `A ${unit} of agent has cost $10.2, with too little before to compare it with`,
      );
      assert.deepEqual([anomaly!.kind, anomaly!.session_id, anomaly!.run_id], [
        "costly_run",
        unit === "session" ? "nightly" : null,
        unit === "run" ? "elsewhere" : null,
      ]);
      assert.deepEqual(anomaly!.details, {
        unit,
        cost_usd: 10.2,
        usual_cost_usd: null,
        limit_usd: 10,
        compared_with: 0,
      });
    });

    test(`a ${unit} is compared with those of its agent before, and is critical at five times the limit`, async (ctx) => {
      const placeOf = (name: string) => unit === "run" ? { runId: name } : { sessionId: name };
      const past = (agentId: string, cost: bigint) =>
        Array.from({ length: 12 }, (_, i) => ({
          ...{ ...placeOf(`${agentId}-${i}`), agentId, costNanoUsd: cost },
          at: NOW - (25 + i) * HOUR,
        }));
      await livePast(ctx, [...past("chat", 40n * CENT), ...past("research", 18n * USD)]);
      await rollUp(ctx);
      const monitor = startMonitor(ctx);
      for (const agentId of ["chat", "research"]) {
        const place = { ...placeOf(`${agentId}-new`), agentId, at: NOW - 2 * HOUR };
        for (let i = 0; i < 60; i++) {
          await book(ctx, { ...place, costNanoUsd: 30n * CENT });
          await monitor.idle();
        }
      }
      await monitor.idle();
      assert.deepEqual(await messages(ctx), [`warning: A ${unit} of chat has cost $5.1, usually $0.4`]);
      await book(ctx, { ...placeOf("chat-new"), agentId: "chat", at: NOW - 2 * HOUR, costNanoUsd: 7n * USD });
      await monitor.stop();
      assert.deepEqual(await messages(ctx), [
        `warning: A ${unit} of chat has cost $5.1, usually $0.4`,
        `critical: A ${unit} of chat has cost $25, usually $0.4`,
      ]);
    });
  }

  test("what other processes have spent in a session counts too", async (ctx, other) => {
    const second = await other();
    const monitor = startMonitor(ctx);
    for (let i = 0; i < 8; i++) {
      await book(second, { sessionId: "shared", at: NOW - 2 * HOUR, costNanoUsd: USD });
    }
    await book(ctx, { sessionId: "shared", at: NOW - 2 * HOUR, costNanoUsd: USD });
    await monitor.idle();
    assert.deepEqual(await messages(ctx), []);
    for (let i = 0; i < 2; i++) {
      await book(second, { sessionId: "shared", at: NOW - 2 * HOUR, costNanoUsd: USD });
    }
    ctx.clock.advance(15_000);
    await book(ctx, { sessionId: "shared", at: NOW - 2 * HOUR, costNanoUsd: USD });
    await monitor.stop();
    assert.deepEqual(await messages(ctx), [
      "warning: A session of agent has cost $12, with too little before to compare it with",
    ]);
  });

  test("of a session of several agents each one's spending counts by itself", async (ctx) => {
    const monitor = startMonitor(ctx);
    for (let i = 0; i < 30; i++) {
      for (const [agentId, cost] of [["ann", 50n * CENT], ["bob", 20n * CENT]] as const) {
        await book(ctx, { agentId, sessionId: "pair", at: NOW - 2 * HOUR, costNanoUsd: cost });
        await monitor.idle();
      }
    }
    await monitor.stop();
    assert.deepEqual(await messages(ctx), [
      "warning: A session of ann has cost $10, with too little before to compare it with",
    ]);
  });

  test("calls in no session and no run are found by the spending of their agent in an hour", async (ctx) => {
    const past = Array.from(
      { length: 20 },
      (_, i) => ({ agentId: "old", at: NOW - (1 + i) * HOUR, costNanoUsd: USD }),
    );
    await livePast(ctx, past);
    const monitor = startMonitor(ctx);
    for (const agentId of ["old", "new"]) {
      for (let i = 0; i < 60; i++) {
        await book(ctx, { agentId, costNanoUsd: 30n * CENT });
        await monitor.idle();
      }
    }
    assert.deepEqual(await messages(ctx), [
      "warning: old has spent $5.1 since 09:00 UTC, usually $1 an hour",
      "warning: new has spent $10.2 since 09:00 UTC, with too little before to compare it with",
    ]);
    // Without a usual amount it is known for the day.
    ctx.clock.advance(HOUR);
    for (const agentId of ["old", "new"]) {
      for (let i = 0; i < 60; i++) {
        await book(ctx, { agentId, at: NOW + HOUR, costNanoUsd: 30n * CENT });
        await monitor.idle();
      }
    }
    await monitor.stop();
    assert.deepEqual((await messages(ctx)).slice(2), [
      "warning: old has spent $5.1 since 10:00 UTC, usually $1 an hour",
    ]);
  });

  test("unpriced calls and estimates of none are no spending", async (ctx) => {
    const monitor = startMonitor(ctx);
    for (let i = 0; i < 20; i++) await book(ctx, { sessionId: "s", costNanoUsd: null });
    await monitor.stop();
    assert.deepEqual(await messages(ctx), []);
  });

  test("the costs of runs and sessions are read by their ids, and those before from the latest only", async (ctx) => {
    if (ctx.store.engine === "postgres") return; // its planner scans small tables
    for (const unit of ["run", "session"] as const) {
      const asked: Statement[] = [];
      const store = {
        read(statement: Statement) {
          asked.push(statement);
          return ctx.store.read(statement);
        },
      } as Store;
      await readRunCosts(store, unit, ["a"], "a");
      await readRunBaseline(store, { kind: unit, id: "a", key: "" }, { agentId: "a", now: NOW });
      assert.equal(asked.length, 2);
      for (const { sql, args } of asked) {
        const plan = (await ctx.store.read({ sql: `EXPLAIN QUERY PLAN ${sql}`, args })).rows.join("\n");
        assert.match(plan, new RegExp(`SEARCH (u|usage_${unit}s|calls) USING (INDEX|PRIMARY KEY)`), plan);
        assert.doesNotMatch(plan, /SCAN (u|usage_\w+|calls)\b/);
      }
    }
  });
}

Deno.test("a coding tool's session through the gateway, from 5,000 to 360,000 tokens and $18, is found", async () => {
  let input = 0;
  await using fake = await startFakeProvider((request) => {
    const cacheReadTokens = input;
    input += 5_000;
    return answerTo(request, {
      text: "Hi",
      usage: { inputTokens: input, cacheReadTokens, outputTokens: 8_000 },
    });
  });
  await using purser = await openTestPurser({ fake });
  const body = { model: "claude-sonnet-4-5", max_tokens: 9_000, messages: [{ role: "user", content: "Hi" }] };
  for (let i = 0; i < 72; i++) {
    const answer = await sendTo(purser, { path: "/v1/messages", body }, {
      headers: { "x-claude-code-session-id": "e2e" },
    });
    assert.equal(answer.status, 200);
    await answer.text();
  }
  await purser.core.monitor.idle();
  const { body: anomalies } = await purser.api("GET", "/anomalies");
  const kinds = anomalies.map((
    anomaly: Record<string, unknown>,
  ) => [anomaly.kind, anomaly.session_id, anomaly.run_id]);
  assert.deepEqual(kinds.sort(), [
    ["costly_hour", null, null],
    ["costly_run", "e2e", null],
    ["growing_input", "e2e", null],
  ]);
  const { body: total } = await purser.api("GET", "/costs/total?session_id=e2e");
  assert.ok(total.cost_usd > 10, `${total.cost_usd}`);
});
