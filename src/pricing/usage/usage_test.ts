import assert from "node:assert/strict";
import fc from "#dev/fast_check.ts";
import { PurserError } from "../../kernel/errors.ts";
import { checkUsage, type Usage, usageOf } from "./usage.ts";

Deno.test("checkUsage() takes a usage whose parts fit into their wholes", () => {
  const part = fc.nat(1_000_000);
  fc.assert(fc.property(part, part, part, part, part, part, (a, b, c, d, e, f) => {
    checkUsage({
      inputTokens: a + b + c + d,
      cacheReadTokens: b,
      cacheWriteTokens: c + d,
      cacheWrite1hTokens: d,
      outputTokens: e + f,
      reasoningTokens: f,
    });
  }));
});

const faulty: [string, Partial<Usage>][] = [
  ["a negative count", { inputTokens: -1 }],
  ["a fraction", { outputTokens: 1.5 }],
  ["an unsafe integer", { inputTokens: 2 ** 53 }],
  ["not a number", { inputTokens: NaN }],
  ["more cache reads than input", { inputTokens: 10, cacheReadTokens: 11 }],
  ["more cache reads and writes than input", { inputTokens: 10, cacheReadTokens: 6, cacheWriteTokens: 5 }],
  ["more one-hour writes than writes", { inputTokens: 10, cacheWriteTokens: 5, cacheWrite1hTokens: 6 }],
  ["more reasoning than output", { outputTokens: 5, reasoningTokens: 6 }],
];

for (const [name, counts] of faulty) {
  Deno.test(`checkUsage() refuses ${name}`, () => {
    assert.throws(
      () => checkUsage(usageOf(counts)),
      (error) =>
        error instanceof PurserError && error.code === "invalid" && /^Cannot take/.test(error.message),
    );
  });
}
