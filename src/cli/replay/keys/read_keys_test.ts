import assert from "node:assert/strict";
import { fixedClock } from "../../../kernel/clock.ts";
import { readKeys } from "./read_keys.ts";

/** A keyboard whose keys come when the test says so. */
function keyboard() {
  const clock = fixedClock(0);
  const sleeping = { count: 0 };
  const stop = new AbortController();
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
  const [reader, writer] = [readable.getReader(), writable.getWriter()];
  const keys = readKeys(async () => (await reader.read()).value ?? null, {
    clock: {
      sleep(ms, signal) {
        sleeping.count++;
        return clock.sleep(ms, signal);
      },
    },
    signal: stop.signal,
  });
  return {
    clock,
    stop,
    sleeping,
    keys,
    next: async () => (await keys.next()).value,
    type: (...bytes: number[]) => void writer.write(new Uint8Array(bytes)),
    text: (text: string) => void writer.write(new TextEncoder().encode(text)),
    end: () => void writer.close(),
  };
}

Deno.test("readKeys() puts together what comes in pieces, characters too", async () => {
  const { keys, type, text, end } = keyboard();
  text("\x1b");
  text("[");
  text("Cq");
  type(0xc3);
  type(0xa9);
  end();
  assert.deepEqual(await Array.fromAsync(keys), ["right", "q", "é"]);
});

Deno.test("readKeys() takes Esc for the key when nothing follows in time, and loses no later key", async () => {
  const { next, text, clock, sleeping } = keyboard();
  text("\x1b");
  const escape = next();
  while (sleeping.count === 0) await Promise.resolve();
  clock.advance(99);
  clock.advance(1);
  assert.equal(await escape, "escape");
  text("[C");
  assert.equal(await next(), "[");
  assert.equal(await next(), "C");
});

Deno.test("readKeys() ends with the terminal, and tells of an Esc that was the last", async () => {
  const { keys, text, end } = keyboard();
  text("l\x1b");
  end();
  assert.deepEqual(await Array.fromAsync(keys), ["l", "escape"]);
});

Deno.test("readKeys() ends at the signal, while it waits for a key too", async () => {
  const { keys, next, text, stop } = keyboard();
  text("l");
  assert.equal(await next(), "l");
  const waiting = next();
  stop.abort();
  assert.equal(await waiting, undefined);
  assert.deepEqual(await Array.fromAsync(keys), []);
  assert.equal(await keyboardThatIsStopped(), undefined);
});

function keyboardThatIsStopped(): Promise<string | void> {
  const { next, stop, text } = keyboard();
  stop.abort();
  text("l");
  return next();
}
