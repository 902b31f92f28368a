import assert from "node:assert/strict";
import { endOfString } from "./json_bytes.ts";

const encode = (text: string) => new TextEncoder().encode(text);

Deno.test("endOfString() finds the end behind any number of backslashes, at any length", () => {
  for (const before of ["", "x".repeat(60), "x".repeat(1_000), '\\"'.repeat(50), "\\n" + "x".repeat(99)]) {
    for (let backslashes = 0; backslashes < 100; backslashes++) {
      const text = `"${before}${"\\\\".repeat(backslashes)}"`;
      assert.equal(endOfString(encode(`${text},"x"`), 0), text.length);
      assert.equal(endOfString(encode(`[${text},"x\\"`), 1), text.length + 1);
    }
  }
});

Deno.test("endOfString() returns the length of a text that ends within a string", () => {
  for (const text of ['"', '"\\', '"abc', '"' + "x".repeat(100), '"' + "x".repeat(100) + '\\"']) {
    assert.equal(endOfString(encode(text), 0), text.length);
  }
});
