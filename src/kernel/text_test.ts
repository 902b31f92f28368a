import assert from "node:assert/strict";
import fc from "#dev/fast_check.ts";
import { utf8Length } from "./text.ts";

Deno.test("utf8Length() counts as an encoder does, also lone surrogates and texts of any length", () => {
  const unit = fc.oneof(fc.integer({ min: 0, max: 0xffff }), fc.integer({ min: 0xd7f0, max: 0xe00f }));
  const text = fc.array(unit, { maxLength: 90 }).map((units) => String.fromCharCode(...units));
  fc.assert(fc.property(fc.oneof(text, fc.string({ unit: "binary", maxLength: 90 })), (text) => {
    assert.equal(utf8Length(text), new TextEncoder().encode(text).length);
  }));
});
