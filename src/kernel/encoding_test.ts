import assert from "node:assert/strict";
import fc from "#dev/fast_check.ts";
import { fromBase64, toBase64, toHex } from "./encoding.ts";

Deno.test("toHex(), toBase64() and fromBase64() behave as the runtime's own methods", () => {
  fc.assert(fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
    assert.equal(toHex(bytes), bytes.toHex());
    assert.equal(toBase64(bytes), bytes.toBase64());
    assert.deepEqual(fromBase64(bytes.toBase64()), new Uint8Array(bytes));
  }));
});

Deno.test("toBase64() takes many megabytes", () => {
  const bytes = new Uint8Array(5_000_001).map((_, index) => index * 7);
  assert.equal(toBase64(bytes), bytes.toBase64());
});

Deno.test("fromBase64() accepts and refuses what the runtime's own method does", () => {
  for (
    const text of [
      "",
      "YQ==",
      "YQ",
      "YWI=",
      "YW Jj\n",
      "YQ=",
      "Y",
      "YQ===",
      "Y-_j",
      "=",
      "YR==",
      "ä",
      "YWJj=",
    ]
  ) {
    const outcome = (decode: (text: string) => Uint8Array) => {
      try {
        return [...decode(text)];
      } catch {
        return "refused";
      }
    };
    assert.deepEqual(
      outcome(fromBase64),
      outcome((text) => Uint8Array.fromBase64(text)),
      JSON.stringify(text),
    );
  }
});
