import assert from "node:assert/strict";
import { bookCall, bookLooseCalls } from "../src/calls/mod.ts";
import type { LogFields } from "../src/kernel/log.ts";
import { type ModelCall, recordCalls } from "../src/ledger/mod.ts";
import { listAnomalies } from "../src/anomalies/mod.ts";
import { type MonitorContext, startMonitor } from "../src/monitor/mod.ts";
import { readBaseline, readHours } from "../src/monitor/detect/baseline.ts";
import { usageOf } from "../src/pricing/mod.ts";
import { listAllEvents, type RunRef } from "../src/sessions/mod.ts";
import type { Statement, Store } from "../src/store/mod.ts";
import { beginRun, createBooking, type TestBooking } from "./harness/booking.ts";
import { dialectKinds } from "./harness/databases.ts";
import { eagerClock } from "./harness/eager_clock.ts";
import { modelCall } from "./harness/model_calls.ts";
import { openTestPurser } from "./harness/test_purser.ts";

const NOW = Date.parse("2026-11-21T09:30:00.000Z");
const HOUR = 3_600_000;
const CENT = 10_000_000n;
const OPS = { name: "ops", kind: "webhook", minSeverity: "info" } as const;
const PAGER = { name: "pager", kind: "webhook", minSeverity: "critical" } as const;

type Place = RunRef;
type TestContext = TestBooking & { clock: ReturnType<typeof eagerClock> };

let calls = 0;
const callId = () => `call_${++calls}`;

/** One step of a run: it calls tools, has so many input tokens, and a cost. */
async function step(
  ctx: TestBooking,
  place: Place,
  more: { tools?: [name: string, input: unknown][]; inputTokens?: number; cost?: bigint; step?: number } = {},
): Promise<void> {
  const at = ctx.clock.now();
  const tool_calls = (more.tools ?? []).map(([tool_name, input], i) => ({
    tool_call_id: `t${i}`,
    tool_name,
    input,
  }));
  await bookCall(ctx, {
    run: place,
    call: modelCall({
      callId: callId(),
      ...place,
      at,
      step: more.step ?? null,
      usage: usageOf({ inputTokens: more.inputTokens ?? 10, outputTokens: 2 }),
      costNanoUsd: more.cost ?? 1_000n,
    }),
    progress: { events: [{ type: "model.called", at, payload: { text: "", tool_calls } }], messages: [] },
  });
}

/** Earlier hours in each of which the agent made calls that were published on no bus. */
async function livePast(
  ctx: TestBooking,
  { hours = 20, callsPerHour = 2, ...fields }: Partial<ModelCall> & { hours?: number; callsPerHour?: number },
): Promise<void> {
  const past = Array.from(
    { length: hours * callsPerHour },
    (_, index) =>
      modelCall({ callId: callId(), at: NOW - HOUR * (1 + Math.floor(index / callsPerHour)), ...fields }),
  );
  await ctx.store.write(recordCalls(past));
}

const kindsOf = async (ctx: TestBooking) =>
  (await listAnomalies(ctx, { limit: 100 })).map(({ kind, severity }) => `${severity} ${kind}`);

const eventsOf = async (ctx: TestBooking) =>
  (await listAllEvents(ctx, { after: 0, limit: 10_000 })).filter(({ type }) =>
    (type as string) === "anomaly.detected"
  );

/** Every session's log counts from 1 without a gap, as its row says; every anomaly is in the log once. */
async function checkLog({ store }: { store: Store }): Promise<void> {
  const gaps = await store.read({
    sql:
      `SELECT s.session_id FROM sessions s LEFT JOIN events e ON e.session_id = s.session_id GROUP BY s.session_id
      HAVING s.event_count <> count(e.seq) OR s.event_count <> coalesce(max(e.seq), 0)`,
  });
  assert.deepEqual(gaps.rows, []);
  const untold = await store.read({
    sql: `SELECT a.anomaly_id FROM anomalies a WHERE 1 <> (SELECT count(*) FROM events e
      WHERE e.type = 'anomaly.detected' AND e.payload ->> 'anomaly_id' = a.anomaly_id)`,
  });
  assert.deepEqual(untold.rows, []);
}

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
        const ctx = { ...await createBooking(store, { clock }), clock };
        await body(ctx, () => createBooking(store, { clock }));
        await checkLog(ctx);
      },
    });

  test("the same tool call five times in a run is reported once, and once more when it is extreme", async (ctx) => {
    const monitor = startMonitor(ctx);
    const place = await beginRun(ctx, { agentId: "researcher" });
    const search = (order: boolean): [string, unknown] => [
      "search",
      order ? { query: "tides", limit: 5 } : { limit: 5, query: "tides" },
    ];
    for (let i = 0; i < 4; i++) await step(ctx, place, { tools: [search(i % 2 === 0)] });
    await monitor.idle();
    assert.deepEqual(await kindsOf(ctx), []);
    for (let i = 4; i < 24; i++) await step(ctx, place, { tools: [search(true)] });
    await monitor.idle();
    const [anomaly, ...others] = await listAnomalies(ctx, { limit: 100 });
    assert.deepEqual(others, []);
    assert.match(anomaly!.detected_at, /^2026-11-21T09:30:00\.\d{3}Z$/);
    assert.deepEqual({ ...anomaly, anomaly_id: "", detected_at: "" }, {
      anomaly_id: "",
      kind: "repeated_tool_call",
      severity: "warning",
      agent_id: "researcher",
      session_id: place.sessionId,
      run_id: place.runId,
      call_id: null,
      message: "researcher called search 5 times with the same input in one run",
      details: { tool_name: "search", times: 5 },
      detected_at: "",
    });
    const [event] = await eventsOf(ctx);
    const published = ctx.published.find(({ type }) => type === "anomaly.detected")!;
    assert.deepEqual(published.payload, anomaly);
    assert.deepEqual(
      [event!.seq, event!.session_id, event!.run_id, event!.payload],
      [published.seq, place.sessionId, place.runId, anomaly],
    );
    await step(ctx, place, { tools: [search(true)] });
    await step(ctx, place, { tools: [search(true)] });
    await monitor.stop();
    assert.deepEqual((await kindsOf(ctx)).sort(), [
      "critical repeated_tool_call",
      "warning repeated_tool_call",
    ]);
    await step(ctx, place, { tools: [search(true)] });
    assert.equal((await eventsOf(ctx)).length, 2);
    assert.deepEqual(ctx.errors, []);
  });

  test("a run whose input grows step after step is reported once, and a chat that does is not", async (ctx) => {
    const monitor = startMonitor(ctx);
    const place = await beginRun(ctx);
    const chat = await beginRun(ctx);
    for (let i = 0; i < 30; i++) {
      await step(ctx, place, { inputTokens: 5_000 + 6_000 * i, step: i });
      await step(ctx, chat, { inputTokens: 1_000 + 500 * i, step: i });
    }
    await monitor.stop();
    const [anomaly, ...others] = await listAnomalies(ctx, { limit: 100 });
    assert.deepEqual(others, []);
    assert.equal(anomaly!.run_id, place.runId);
    assert.deepEqual(anomaly!.details, {
      provider: "demo",
      model: "echo",
      first_input_tokens: 5_000,
      last_input_tokens: 101_000,
      steps: 16,
    });
  });

  test("a costly call is reported against the ledger by a process that has just started", async (ctx) => {
    await livePast(ctx, { agentId: "agent", costNanoUsd: 2n * CENT });
    await livePast(ctx, { agentId: "other", costNanoUsd: 900n * CENT });
    const monitor = startMonitor(ctx);
    const place = await beginRun(ctx);
    await step(ctx, place, { cost: 19n * CENT });
    await monitor.idle();
    assert.deepEqual(await kindsOf(ctx), []);
    await step(ctx, place, { cost: 25n * CENT });
    await step(ctx, place, { cost: 30n * CENT });
    await step(ctx, await beginRun(ctx, { agentId: "other" }), { cost: 900n * CENT });
    await step(ctx, await beginRun(ctx, { agentId: "newcomer" }), { cost: 900n * CENT });
    await monitor.idle();
    const [anomaly, ...others] = await listAnomalies(ctx, { limit: 100 });
    assert.deepEqual(others, []);
    assert.equal(anomaly!.message, "A call of agent to echo cost $0.25, usually $0.02");
    assert.deepEqual(anomaly!.details, {
      provider: "demo",
      model: "echo",
      cost_usd: 0.25,
      usual_cost_usd: 0.02,
      limit_usd: 0.2,
      hours: 20,
    });
    await step(ctx, place, { cost: 100n * CENT });
    await monitor.stop();
    assert.deepEqual((await kindsOf(ctx)).sort(), ["critical costly_call", "warning costly_call"]);
  });

  test("a costly call without a run is reported by itself, in no unknown session", async (ctx) => {
    await livePast(ctx, { agentId: "agent", costNanoUsd: 2n * CENT });
    const monitor = startMonitor(ctx);
    const loose = (fields: Partial<ModelCall>) =>
      modelCall({
        callId: callId(),
        at: NOW,
        costNanoUsd: 50n * CENT,
        sessionId: "ses_elsewhere",
        ...fields,
      });
    await bookLooseCalls(ctx, [
      loose({ callId: "a/b" }),
      loose({ callId: "c" }),
      loose({ costNanoUsd: null }),
      loose({ model: "another" }),
      loose({ at: NOW - 25 * HOUR }),
    ]);
    await monitor.stop();
    const found = await listAnomalies(ctx, { limit: 100 });
    assert.deepEqual(found.map((anomaly) => [anomaly.call_id, anomaly.session_id]).sort(), [
      ["a/b", "ses_elsewhere"],
      ["c", "ses_elsewhere"],
    ]);
    for (const event of await eventsOf(ctx)) assert.deepEqual([event.session_id, event.seq], [null, null]);
    const published = ctx.published.filter(({ type }) => type === "anomaly.detected");
    assert.deepEqual(published.map(({ session_id, seq }) => [session_id, seq]), [
      ["ses_elsewhere", null],
      ["ses_elsewhere", null],
    ]);
  });

  test(
    "calls faster than usual are reported once an hour, those of other processes too",
    async (ctx, other) => {
      await livePast(ctx, { agentId: "agent", callsPerHour: 30 });
      const fast = (count: number, at: number) =>
        Array.from({ length: count }, () => modelCall({ callId: callId(), at }));
      await bookLooseCalls(await other(), fast(148, NOW));
      const monitor = startMonitor(ctx);
      await bookLooseCalls(ctx, fast(1, NOW));
      await monitor.idle();
      assert.deepEqual(await kindsOf(ctx), []);
      await bookLooseCalls(ctx, fast(3, NOW));
      await monitor.idle();
      const [anomaly, ...others] = await listAnomalies(ctx, { limit: 100 });
      assert.deepEqual(others, []);
      assert.equal(anomaly!.message, "agent made 152 calls since 09:00 UTC, usually 30 an hour");
      assert.deepEqual(anomaly!.details, {
        hour: "2026-11-21T09:00:00.000Z",
        calls: 152,
        usual_calls: 30,
        limit_calls: 150,
        hours: 20,
      });
      await bookLooseCalls(ctx, fast(100, NOW));
      await bookLooseCalls(ctx, fast(300, NOW - HOUR)); // reported later: they were made in another hour
      await monitor.idle();
      assert.deepEqual(await kindsOf(ctx), ["warning fast_calls"]);
      ctx.clock.advance(HOUR);
      await bookLooseCalls(ctx, fast(200, NOW + HOUR));
      await monitor.stop();
      assert.deepEqual(await kindsOf(ctx), ["warning fast_calls", "warning fast_calls"]);
    },
  );

  test(
    "two processes that detect the same keep one anomaly, one event and one notification",
    async (ctx, other) => {
      const second = await other();
      const wake: string[] = [];
      const monitors = [ctx, second].map((each) =>
        startMonitor({
          ...each,
          outboxChannels: [OPS, PAGER],
          wakeDispatcher: (ids) => void wake.push(...ids),
          notifyAnomaliesFrom: "warning",
        })
      );
      const place = await beginRun(ctx);
      ctx.bus.subscribe((event) => second.bus.publish(event));
      ctx.bookedCalls.subscribe((call) => second.bookedCalls.publish(call));
      for (let i = 0; i < 8; i++) await step(ctx, place, { tools: [["ping", null]] });
      for (const monitor of monitors) await monitor.stop();
      const anomalies = await listAnomalies(ctx, { limit: 100 });
      assert.equal(anomalies.length, 1);
      assert.equal((await eventsOf(ctx)).length, 1);
      const { rows } = await ctx.store.read({
        sql: "SELECT subject_id, channel, kind, status FROM deliveries",
      });
      assert.deepEqual(rows, [[anomalies[0]!.anomaly_id, "ops", "webhook", "pending"]]);
      assert.deepEqual(wake, [anomalies[0]!.anomaly_id]);
    },
  );

  test("channels get anomalies only if configured, and none below the severity", async (ctx) => {
    const outboxChannels = [OPS, PAGER];
    for (const notifyAnomaliesFrom of [undefined, "critical"] as const) {
      const monitor = startMonitor({ ...ctx, outboxChannels, notifyAnomaliesFrom });
      const place = await beginRun(ctx);
      for (let i = 0; i < 24; i++) await step(ctx, place, { tools: [["ping", {}]] });
      await monitor.stop();
    }
    assert.deepEqual(await kindsOf(ctx), ["warning repeated_tool_call", "warning repeated_tool_call"]);
    assert.deepEqual((await ctx.store.read({ sql: "SELECT * FROM deliveries" })).rows, []);
    const monitor = startMonitor({ ...ctx, outboxChannels, notifyAnomaliesFrom: "critical" });
    const place = await beginRun(ctx);
    for (let i = 0; i < 25; i++) await step(ctx, place, { tools: [["ping", {}]] });
    await monitor.stop();
    const { rows } = await ctx.store.read({ sql: "SELECT channel FROM deliveries ORDER BY channel" });
    assert.deepEqual(rows, [["ops"], ["pager"]]);
  });

  test("the usual rates are read hour by hour and from the calls after the rollup, never from all calls", async (ctx) => {
    if (ctx.store.engine === "postgres") return; // its planner scans small tables
    const asked: Statement[] = [];
    const store = {
      read(statement: Statement) {
        asked.push(statement);
        return ctx.store.read(statement);
      },
    } as Store;
    await readBaseline(store, "a", NOW);
    await readHours(store, NOW, ["a"]);
    assert.equal(asked.length, 2);
    for (const { sql, args } of asked) {
      const plan = (await ctx.store.read({ sql: `EXPLAIN QUERY PLAN ${sql}`, args })).rows.join("\n");
      assert.match(plan, /SEARCH s USING PRIMARY KEY \(hour=\? AND agent_id=\?\)/);
      assert.match(plan, /SEARCH calls USING INTEGER PRIMARY KEY \(rowid>\?\)/);
      assert.doesNotMatch(plan, /SCAN (s|calls)\b/);
    }
  });
}

/** A context over a store that fails every access, with its logged warnings. */
async function openBroken(): Promise<MonitorContext & { warnings: [string, LogFields | undefined][] }> {
  const warnings: [string, LogFields | undefined][] = [];
  const gone = () => Promise.reject(new Error("the database is gone"));
  const store = { kind: "memory", read: gone, readAll: gone, write: gone, close: gone } as unknown as Store;
  const ctx = await createBooking(store, { clock: eagerClock(NOW) });
  return { ...ctx, log: { ...ctx.log, warn: (...line) => void warnings.push([line[0], line[1]]) }, warnings };
}

function publishCalls({ bookedCalls }: MonitorContext, count: number): void {
  for (let i = 0; i < count; i++) {
    bookedCalls.publish(modelCall({ callId: `call_${i}`, agentId: `agent_${i}` }));
  }
}

Deno.test("an unavailable database is logged, and does not block the end of the process", async () => {
  const ctx = await openBroken();
  const monitor = startMonitor(ctx);
  publishCalls(ctx, 1_000);
  await monitor.stop();
  assert.equal(ctx.warnings.length, 1);
  assert.deepEqual(ctx.warnings[0]![1], {
    doing: "comparing calls with the ledger",
    reason: "the database is gone",
  });
});

Deno.test("more events than the monitor can handle are dropped, with one warning", async () => {
  const ctx = await openBroken();
  const monitor = startMonitor(ctx);
  publishCalls(ctx, 100_000);
  await monitor.stop();
  assert.equal(ctx.warnings.filter(([, fields]) => fields?.doing === "watching runs").length, 1);
});

Deno.test("demo agents and ordinary runs raise no anomaly", async () => {
  await using purser = await openTestPurser();
  const monitor = startMonitor({ ...purser.core, outboxChannels: [], wakeDispatcher() {} });
  for (let i = 0; i < 3; i++) {
    await purser.run({ tools: ["calculator", "current_time"] }, `What is 17 * ${i}, and what time is it?`, {
      sessionId: "ses_1",
    });
    await purser.run(
      { agentId: "looper", model: "demo:loop", tools: ["calculator"], maxSteps: 50 },
      "Continue",
    );
  }
  await monitor.stop();
  assert.deepEqual(await listAnomalies(purser.core, { limit: 10 }), []);
  assert.deepEqual((await purser.api("GET", "/anomalies")).body, []);
});
