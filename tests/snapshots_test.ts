import assert from "node:assert/strict";
import { bookCall } from "../src/booking/mod.ts";
import { PurserError } from "../src/errors.ts";
import { readSessionUsage } from "../src/ledger/mod.ts";
import {
  endRun,
  getRun,
  getSession,
  listMessages,
  listSessionEvents,
  newMessage,
} from "../src/sessions/mod.ts";
import { exportSession, listImportedEvents, sweepGenerations } from "../src/snapshots/mod.ts";
import { beginRun, createBooking, dump } from "./harness/booking.ts";
import { databaseKinds } from "./harness/databases.ts";
import { eagerClock } from "./harness/eager_clock.ts";
import { modelCall } from "./harness/model_calls.ts";
import { exportText, restore, snapshotOf, type TestSnapshots, withSnapshots } from "./harness/snapshots.ts";

const isError = (code: string, pattern: RegExp) => (error: unknown) => {
  assert.ok(error instanceof PurserError, String(error));
  assert.equal(error.code, code);
  assert.match(error.message, pattern);
  return true;
};

const NOTHING = { events: [], messages: [] };
const logOf = async (ctx: TestSnapshots, sessionId: string) =>
  (await listSessionEvents(ctx, { sessionId, after: 0, limit: 1_000 })).map((event) => event.type);
const textsOf = async (ctx: TestSnapshots, sessionId: string) =>
  (await listMessages(ctx, sessionId)).map((message) => message.content);

/** Books a call of a run, 1,000 input and 500 output tokens, with an answer to keep. */
function book(
  ctx: TestSnapshots,
  place: { sessionId: string; runId: string; agentId: string },
  text: string,
) {
  const at = ctx.clock.now();
  return bookCall(ctx, {
    place,
    call: modelCall({ callId: ctx.ids.next("call"), ...place, at }),
    progress: {
      events: [{ type: "model.called", at, payload: { text } }],
      messages: [newMessage(ctx.ids, at, { role: "assistant", content: text })],
    },
  });
}

/** A session with one run of one call, ended. */
async function makeSession(ctx: TestSnapshots, sessionId = "ses") {
  const place = await beginRun(ctx, { sessionId });
  await book(ctx, place, "an answer");
  await endRun(ctx, place, {
    status: "completed",
    output: "an answer",
    error: null,
    steps: 1,
    endedAt: ctx.clock.now(),
    event: { type: "run.completed", payload: {} },
  }, NOTHING);
  return place;
}

for (const kind of databaseKinds()) {
  const { name, ignore } = kind;
  const test = (sentence: string, body: (ctx: TestSnapshots) => Promise<void>): void => {
    Deno.test({
      name: `${name}: ${sentence}`,
      ignore,
      async fn() {
        await using database = await kind.create();
        const clock = eagerClock();
        await body(withSnapshots(await createBooking(await database.open({ clock }), { clock })));
      },
    });
  };

  test("an export has the format's fields, and nothing else changes", async (ctx) => {
    await makeSession(ctx);
    const before = await dump(ctx.store);
    const snapshot = JSON.parse(await exportText(ctx, { sessionId: "ses", tags: { why: "a=b" } }));
    assert.deepEqual(await dump(ctx.store), before);
    assert.deepEqual(Object.keys(snapshot), [
      "agent_id",
      "event_log_count",
      "exported_at",
      "schema_version",
      "session_id",
      "source_environment",
      "state",
      "tags",
      "integrity",
    ]);
    console.log(snapshot);
  });

  test("a session that is restored is as the file has it", async (ctx) => {
    const result = await restore(ctx, snapshotOf());
    console.log(
      result,
      await getSession(ctx, "ses"),
      await logOf(ctx, "ses"),
      await textsOf(ctx, "ses"),
      await dump(ctx.store),
    );
  });
}
