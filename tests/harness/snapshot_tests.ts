import assert from "node:assert/strict";
import { PurserError } from "../../src/kernel/errors.ts";
import { endRun } from "../../src/sessions/mod.ts";
import { beginRun, createBooking } from "./booking.ts";
import type { DatabaseKind } from "./databases.ts";
import { eagerClock } from "./eager_clock.ts";
import { bookAnswer } from "./sessions.ts";
import { type TestSnapshots, withSnapshots } from "./snapshots.ts";

/** Returns whether an error has this code and a message of this pattern; fails where it has not. */
export const isError = (code: string, pattern: RegExp) => (error: unknown) => {
  assert.ok(error instanceof PurserError, String(error));
  assert.equal(error.code, code);
  assert.match(error.message, pattern);
  return true;
};

/** The progress of a run without any. */
export const NOTHING = { events: [], messages: [] };

/** An event of another environment. */
export const event = (seq: number): Record<string, unknown> & { seq: number } => ({
  seq,
  type: "tool.returned",
  at: "2026-11-20T08:00:00.500Z",
  agent_id: "agent",
  session_id: "ses",
  run_id: "run_there",
  call_id: null,
  payload: { output: { ok: true, note: "ü" } },
});

/** Ends a run with an answer. */
export function endAs(ctx: TestSnapshots, place: { sessionId: string; runId: string; agentId: string }) {
  return endRun(ctx, place, {
    status: "completed",
    output: "an answer",
    error: null,
    steps: 1,
    endedAt: ctx.clock.now(),
    event: { type: "run.completed", payload: {} },
  }, NOTHING);
}

/** A session with one completed run of one call. */
export async function makeSession(ctx: TestSnapshots, sessionId = "ses") {
  const place = await beginRun(ctx, { sessionId });
  await bookAnswer(ctx, place, "an answer");
  await endAs(ctx, place);
  return place;
}

/** Returns the function that defines a test of snapshots on a kind of database. */
export function snapshotTests({ name, ignore, create }: DatabaseKind) {
  return (sentence: string, body: (ctx: TestSnapshots) => Promise<void>): void => {
    Deno.test({
      name: `${name}: ${sentence}`,
      ignore,
      async fn() {
        await using database = await create();
        const clock = eagerClock();
        await body(withSnapshots(await createBooking(await database.open({ clock }), { clock })));
      },
    });
  };
}
