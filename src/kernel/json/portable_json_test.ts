import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import fc from "#dev/fast_check.ts";
import { MAX_JSON_DEPTH } from "./canonical_json.ts";
import { toJsonText, toPlainJsonText, toPlainValue } from "./portable_json.ts";

Deno.test("toJsonText() replaces lone surrogates and keeps all other text", () => {
  assert.equal(toJsonText({ a: ["x\ud83dy"], "k\udc00": "🙂" }), '{"a":["x\ufffdy"],"k\ufffd":"🙂"}');
  assert.equal(toPlainJsonText("\ud800"), '"\ufffd"');
  assert.equal(toPlainJsonText("a literal \\ud800"), '"a literal \\\\ud800"');
});

Deno.test("toJsonText() writes bytes as base64, in a Buffer too, and big integers as digits", () => {
  assert.equal(toJsonText({ bytes: new Uint8Array([1, 2, 3]) }), '{"bytes":"AQID"}');
  assert.equal(toJsonText([Buffer.from("hi"), 12345678901234567890n]), '["aGk=","12345678901234567890"]');
});

Deno.test("toPlainValue() converts values without a JSON form to text", () => {
  const cycle: Record<string, unknown> = {};
  cycle.self = cycle;
  assert.equal(toPlainValue(cycle), "[object Object]");
  assert.equal(toPlainValue(undefined), null);
  assert.equal(toPlainValue(() => 1), null);
});

Deno.test("toPlainJsonText() reads back as the value for any plain JSON", () => {
  fc.assert(fc.property(fc.jsonValue(), (value) => {
    // V8 may take another key for one that ends with a backslash: see `parseSlowly`.
    fc.pre(!/"__proto__"|\\\\":/.test(JSON.stringify(value)));
    const isWellFormed = JSON.stringify(value).isWellFormed() && !/\\ud[89a-f]/i.test(JSON.stringify(value));
    fc.pre(isWellFormed);
    assert.deepEqual(JSON.parse(toPlainJsonText(value)), JSON.parse(JSON.stringify(value)));
  }));
});

Deno.test("toJsonText() renames __proto__ keys, and keeps such strings", () => {
  assert.equal(toJsonText(JSON.parse('{"__proto__":{"a":"__proto__"}}')), '{"_proto_":{"a":"__proto__"}}');
});

Deno.test("toJsonText() keeps values nested too deep as text, and brackets in strings unchanged", () => {
  const nested = (depth: number) => "[".repeat(depth) + "]".repeat(depth);
  assert.equal(toJsonText(JSON.parse(nested(MAX_JSON_DEPTH))), nested(MAX_JSON_DEPTH));
  assert.equal(
    toJsonText(JSON.parse(nested(MAX_JSON_DEPTH + 2))),
    "[".repeat(MAX_JSON_DEPTH) + '"[[]]"' + "]".repeat(MAX_JSON_DEPTH),
  );
  const brackets = "[{".repeat(2 * MAX_JSON_DEPTH);
  assert.equal(toJsonText({ brackets }), JSON.stringify({ brackets }));
});
