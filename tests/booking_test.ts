import assert from "node:assert/strict";
import { listMessages } from "./harness/sessions.ts";
import fc from "#dev/fast_check.ts";
import { bookCall, reportCalls } from "../src/calls/mod.ts";
import { listCalls, listCosts } from "../src/ledger/mod.ts";
import { readRunCost } from "./harness/run_cost.ts";
import { getSession, listAllEvents, listSessionEvents, newMessage } from "../src/sessions/mod.ts";
import { beginRun, createBooking, dump, type TestBooking } from "./harness/booking.ts";
import { checkBooks } from "./harness/check_books.ts";
import { bookingTests, checkLog, hasCode, NOW, report } from "./harness/booking_tests.ts";
import { databaseKinds } from "./harness/databases.ts";
import { eagerClock } from "./harness/eager_clock.ts";
import { modelCall } from "./harness/model_calls.ts";
import { cases } from "./harness/thorough.ts";

for (const kind of databaseKinds()) {
  const { name, ignore } = kind;

  const test = bookingTests(kind);

  test("calls of a known session are in its log, others in no log, and all are in the ledger", async (ctx) => {
    const place = await beginRun(ctx, { sessionId: "ses_known" });
    await reportCalls(ctx, "report", [
      report("a", { sessionId: "ses_known", runId: place.runId }),
      report("b", { sessionId: "ses_unknown" }),
      report("c", { sessionId: "ses_known", runId: "run_elsewhere", agentId: "helper" }),
      report("d"),
      report("e", { sessionId: "ses_known", runId: place.runId }),
    ]);
    const log = await listSessionEvents(ctx, { sessionId: "ses_known", after: 0, limit: 100 });
    assert.deepEqual(log.map((event) => event.seq), [1, 2, 3, 4, 5]);
    assert.deepEqual(log.slice(2).map((event) => event.call_id).sort(), ["a", "c", "e"]);
    for (const event of log.slice(2)) {
      assert.equal(event.payload.call_id, event.call_id);
      assert.equal(event.payload.cost_usd, 0.000018);
      assert.equal(event.agent_id, event.payload.agent_id);
      assert.equal(event.run_id, event.payload.run_id);
    }
    const all = await listAllEvents(ctx, { after: 0, limit: 100 });
    const outside = all.filter((event) => event.session_id === null);
    assert.deepEqual(outside.map((event) => [event.call_id, event.seq]).sort(), [["b", null], ["d", null]]);
    assert.equal(outside.find((event) => event.call_id === "b")!.payload.session_id, "ses_unknown");
    assert.equal((await listCalls(ctx.query, { sessionId: "ses_unknown", limit: 10 })).length, 1);
    assert.equal((await listCosts(ctx.store, { groupBy: "session", limit: 10, offset: 0 })).length, 2);
  });

  test("bookCall books a run's call with its events and messages, and publishes them after the commit", async (ctx) => {
    const place = await beginRun(ctx);
    const at = ctx.clock.now();
    const state = await bookCall(ctx, {
      run: place,
      call: modelCall({ callId: "a", ...place, at, costNanoUsd: 7n }),
      progress: {
        events: [{ type: "tool.called", at, payload: { tool_name: "t\0" } }, {
          type: "model.called",
          at,
        }],
        messages: [newMessage(ctx.ids, at, { role: "assistant", content: "zero \0 and 🚢" })],
      },
    });
    assert.deepEqual(state, { lastSeq: 5, holdsSession: true, isCancelRequested: false });
    assert.equal(await readRunCost(ctx.store, place.runId), 7n);
    assert.deepEqual(
      ctx.published.map((event) => [event.type, event.seq]),
      [["tool.called", 3], ["model.called", 4], ["cost.recorded", 5]],
    );
    const log = await listSessionEvents(ctx, { sessionId: place.sessionId, after: 2, limit: 10 });
    assert.deepEqual(
      log.map(({ type, seq, payload }) => ({ type, seq, payload })),
      ctx.published.map((event) => ({
        type: event.type,
        seq: event.seq,
        payload: event.payload,
      })),
    );
    assert.equal((await getSession(ctx, place.sessionId)).message_count, 2);
    assert.equal((await listMessages(ctx, place.sessionId))[1]!.content, "zero \0 and 🚢");
  });

  test("concurrent calls of one session leave a log without gaps", async (ctx) => {
    const place = await beginRun(ctx);
    const at = ctx.clock.now();
    const states = await Promise.all(Array.from({ length: 50 }, (_, i) =>
      bookCall(ctx, {
        run: place,
        call: modelCall({ callId: `call_${i}`, ...place, at }),
        progress: { events: [{ type: "model.called", at, payload: { i } }], messages: [] },
      })));
    assert.deepEqual(states.map((state) => state.lastSeq), states.map((_, i) => 4 + 2 * i));
    assert.equal(await readRunCost(ctx.store, place.runId), 50_000n);
    for (const event of ctx.published.filter((event) => event.type === "cost.recorded")) {
      const [logged] = await listSessionEvents(ctx, {
        sessionId: place.sessionId,
        after: event.seq! - 1,
        limit: 1,
      });
      assert.equal(logged!.call_id, event.payload.call_id);
    }
  });

  test("a call that is already in the ledger is refused with all its events and messages", async (ctx) => {
    const place = await beginRun(ctx);
    const at = ctx.clock.now();
    const booking = {
      run: place,
      call: modelCall({ callId: "a", ...place, at }),
      progress: { events: [{ type: "model.called" as const, at }], messages: [] },
    };
    await bookCall(ctx, booking);
    const before = await dump(ctx.store);
    await assert.rejects(bookCall(ctx, booking));
    assert.deepEqual(await dump(ctx.store), before);
  });

  Deno.test({
    name: `${name}: any mix of reports leaves consistent totals and a log without gaps`,
    ignore,
    fn: () =>
      fc.assert(
        fc.asyncProperty(
          fc.array(
            fc.array(
              fc.record({
                id: fc.nat({ max: 12 }),
                sessionId: fc.constantFrom(null, "ses_known", "ses_unknown"),
                runId: fc.constantFrom(null, "run_1", "run_2"),
                agentId: fc.constantFrom("ann", "bob"),
              }),
              { maxLength: 8 },
            ),
            { maxLength: 6 },
          ),
          fc.boolean(),
          async (requests, isConcurrent) => {
            await using database = await kind.create();
            const clock = eagerClock(NOW);
            const ctx = await createBooking(await database.open({ clock }), { clock });
            await beginRun(ctx, { sessionId: "ses_known" });
            const send = async (request: typeof requests[number]) => {
              try {
                await reportCalls(
                  ctx,
                  "report",
                  request.map(({ id, ...fields }) => report(`call_${id}`, { ...fields, costUsd: 1 })),
                );
              } catch (error) {
                assert.ok(hasCode("conflict")(error), String(error));
              }
            };
            if (isConcurrent) await Promise.all(requests.map(send));
            else for (const request of requests) await send(request);
            await checkLog(ctx);
            await checkBooks(ctx.store);
          },
        ),
        { numRuns: cases(name === "memory" ? 20 : 5) },
      ),
  });

  if (name === "sqld") {
    Deno.test({
      name: "sqld: two instances that get the same report at once book it once",
      ignore,
      async fn() {
        await using database = await kind.create();
        const clock = eagerClock(NOW);
        const instances: TestBooking[] = [];
        for (let i = 0; i < 2; i++) {
          instances.push(await createBooking(await database.open({ clock }), { clock }));
        }
        for (let round = 0; round < 5; round++) {
          const reports = Array.from(
            { length: 10 },
            (_, i) => report(`call_${round}_${i}`, { runId: "run", costUsd: 1 }),
          );
          const outcomes = await Promise.all(instances.map((ctx) => reportCalls(ctx, "report", reports)));
          assert.equal(outcomes[0]!.booked + outcomes[1]!.booked, 10);
          assert.equal(outcomes[0]!.duplicates + outcomes[1]!.duplicates, 10);
        }
        assert.equal(await readRunCost(instances[0]!.store, "run"), 50_000_000_000n);
        await checkLog(instances[0]!);
      },
    });
  }
}
