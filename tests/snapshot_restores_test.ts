import assert from "node:assert/strict";
import { getAgent } from "../src/agents/mod.ts";
import { toIso } from "../src/kernel/clock.ts";
import { getRun, getSession, listSessionEvents } from "../src/sessions/mod.ts";
import { GenerationsInUse, sweepGenerations } from "../src/snapshots/generations/mod.ts";
import type { Store } from "../src/store/mod.ts";
import { beginRun, dump } from "./harness/booking.ts";
import { endAs, event, isError, makeSession, snapshotTests } from "./harness/snapshot_tests.ts";
import { dialectKinds } from "./harness/databases.ts";
import { readRunCost } from "./harness/run_cost.ts";
import { restore, snapshotOf } from "./harness/snapshots.ts";
import { bookAnswer, listMessages, logOf, textsOf } from "./harness/sessions.ts";

/** Restores: the state that they replace and keep, and the rows that they stage. */

const USAGE = { input_tokens: 900, output_tokens: 100, total_tokens: 1_000, cost_usd: 0.42, model: "gpt-x" };

/** A store whose methods can be spread. */
const bind = (store: Store): Store => ({
  kind: store.kind,
  engine: store.engine,
  isShared: store.isShared,
  instances: store.instances,
  read: (statement) => store.read(statement),
  readLong: (statement) => store.readLong(statement),
  readAll: (statements) => store.readAll(statements),
  write: (statements) => store.write(statements),
  writeInSet: (writer, item) => store.writeInSet(writer, item),
  writes: store.writes,
  freeBytes: () => store.freeBytes(),
  close: () => store.close(),
});

for (const kind of dialectKinds()) {
  const test = snapshotTests(kind);

  test("a restored session is as in the file, and shows its origin", async (ctx) => {
    const snapshot = snapshotOf({ events: [event(1), event(2)] }, { status: "running", token_usage: USAGE });
    assert.deepEqual(await restore(ctx, snapshot), {
      agent_id: "agent",
      session_id: "ses",
      messages_restored: 2,
      dry_run: false,
      events_imported: 2,
      agent_defined: false,
      new_session: true,
      messages_before: 0,
      fenced_run_id: null,
    });
    const session = await getSession(ctx, "ses");
    assert.deepEqual(
      [session.agent_id, session.status, session.message_count, session.active_run_id, session.tags],
      ["agent", "interrupted", 2, null, { ticket: "4711" }],
    );
    assert.deepEqual(session.restored_from, {
      source_environment: "production",
      exported_at: "2026-11-20T08:01:00.000Z",
      restored_at: toIso(ctx.clock.now()),
      schema_version: 1,
      status: "running",
      event_log_count: 7,
      events_imported: 2,
      token_usage: USAGE,
    });
    assert.deepEqual(await listMessages(ctx, "ses"), snapshot.state.messages);
    assert.deepEqual(await logOf(ctx, "ses"), ["session.created", "session.restored"]);
    assert.equal(session.event_log_count, 2);
    assert.deepEqual(ctx.published.map(({ type, seq }) => [type, seq]), [
      ["session.created", 1],
      ["session.restored", 2],
    ]);
  });

  test("a restore replaces the messages; the log continues, and costs stay", async (ctx) => {
    await makeSession(ctx);
    const before = await dump(ctx.store);
    const result = await restore(ctx, snapshotOf({}, { token_usage: USAGE }));
    assert.deepEqual([result.new_session, result.messages_before], [false, 2]);
    const after = await dump(ctx.store);
    const MONEY = [
      "calls",
      "rollup_positions",
      "usage_runs",
      "usage_sessions",
      "usage_totals",
      "usage_days",
      "usage_hours",
      "spend_counters",
      "reservations",
    ];
    for (const table of [...MONEY, "runs", "agents"]) assert.deepEqual(after[table], before[table], table);
    assert.deepEqual(after.events!.slice(0, -1), before.events);
    assert.equal((await logOf(ctx, "ses")).at(-1), "session.restored");
    assert.deepEqual(await textsOf(ctx, "ses"), ["hello", "hi"]);
    assert.equal((await getSession(ctx, "ses")).token_usage.cost_usd, 0.000001);

    // And the session can be continued.
    const place = await beginRun(ctx, { sessionId: "ses" });
    await bookAnswer(ctx, place, "more");
    assert.deepEqual(await textsOf(ctx, "ses"), ["hello", "hi", "hello", "more"]);
    const log = await listSessionEvents(ctx, { sessionId: "ses", after: 0, limit: 100 });
    assert.deepEqual(log.map(({ seq }) => seq), log.map((_, index) => index + 1));
  });

  test("a dry run reports what would happen, and writes nothing", async (ctx) => {
    const isNew = await restore(ctx, snapshotOf({ agent: { model: "demo:echo" } }), { dryRun: true });
    assert.deepEqual([isNew.new_session, isNew.messages_before, isNew.agent_defined], [true, 0, true]);
    const place = await beginRun(ctx, { sessionId: "ses" });
    await bookAnswer(ctx, place, "kept");
    const before = await dump(ctx.store);
    const result = await restore(ctx, snapshotOf(), { dryRun: true });
    assert.deepEqual(
      [
        result.dry_run,
        result.new_session,
        result.messages_before,
        result.messages_restored,
        result.fenced_run_id,
      ],
      [true, false, 2, 2, place.runId],
    );
    assert.deepEqual(await dump(ctx.store), before);
  });

  test("a session that is another agent's is a conflict, and nothing is left of the attempt", async (ctx) => {
    await makeSession(ctx);
    const before = await dump(ctx.store);
    for (const dryRun of [true, false]) {
      await assert.rejects(
        restore(ctx, snapshotOf({ agent_id: "bob" }), { dryRun }),
        isError("conflict", /Cannot restore session ses of agent bob: here it belongs to agent agent/),
      );
    }
    assert.deepEqual(await dump(ctx.store), before);
  });

  test("a session that becomes another agent's while it is staged is a conflict too", async (ctx) => {
    const slow = {
      ...ctx,
      store: {
        ...bind(ctx.store),
        async write(statements: Parameters<typeof ctx.store.write>[0]) {
          // The session is created just before the flip.
          if (statements.length > 5) await beginRun(ctx, { sessionId: "ses", agentId: "bob" });
          return await ctx.store.write(statements);
        },
      },
    };
    await assert.rejects(restore(slow, snapshotOf()), isError("conflict", /here it belongs to agent bob/));
    assert.deepEqual(await textsOf(ctx, "ses"), ["hello"]);
    const { messages, loose_generations, imported_events } = await dump(ctx.store);
    assert.deepEqual([messages!.length, loose_generations, imported_events], [1, [], []]);
  });

  test("a run in progress is fenced off: its messages are refused, its calls booked, its end cancelled", async (ctx) => {
    const place = await beginRun(ctx, { sessionId: "ses" });
    await bookAnswer(ctx, place, "replaced");
    const reasons: string[] = [];
    ctx.liveRuns.set(place.runId, { cancel: (reason) => void reasons.push(reason) });
    const result = await restore(ctx, snapshotOf());
    assert.equal(result.fenced_run_id, place.runId);
    assert.deepEqual(reasons, ["its session was restored from a snapshot"]);
    const state = await bookAnswer(ctx, place, "refused");
    assert.deepEqual([state.holdsSession, state.isCancelRequested], [false, true]);
    assert.equal(await readRunCost(ctx.store, place.runId), 2_000n);
    await endAs(ctx, place);
    const run = await getRun(ctx, place.runId);
    assert.deepEqual([run.status, run.output, run.token_usage.model_calls], ["cancelled", null, 2]);
    assert.deepEqual(await textsOf(ctx, "ses"), ["hello", "hi"]);
    const session = await getSession(ctx, "ses");
    assert.deepEqual([session.status, session.active_run_id, session.message_count], ["completed", null, 2]);
    const log = await logOf(ctx, "ses");
    assert.deepEqual(log.slice(-4), ["session.restored", "model.called", "cost.recorded", "run.cancelled"]);
    assert.equal(session.event_log_count, log.length);
  });

  test("a definition is restored with a session only if the agent has none", async (ctx) => {
    const agent = { model: "demo:echo", system_prompt: "Be brief.", cost_budget_usd: 0.25, tools: ["x"] };
    assert.equal((await restore(ctx, snapshotOf({ agent }))).agent_defined, true);
    const defined = await getAgent(ctx, "agent");
    assert.deepEqual(
      [defined.model, defined.system_prompt, defined.cost_budget_usd, defined.max_steps, defined.tools],
      ["demo:echo", "Be brief.", 0.25, 20, ["x"]],
    );
    const again = await restore(
      ctx,
      snapshotOf({ session_id: "ses_2", agent: { ...agent, model: "other" } }),
    );
    assert.equal(again.agent_defined, false);
    assert.equal((await getAgent(ctx, "agent")).model, "demo:echo");
  });

  test("of two concurrent restores the session is one or the other, never a mix", async (ctx) => {
    const message = (text: string, index: number) => ({
      id: `${text}_${index}`,
      created_at: "2026-11-20T08:00:00.000Z",
      role: "user",
      content: text,
    });
    const document = (text: string, count: number) =>
      snapshotOf({}, { messages: Array.from({ length: count }, (_, index) => message(text, index)) });
    for (let round = 0; round < 5; round++) {
      const results = await Promise.all([
        restore(ctx, document("one", 1_500)),
        restore(ctx, document("two", 1_200)),
        restore(ctx, document("three", 3)),
      ]);
      assert.equal(results.filter((result) => result.new_session).length, round === 0 ? 1 : 0);
      const texts = await textsOf(ctx, "ses");
      assert.equal(new Set(texts).size, 1);
      assert.equal(texts.length, { one: 1_500, two: 1_200, three: 3 }[texts[0] as string]);
      assert.equal((await getSession(ctx, "ses")).message_count, texts.length);
    }
  });

  test("rows staged by a dead import are swept, and rows in use are not", async (ctx) => {
    await makeSession(ctx);
    const before = await dump(ctx.store);
    await ctx.store.write([
      { sql: "INSERT INTO loose_generations VALUES ('ses', 7, 'evt_dead', 0)" },
      ...Array.from({ length: 3 }, (_, index) => ({
        sql:
          `INSERT INTO messages (session_id, generation, position, message_id, created_at, content, is_whole)
VALUES ('ses', 7, ?, 'm', 1, '{}', 1)`,
        args: [index],
      })),
      { sql: "INSERT INTO imported_events VALUES ('ses', 7, 1, '{}')" },
    ]);
    const leave = ctx.generationsInUse.begin("evt_dead");
    await sweepGenerations(ctx);
    assert.equal((await dump(ctx.store)).messages!.length, before.messages!.length + 3);
    leave();
    await sweepGenerations(ctx);
    assert.deepEqual(await dump(ctx.store), before);
  });

  test("replaced rows are deleted at once by an exclusive process, and after an hour in a shared database", async (ctx) => {
    await makeSession(ctx);
    const replaced = (await dump(ctx.store)).messages!.length;
    await restore(ctx, snapshotOf());
    const kept = (await dump(ctx.store)).messages!.length - 2;
    if (!ctx.store.isShared) return assert.equal(kept, 0);
    assert.equal(kept, replaced);
    const age = (ms: number) =>
      ctx.store.write([{ sql: "UPDATE loose_generations SET since = since - ?", args: [ms] }]);
    await age(3_500_000);
    await sweepGenerations(ctx);
    assert.equal((await dump(ctx.store)).messages!.length, replaced + 2);
    await age(101_000);
    await sweepGenerations(ctx);
    const { messages, loose_generations } = await dump(ctx.store);
    assert.deepEqual([messages!.length, loose_generations], [2, []]);
  });

  test("an import that was taken for dead while it staged fails, and changes nothing", async (ctx) => {
    await makeSession(ctx);
    const texts = await textsOf(ctx, "ses");
    const slow = {
      ...ctx,
      store: {
        ...bind(ctx.store),
        async write(statements: Parameters<typeof ctx.store.write>[0]) {
          const isFlip = statements.some(({ sql }) => sql.startsWith("UPDATE sessions SET generation"));
          if (isFlip) {
            await ctx.store.write([{ sql: "UPDATE loose_generations SET since = 0" }]);
            await sweepGenerations(ctx);
          }
          return await ctx.store.write(statements);
        },
      },
      // As if it were another instance.
      generationsInUse: new GenerationsInUse(),
    };
    await assert.rejects(
      restore(slow, snapshotOf()),
      isError("unavailable", /it was so slow that it was swept as dead/),
    );
    assert.deepEqual(await textsOf(ctx, "ses"), texts);
    assert.equal((await logOf(ctx, "ses")).includes("session.restored"), false);
  });
}
