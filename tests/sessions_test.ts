import assert from "node:assert/strict";
import { bookCall } from "../src/calls/mod.ts";
import { PurserError } from "../src/kernel/errors.ts";
import { readSessionUsage } from "../src/ledger/mod.ts";
import {
  appendEvents,
  countInSessions,
  endRun,
  getRun,
  getSession,
  lastEventId,
  listAllEvents,
  listSessionEvents,
  listSessions,
  newMessage,
  readMessages,
  recoverRuns,
  renewLease,
  requestCancel,
} from "../src/sessions/mod.ts";
import { beginRun, createBooking, dump, type TestBooking } from "./harness/booking.ts";
import { dialectKinds } from "./harness/databases.ts";
import { eagerClock } from "./harness/eager_clock.ts";
import { modelCall } from "./harness/model_calls.ts";
import { readRunCost } from "./harness/run_cost.ts";
import { bookAnswer, listMessages, logOf, textsOf } from "./harness/sessions.ts";

const isConflict = (pattern: RegExp) => (error: unknown) => {
  assert.ok(error instanceof PurserError, String(error));
  assert.equal(error.code, "conflict");
  assert.match(error.message, pattern);
  return true;
};

const END = {
  status: "completed" as const,
  output: "done",
  error: null,
  steps: 0,
  event: { type: "run.completed" as const, payload: {} },
};
const NOTHING = { events: [], messages: [] };

for (const kind of dialectKinds()) {
  const { name, ignore } = kind;

  const test = (sentence: string, body: (ctx: TestBooking) => Promise<void>): void => {
    Deno.test({
      name: `${name}: ${sentence}`,
      ignore,
      async fn() {
        await using database = await kind.create();
        const clock = eagerClock();
        await body(await createBooking(await database.open({ clock }), { clock }));
      },
    });
  };

  test("a run creates its session, claims it, and stores the user's message", async (ctx) => {
    const place = await beginRun(ctx, { sessionId: "ses", costBudgetNanoUsd: 5n, budgetMode: "strict" });
    assert.equal(place.lastSeq, 2);
    assert.deepEqual(await logOf(ctx, "ses"), ["session.created", "run.started"]);
    const session = await getSession(ctx, "ses");
    assert.deepEqual(
      [
        session.agent_id,
        session.status,
        session.active_run_id,
        session.message_count,
        session.event_log_count,
      ],
      ["agent", "running", place.runId, 1, 2],
    );
    assert.deepEqual(await textsOf(ctx, "ses"), ["hello"]);
    const run = await getRun(ctx, place.runId);
    assert.deepEqual(
      [run.status, run.cost_budget_usd, run.budget_mode, run.ended_at, run.steps],
      ["running", 0.000000005, "strict", null, 0],
    );
  });

  test("of two runs on one session the second is a conflict, and leaves nothing behind", async (ctx) => {
    const first = await beginRun(ctx, { sessionId: "ses" });
    const before = await dump(ctx.store);
    await assert.rejects(
      beginRun(ctx, { sessionId: "ses" }),
      isConflict(new RegExp(`run ${first.runId} is in progress`)),
    );
    assert.deepEqual(await dump(ctx.store), before);
  });

  test("of many runs that start on one session at once, one starts", async (ctx) => {
    const outcomes = await Promise.allSettled(
      Array.from({ length: 16 }, () => beginRun(ctx, { sessionId: "ses" })),
    );
    assert.equal(outcomes.filter((outcome) => outcome.status === "fulfilled").length, 1);
    for (const outcome of outcomes) {
      if (outcome.status === "rejected") isConflict(/is in progress/)(outcome.reason);
    }
    assert.deepEqual(await logOf(ctx, "ses"), ["session.created", "run.started"]);
    assert.deepEqual(await textsOf(ctx, "ses"), ["hello"]);
    assert.equal((await ctx.store.read({ sql: "SELECT count(*) FROM runs" })).rows[0]![0], 1n);
  });

  test("a session of another agent is a conflict, busy or not", async (ctx) => {
    const first = await beginRun(ctx, { sessionId: "ses", agentId: "ann" });
    const pattern = /Cannot run bob on session ses: it belongs to agent ann/;
    await assert.rejects(beginRun(ctx, { sessionId: "ses", agentId: "bob" }), isConflict(pattern));
    await endRun(ctx, first, { ...END, endedAt: ctx.clock.now() }, NOTHING);
    const before = await dump(ctx.store);
    await assert.rejects(beginRun(ctx, { sessionId: "ses", agentId: "bob" }), isConflict(pattern));
    assert.deepEqual(await dump(ctx.store), before);
  });

  test("a session continues with its next run: messages in order, the log without a gap", async (ctx) => {
    for (let i = 0; i < 3; i++) {
      const place = await beginRun(ctx, { sessionId: "ses" });
      await bookAnswer(ctx, place, `answer ${i}`);
      await endRun(ctx, place, { ...END, steps: 1, endedAt: ctx.clock.now() }, {
        events: [],
        messages: [newMessage(ctx.ids, ctx.clock.now(), { role: "assistant", content: `last ${i}` })],
      });
      const run = await getRun(ctx, place.runId);
      assert.deepEqual([run.status, run.output, run.steps], ["completed", "done", 1]);
    }
    assert.deepEqual(
      await textsOf(ctx, "ses"),
      [0, 1, 2].flatMap((i) => ["hello", `answer ${i}`, `last ${i}`]),
    );
    const log = await listSessionEvents(ctx, { sessionId: "ses", after: 0, limit: 100 });
    assert.deepEqual(log.map((event) => event.seq), Array.from({ length: 13 }, (_, i) => i + 1));
    const session = await getSession(ctx, "ses");
    assert.deepEqual(
      [session.status, session.active_run_id, session.message_count, session.event_log_count],
      [
        "completed",
        null,
        9,
        13,
      ],
    );
    assert.equal(session.token_usage.model_calls, 3);
  });

  test("a run that has lost its session stores no more messages, and still books its calls", async (ctx) => {
    const place = await beginRun(ctx, { sessionId: "ses" });
    assert.equal((await bookAnswer(ctx, place, "kept")).holdsSession, true);
    await ctx.store.write([{ sql: "UPDATE sessions SET active_run_id = 'run_other', status = 'running'" }]);
    const state = await bookAnswer(ctx, place, "refused");
    assert.equal(state.holdsSession, false);
    assert.deepEqual(await textsOf(ctx, "ses"), ["hello", "kept"]);
    assert.equal(await readRunCost(ctx.store, place.runId), 2_000n);
    assert.equal((await readSessionUsage(ctx.store, ["ses"])).get("ses")!.model_calls, 2);
    const ended = await endRun(ctx, place, { ...END, endedAt: ctx.clock.now() }, {
      events: [],
      messages: [newMessage(ctx.ids, ctx.clock.now(), { role: "assistant", content: "refused too" })],
    });
    const session = await getSession(ctx, "ses");
    assert.deepEqual([session.status, session.active_run_id, session.message_count], [
      "running",
      "run_other",
      2,
    ]);
    const run = await getRun(ctx, place.runId);
    assert.deepEqual([run.status, run.output, ended.end.status], ["cancelled", null, "cancelled"]);
    const log = await listSessionEvents(ctx, { sessionId: "ses", after: 0, limit: 100 });
    assert.equal(session.event_log_count, log.length);
    assert.equal(log.at(-1)!.type, "run.cancelled");
    assert.match(String(log.at(-1)!.payload.reason), /its session was taken from it/);
  });

  test("a request to cancel is seen at the run's next commit", async (ctx) => {
    const place = await beginRun(ctx);
    assert.equal((await bookAnswer(ctx, place, "one")).isCancelRequested, false);
    await requestCancel(ctx, place.runId);
    assert.equal((await bookAnswer(ctx, place, "two")).isCancelRequested, true);
    assert.equal((await renewLease(ctx, place)).isCancelRequested, true);
    const event = { type: "run.cancelled" as const };
    await endRun(ctx, place, { ...END, status: "cancelled", event, endedAt: ctx.clock.now() }, NOTHING);
    await assert.rejects(requestCancel(ctx, place.runId), isConflict(/it has ended \(cancelled\)/));
    await assert.rejects(
      requestCancel(ctx, "run_none"),
      (error) => error instanceof PurserError && error.code === "not_found",
    );
  });

  test("recovery interrupts a dead process's run, frees its session and keeps its messages", async (ctx) => {
    const dead = [await beginRun(ctx, { sessionId: "ses_1" }), await beginRun(ctx, { sessionId: "ses_2" })];
    await bookAnswer(ctx, dead[0]!, "kept");
    const ended = await beginRun(ctx, { sessionId: "ses_3" });
    await endRun(ctx, ended, { ...END, endedAt: ctx.clock.now() }, NOTHING);
    await ctx.store.write([
      {
        sql:
          "INSERT INTO reservations (scope, at, reservation_id, worst_nano_usd, estimate_nano_usd, expires_at) VALUES ('run ' || ?, 0, 'r1', 1, 1, 9999999999999)",
        args: [dead[0]!.runId],
      },
      {
        sql:
          "INSERT INTO reservations (scope, at, reservation_id, worst_nano_usd, estimate_nano_usd, expires_at) VALUES ('run ' || 'run_other', 0, 'r2', 1, 1, 9999999999999)",
      },
      { sql: "UPDATE runs SET lease_until = 1" },
    ]);
    assert.deepEqual((await recoverRuns(ctx)).sort(), dead.map((run) => run.runId).sort());
    for (const { runId, sessionId } of dead) {
      const run = await getRun(ctx, runId);
      assert.equal(run.status, "interrupted");
      assert.notEqual(run.ended_at, null);
      const session = await getSession(ctx, sessionId);
      assert.deepEqual([session.status, session.active_run_id], ["interrupted", null]);
      const log = await logOf(ctx, sessionId);
      assert.equal(log.at(-1), "run.interrupted");
      assert.equal(session.event_log_count, log.length);
    }
    assert.equal((await getRun(ctx, dead[0]!.runId)).steps, 1);
    assert.deepEqual(await textsOf(ctx, "ses_1"), ["hello", "kept"]);
    assert.equal((await getRun(ctx, ended.runId)).status, "completed");
    assert.deepEqual((await ctx.store.read({ sql: "SELECT reservation_id FROM reservations" })).rows, [[
      "r2",
    ]]);

    const before = await dump(ctx.store);
    assert.deepEqual(await recoverRuns(ctx), []);
    assert.deepEqual(await dump(ctx.store), before);

    // And the session can be continued.
    const next = await beginRun(ctx, { sessionId: "ses_1" });
    assert.deepEqual(await textsOf(ctx, "ses_1"), ["hello", "kept", "hello"]);
    await bookAnswer(ctx, next, "more");
  });

  test("a run that was wrongly taken for dead is fenced off", async (ctx) => {
    const place = await beginRun(ctx, { sessionId: "ses" });
    await ctx.store.write([{ sql: "UPDATE runs SET lease_until = 1" }]);
    await recoverRuns(ctx);
    const successor = await beginRun(ctx, { sessionId: "ses" });
    const state = await bookAnswer(ctx, place, "late");
    assert.equal(state.holdsSession, false);
    await endRun(ctx, place, { ...END, endedAt: ctx.clock.now() }, NOTHING);
    assert.equal((await getRun(ctx, place.runId)).status, "interrupted");
    const session = await getSession(ctx, "ses");
    assert.deepEqual([session.status, session.active_run_id], ["running", successor.runId]);
    assert.deepEqual(await textsOf(ctx, "ses"), ["hello", "hello"]);
    assert.equal(await readRunCost(ctx.store, place.runId), 1_000n);
  });

  test("a session whose run was taken over in between is not freed by the recovery", async (ctx) => {
    const place = await beginRun(ctx, { sessionId: "ses" });
    await ctx.store.write([
      { sql: "UPDATE sessions SET active_run_id = 'run_other'" },
      { sql: "UPDATE runs SET lease_until = 1" },
    ]);
    assert.deepEqual(await recoverRuns(ctx), [place.runId]);
    const session = await getSession(ctx, "ses");
    assert.deepEqual([session.status, session.active_run_id], ["running", "run_other"]);
    assert.equal((await getRun(ctx, place.runId)).status, "interrupted");
  });

  test("events are read in pages, by session and over all", async (ctx) => {
    for (const sessionId of ["ses_1", "ses_2"]) {
      const place = await beginRun(ctx, { sessionId });
      for (let i = 0; i < 5; i++) await bookAnswer(ctx, place, String(i));
    }
    const all = await listAllEvents(ctx, { after: 0, limit: 100 });
    assert.equal(all.length, 24);
    assert.equal(await lastEventId(ctx), all.at(-1)!.event_id);
    const paged = [];
    for (let after = 0;;) {
      const page = await listAllEvents(ctx, { after, limit: 7 });
      paged.push(...page);
      if (page.length === 0) break;
      after = page.at(-1)!.event_id;
    }
    assert.deepEqual(paged, all);
    const own = await listSessionEvents(ctx, { sessionId: "ses_2", after: 4, limit: 3 });
    assert.deepEqual(own.map((event) => event.seq), [5, 6, 7]);
    assert.deepEqual(await listSessionEvents(ctx, { sessionId: "none", after: 0, limit: 3 }), []);
  });

  test("the events of many sessions in one commit are numbered in the order of each session's log", async (ctx) => {
    const sessionIds = Array.from({ length: 30 }, (_, n) => `ses_${n * 7 % 30}`);
    for (const sessionId of sessionIds) await beginRun(ctx, { sessionId });
    const event = { type: "tool.called" as const, at: 1, payload: {} };
    const events = Array.from({ length: 10 }, () => sessionIds).flat()
      .map((sessionId) => ({ sessionId, runId: "run", agentId: "agent", event }));
    await ctx.store.write([...appendEvents(events), ...countInSessions(events, [])]);
    const all = await listAllEvents(ctx, { after: 0, limit: 500 });
    for (const sessionId of sessionIds) {
      const seqs = all.filter(({ session_id }) => session_id === sessionId).map(({ seq }) => seq);
      assert.deepEqual(seqs, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
    }
  });

  test("sessions are listed latest first, in pages, and by agent", async (ctx) => {
    for (let i = 0; i < 7; i++) {
      await beginRun(ctx, { sessionId: `ses_${i}`, agentId: i % 2 ? "odd" : "even" });
      if (i % 3 === 0) (ctx.clock as ReturnType<typeof eagerClock>).advance(1_000);
    }
    const all = await listSessions(ctx, { limit: 100 });
    assert.deepEqual(all.map((session) => session.session_id), [6, 5, 4, 3, 2, 1, 0].map((i) => `ses_${i}`));
    const paged: typeof all = [];
    for (;;) {
      const last = paged.at(-1);
      const before: [number, string] | undefined = last && [Date.parse(last.updated_at), last.session_id];
      const page = await listSessions(ctx, { limit: 2, before });
      paged.push(...page);
      if (page.length < 2) break;
    }
    assert.deepEqual(paged, all);
    const odd = await listSessions(ctx, { agentId: "odd", limit: 100 });
    assert.deepEqual(odd.map((session) => session.session_id), ["ses_5", "ses_3", "ses_1"]);
  });

  test("what does not exist is not found", async (ctx) => {
    const isNotFound = (error: unknown) => error instanceof PurserError && error.code === "not_found";
    await assert.rejects(getSession(ctx, "none"), isNotFound);
    await assert.rejects(getRun(ctx, "none"), isNotFound);
    assert.deepEqual(await listMessages(ctx, "none"), []);
  });

  test("messages of more bytes than are allowed are refused before they are read", async (ctx) => {
    const input = newMessage(ctx.ids, ctx.clock.now(), { role: "user", content: "é".repeat(100_000) });
    const { sessionId } = await beginRun(ctx, { sessionId: "ses", input });
    const refused = (maxBytes: number) => readMessages(ctx, sessionId, { maxBytes });
    assert.equal((await refused(200_200)).messages.length, 1);
    for (const maxBytes of [200_000, 1_000]) {
      await assert.rejects(refused(maxBytes), (error) => {
        assert.ok(error instanceof PurserError && error.code === "too_large");
        assert.match(
          error.message,
          new RegExp(
            `ses for a run: its messages have more than the ${maxBytes} bytes that max_context_bytes`,
          ),
        );
        return true;
      });
    }
  });

  test("any messages and event payloads are read as they were written", async (ctx) => {
    const place = await beginRun(ctx, { sessionId: "ses" });
    const contents = [
      "",
      "zero \0, quotes \"'`, backslash \\u0000 \\",
      "\u2028 🚢 漢字",
      [{ type: "text", text: "a\0b" }, {
        type: "tool-call",
        toolCallId: "1",
        toolName: "t",
        input: { a: [1.5, null, true] },
      }],
      "x".repeat(200_000),
    ];
    await bookCall(ctx, {
      run: place,
      call: modelCall({ callId: "call", ...place }),
      progress: {
        events: contents.map((content, at) => ({ type: "tool.returned" as const, at, payload: { content } })),
        messages: contents.map((content) => newMessage(ctx.ids, 1, { role: "assistant", content })),
      },
    });
    assert.deepEqual((await textsOf(ctx, "ses")).slice(1), contents);
    const log = await listSessionEvents(ctx, { sessionId: "ses", after: 2, limit: 100 });
    assert.deepEqual(log.slice(0, -1).map((event) => event.payload.content), contents);
  });
}
