import assert from "node:assert/strict";
import { fixedClock } from "../../kernel/clock.ts";
import { decodeKeys, readKeys } from "./read_keys.ts";

/** A keyboard whose keys are sent by the test. */
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

Deno.test("readKeys() joins sequences and characters that arrive in pieces", async () => {
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

Deno.test("readKeys() ends with the input, and reports a final Esc", async () => {
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

const all = (text: string) => decodeKeys(text, { isAll: true });

Deno.test("decodeKeys() names keys, and takes characters as they are", () => {
  const cases: [string, string[]][] = [
    ["lh q", ["l", "h", " ", "q"]],
    ["é日👍", ["é", "日", "👍"]],
    ["\x1b[A\x1b[B\x1b[C\x1b[D", ["up", "down", "right", "left"]],
    ["\x1bOA\x1bOB\x1bOC\x1bOD", ["up", "down", "right", "left"]],
    ["\x1b[H\x1b[F\x1bOH\x1bOF\x1b[1~\x1b[4~\x1b[7~\x1b[8~", Array(4).fill(["home", "end"]).flat()],
    ["\x1b[5~\x1b[6~\x1b[3~", ["page_up", "page_down", "delete"]],
    ["\x1b[1;5C\x1b[6;2~\x1bO5C", ["right", "page_down", "right"]],
    ["\r\n\t\x7f\b", ["enter", "enter", "tab", "backspace", "backspace"]],
    ["\x03\x04\x00", ["ctrl-c", "ctrl-d", "ctrl-@"]],
    ["\x1bx\x1b\x03", ["alt-x", "alt-ctrl-c"]],
  ];
  for (const [text, keys] of cases) {
    assert.deepEqual(all(text), { keys, rest: "" }, JSON.stringify(text));
    assert.deepEqual(decodeKeys(text), { keys, rest: "" }, `${JSON.stringify(text)} with more to come`);
  }
});

Deno.test("decodeKeys() ignores sequences that are no key", () => {
  for (const text of ["\x1b[[A", "\x1b[200~", "\x1b[?1;2c", "\x1b[I", "\x1b[24~", "\x1b[99;5u", "\x1b[0 q"]) {
    assert.deepEqual(decodeKeys(`${text}x`), { keys: ["x"], rest: "" }, JSON.stringify(text));
  }
});

Deno.test("decodeKeys() returns the start of a sequence until its end arrives", () => {
  for (const text of ["\x1b[C", "\x1bOC", "\x1b[1;5C", "\x1b[[A", "\x1b[6~"]) {
    let rest = "";
    const keys: string[] = [];
    for (const piece of text) {
      const decoded = decodeKeys(rest + piece);
      keys.push(...decoded.keys);
      rest = decoded.rest;
    }
    assert.deepEqual([keys, rest], [all(text).keys, ""], JSON.stringify(text));
  }
  assert.deepEqual(decodeKeys("l\x1b["), { keys: ["l"], rest: "\x1b[" });
});

Deno.test("decodeKeys() takes a single Esc for the key when nothing follows", () => {
  assert.deepEqual(decodeKeys("\x1b"), { keys: [], rest: "\x1b" });
  assert.deepEqual(all("\x1b"), { keys: ["escape"], rest: "" });
  assert.deepEqual(all("\x1b\x1b"), { keys: ["escape", "escape"], rest: "" });
  assert.deepEqual(decodeKeys("\x1b\x1b[C"), { keys: ["escape", "right"], rest: "" });
  assert.deepEqual(all("\x1b["), { keys: ["alt-["], rest: "" });
  assert.deepEqual(all("\x1b[1;"), { keys: ["alt-[", "1", ";"], rest: "" });
  assert.deepEqual(decodeKeys("\x1b[\x03"), { keys: ["alt-[", "ctrl-c"], rest: "" });
});

Deno.test("readKeys() returns a new size of the terminal as a key, between others and within a sequence", async () => {
  const reads = [Promise.withResolvers<Uint8Array | null>(), Promise.withResolvers<Uint8Array | null>()];
  let next = 0;
  let listener: (() => void) | undefined;
  const keys = readKeys(() => reads[next++]?.promise ?? Promise.resolve(null), {
    clock: { sleep: () => new Promise(() => {}) },
    signal: new AbortController().signal,
    onResize(each) {
      listener = each;
      return () => void (listener = undefined);
    },
  });
  const first = keys.next();
  listener!();
  listener!(); // at once: one key
  assert.deepEqual(await first, { done: false, value: "resize" });
  const second = keys.next();
  reads[0]!.resolve(new TextEncoder().encode("a\x1b["));
  assert.deepEqual(await second, { done: false, value: "a" });
  const third = keys.next();
  listener!();
  assert.deepEqual(await third, { done: false, value: "resize" });
  const fourth = keys.next();
  reads[1]!.resolve(new TextEncoder().encode("C"));
  assert.deepEqual(await fourth, { done: false, value: "right" });
  assert.equal((await keys.next()).done, true);
  assert.equal(listener, undefined);
});
