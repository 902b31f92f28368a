import assert from "node:assert/strict";
import { listMessages } from "./harness/sessions.ts";
import { createTurns, SLICE_UNITS, type Turns } from "../src/kernel/turns.ts";
import { exportSession, importSession } from "../src/snapshots/mod.ts";
import { bytesOf } from "../src/snapshots/document/mod.ts";
import { createBooking } from "./harness/booking.ts";
import { databaseKinds } from "./harness/databases.ts";
import { isThorough } from "./harness/thorough.ts";
import { type TestSnapshots, withSnapshots } from "./harness/snapshots.ts";

/** Long work lets everything else be served after each slice of it. Counted are slices and bytes, never time. */

/** In memory, and in a thorough run over PostgreSQL. */
const databases = databaseKinds().filter(({ name }) =>
  name === "memory" || isThorough && name === "postgres"
);

/** Turns that keep the units of each slice. */
function countingTurns(): Turns & { slices: number[]; most(): number } {
  const slices = [0];
  const turns = createTurns(() => {
    slices.push(0);
    return Promise.resolve();
  });
  return {
    slices,
    most: () => Math.max(...slices),
    spend(units) {
      slices[slices.length - 1]! += units;
      return turns.spend(units);
    },
  };
}

function test(
  sentence: string,
  body: (ctx: TestSnapshots & { turns: ReturnType<typeof countingTurns> }) => Promise<void>,
): void {
  for (const { name, ignore, create } of databases) {
    Deno.test({
      name: `${name}: ${sentence}`,
      ignore,
      async fn() {
        await using database = await create();
        const ctx = withSnapshots(await createBooking(await database.open()), { maxSnapshotBytes: 64e6 });
        await body({ ...ctx, turns: countingTurns() });
      },
    });
  }
}

const documentOf = (messages: unknown[], events?: unknown[]) => ({
  schema_version: 1,
  agent_id: "a",
  session_id: "s",
  state: { status: "completed", messages },
  event_log_count: events?.length ?? 0,
  tags: {},
  source_environment: "elsewhere",
  exported_at: "2026-11-01T12:00:00.000Z",
  ...(events && { events }),
});

/** The most that may follow one another without a turn: a slice, and the work that has used it up. */
const MOST_UNITS = 2 * SLICE_UNITS;

test("a restore of one message with many keys yields after each slice, whether they end with a backslash or not", async (ctx) => {
  for (const end of ["", "\\"]) {
    const counts: number[] = [];
    for (const count of [8_000, 64_000]) {
      const input = Object.fromEntries(Array.from({ length: count }, (_, i) => [`k${i}${end}`, 1]));
      const call = { type: "tool-call", toolCallId: "c", toolName: "t", input };
      const turns = countingTurns();
      const bytes = bytesOf(documentOf([{ role: "assistant", content: [call] }]));
      const { messages_restored } = await importSession({ ...ctx, turns }, bytes);
      assert.equal(messages_restored, 1);
      counts.push(turns.slices.length);
      assert.ok(turns.most() <= MOST_UNITS, `${turns.most()} units in one slice`);
    }
    assert.ok(counts[1]! < 14 * counts[0]!, `8 times the keys took ${counts} slices`);
    assert.ok(counts[1]! > 16, `${counts} slices`);
  }
});

test("a restore of many small messages and events yields after each slice", async (ctx) => {
  const messages = Array.from({ length: 3_000 }, (_, i) => ({ role: "user", content: `message ${i}` }));
  const event = { seq: 1, type: "x", at: "2026-11-01T12:00:00.000Z", agent_id: "a", session_id: "s" };
  const events = messages.map((_, i) => ({
    ...event,
    seq: i,
    run_id: null,
    call_id: null,
    payload: { i },
  }));
  await importSession(ctx, bytesOf(documentOf(messages, events)));
  assert.ok(ctx.turns.slices.length > 20, `${ctx.turns.slices.length} slices`);
  assert.ok(ctx.turns.most() <= MOST_UNITS);
  const turns = countingTurns();
  assert.equal((await listMessages({ ...ctx, turns }, "s")).length, 3_000);
  assert.ok(turns.slices.length > 3, "also when a run reads them");
});

test("exports of large messages take turns, in chunks of bounded size", async (ctx) => {
  const content = "€uro 😀 ".repeat(200_000);
  await importSession(ctx, bytesOf(documentOf([{ role: "user", content }, { role: "user", content }])));
  const turns = countingTurns();
  const order: number[] = [];
  const readers = await Promise.all(
    [0, 1, 2].map((reader) =>
      exportSession({ ...ctx, turns }, { sessionId: "s" }).then(async ({ write }) => {
        let size = 0;
        let text = "";
        const decoder = new TextDecoder("utf-8", { fatal: true });
        for await (const chunk of write()) {
          assert.ok(chunk.length <= 3 * 64 * 1024 + 4, `a chunk of ${chunk.length} bytes`);
          size += chunk.length;
          text += decoder.decode(chunk, { stream: true });
          if (order.at(-1) !== reader) order.push(reader);
        }
        const { state, integrity } = JSON.parse(text);
        assert.ok(state.messages.every((message: { content: string }) => message.content === content));
        return { size, integrity };
      })
    ),
  );
  assert.equal(
    new Set(readers.map(({ integrity }) => integrity)).size,
    1,
  );
  assert.ok(
    turns.slices.length > 3 * readers[0]!.size / (4 * SLICE_UNITS),
    `${turns.slices.length} slices`,
  );
  assert.ok(order.length > 20, "none has to wait until another is done");
});
