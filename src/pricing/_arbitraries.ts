import fc from "#dev/fast_check.ts";
import type { Rates } from "./rates.ts";
import type { Usage } from "./usage/usage.ts";

const anyPrice = fc.bigInt(0n, 100_000_000n);

const anyTier = fc.record({
  input: anyPrice,
  output: anyPrice,
  reasoning: anyPrice,
  cacheRead: anyPrice,
  cacheWrite: anyPrice,
  cacheWrite1h: anyPrice,
});

/** Rates of one to three tiers. */
export const anyRates: fc.Arbitrary<Rates> = fc.array(anyTier, { minLength: 1, maxLength: 3 }).map((
  tiers,
) => ({
  source: "test",
  tiers: tiers.map((tier, i) => ({ ...tier, aboveInputTokens: i === 0 ? -1 : i * 200_000 })),
}));

const anyCount = fc.oneof(fc.nat(100), fc.nat(300_000));

/** A usage whose parts fit into their wholes. */
export const anyUsage: fc.Arbitrary<Usage> = fc.tuple(
  anyCount,
  anyCount,
  anyCount,
  anyCount,
  anyCount,
  anyCount,
)
  .map(([uncached, read, written, written1h, text, reasoning]) => ({
    inputTokens: uncached + read + written + written1h,
    outputTokens: text + reasoning,
    cacheReadTokens: read,
    cacheWriteTokens: written + written1h,
    cacheWrite1hTokens: written1h,
    reasoningTokens: reasoning,
  }));
