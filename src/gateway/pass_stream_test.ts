import assert from "node:assert/strict";
import { createTurns } from "../kernel/turns.ts";
import { systemClock } from "../kernel/clock.ts";
import type { AnswerReader } from "./answer_reader.ts";
import { splitEvents } from "./events.ts";
import type { LiveCall } from "./live_calls.ts";
import { passStream } from "./pass_stream.ts";
import { openAiChat } from "./wires/openai_chat.ts";

const nextTurn = () => new Promise<void>((resolve) => setImmediate(resolve));

Deno.test("streams that a provider sends as fast as they are read leave others their turns, also without a client", async () => {
  const event = new TextEncoder().encode(
    `data: {"choices":[{"index":0,"delta":{"content":"${"x".repeat(60_000)}"}}]}\n\n`,
  );
  const turns = createTurns(nextTurn);
  const PARTS = 100, STREAMS = 20;
  let read = 0;
  const ends = Array.from({ length: STREAMS }, () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    let left = PARTS;
    const stream = passStream({ clock: systemClock, turns }, {
      source: {
        read() {
          if (left-- === 0) return Promise.resolve({ done: true as const, value: undefined });
          read++;
          return Promise.resolve({ done: false as const, value: event });
        },
        cancel: () => Promise.resolve(),
      },
      splitter: splitEvents(),
      wire: openAiChat,
      reader: { takeEvent() {}, end() {} } as unknown as AnswerReader,
      hidesUsage: false,
      hidden: { inBytes: (bytes) => bytes, inText: (text) => text },
      live: { cancel() {} } as unknown as LiveCall,
      onDisconnect: "drain",
      book: () => Promise.resolve(resolve()),
    });
    void stream.cancel(undefined);
    return promise;
  });
  const most: number[] = [];
  let hasEnded = false;
  void Promise.all(ends).then(() => hasEnded = true);
  for (let before = 0; !hasEnded; before = most.reduce((sum, parts) => sum + parts)) {
    await nextTurn();
    most.push(read - before);
  }
  assert.equal(read, PARTS * STREAMS);
  // The first turn reads two parts of each, the others have a slice.
  assert.ok(Math.max(...most) <= 4 * STREAMS, `${Math.max(...most)} parts in one turn`);
});
