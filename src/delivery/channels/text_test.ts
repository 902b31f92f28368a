import assert from "node:assert/strict";
import fc from "#dev/fast_check.ts";
import { anyCharacter } from "../../../tests/harness/any_character.ts";
import { cutText, oneLine } from "./text.ts";

Deno.test("cutText() keeps to the limit for any text, and never halves a surrogate pair", () => {
  fc.assert(fc.property(fc.string({ unit: anyCharacter }), fc.integer({ min: 1, max: 30 }), (text, max) => {
    const cut = cutText(text, max);
    assert.ok(cut.length <= max && cut.isWellFormed());
    assert.ok(text.length > max ? cut.endsWith("…") : cut === text.toWellFormed());
  }));
  assert.equal(cutText("ab🔥cd", 4), "ab…");
});

Deno.test("oneLine() leaves one line without controls, of a text of any length", () => {
  assert.equal(oneLine(" a\r\n\tb\u2028c\u0007 \u202Ed "), "a b c   d");
  assert.equal(oneLine(`${"\n".repeat(100)}a`, 10), "");
  fc.assert(fc.property(fc.string({ unit: anyCharacter }), (text) => {
    assert.doesNotMatch(oneLine(text, 20), /[\p{Cc}\p{Zl}\p{Zp}]/u);
    assert.ok(oneLine(text, 20).length <= 20);
  }));
});
