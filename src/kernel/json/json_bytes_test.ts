import assert from "node:assert/strict";
import fc from "#dev/fast_check.ts";
import { endOfString, hasMoreValues } from "./json_bytes.ts";

const encode = (text: string) => new TextEncoder().encode(text);

/** Counts the commas and the opening brackets of a value's JSON, and one. */
function countValues(value: unknown): number {
  if (typeof value !== "object" || value === null) return 1;
  const members = Object.values(value);
  const inner = members.reduce<number>((sum, member) => sum + countValues(member) - 1, 0);
  return 1 + 1 + Math.max(0, members.length - 1) + inner;
}

Deno.test("hasMoreValues() counts the values of any JSON, whatever its strings have", () => {
  const text = fc.string({ unit: fc.constantFrom("a", '"', "\\", ",", "[", "{", "é"), maxLength: 150 });
  const value = fc.letrec((tie) => ({
    any: fc.oneof({ depthSize: "small" }, text, fc.integer(), fc.constant(null), tie("list"), tie("object")),
    list: fc.array(tie("any")),
    object: fc.dictionary(text, tie("any")),
  })).any;
  fc.assert(fc.property(value, fc.boolean(), (value, isIndented) => {
    const bytes = encode(JSON.stringify(value, null, isIndented ? 2 : 0) + " ".repeat(50));
    const count = countValues(value);
    assert.equal(hasMoreValues(bytes, count), false);
    if (count > 1) assert.equal(hasMoreValues(bytes, count - 1), true);
  }));
});

Deno.test("endOfString() finds the end behind any number of backslashes", () => {
  for (let backslashes = 0; backslashes < 100; backslashes++) {
    const text = JSON.stringify("\\".repeat(backslashes));
    assert.equal(endOfString(encode(`${text},"x"`), 0), text.length);
  }
});

Deno.test("what is no JSON has an end, too", () => {
  for (const text of ['"', '"\\', '["abc', "[[[", '{"a":"\\"', '"' + "x".repeat(100)]) {
    assert.equal(hasMoreValues(encode(text), 50), false);
  }
});
