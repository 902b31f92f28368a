import assert from "node:assert/strict";
import { decodeKeys } from "./decode_keys.ts";

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

Deno.test("decodeKeys() passes over sequences that are no key", () => {
  for (const text of ["\x1b[[A", "\x1b[200~", "\x1b[?1;2c", "\x1b[I", "\x1b[24~", "\x1b[99;5u", "\x1b[0 q"]) {
    assert.deepEqual(decodeKeys(`${text}x`), { keys: ["x"], rest: "" }, JSON.stringify(text));
  }
});

Deno.test("decodeKeys() hands the beginning of a sequence back until its end comes", () => {
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

Deno.test("decodeKeys() takes a lone Esc for the key when nothing follows", () => {
  assert.deepEqual(decodeKeys("\x1b"), { keys: [], rest: "\x1b" });
  assert.deepEqual(all("\x1b"), { keys: ["escape"], rest: "" });
  assert.deepEqual(all("\x1b\x1b"), { keys: ["escape", "escape"], rest: "" });
  assert.deepEqual(decodeKeys("\x1b\x1b[C"), { keys: ["escape", "right"], rest: "" });
  assert.deepEqual(all("\x1b["), { keys: ["alt-["], rest: "" });
  assert.deepEqual(all("\x1b[1;"), { keys: ["alt-[", "1", ";"], rest: "" });
  assert.deepEqual(decodeKeys("\x1b[\x03"), { keys: ["alt-[", "ctrl-c"], rest: "" });
});
