import type { Rates } from "../../src/pricing/mod.ts";

/** Rates of one tier in pico-USD, at which reasoning costs what output does, and a cache write what input does. */
export function flatRates(
  { input, output, cacheRead }: Record<"input" | "output" | "cacheRead", bigint>,
): Rates {
  const tier = { input, output, reasoning: output, cacheRead, cacheWrite: input, cacheWrite1h: input };
  return { source: "test", tiers: [{ aboveInputTokens: -1, ...tier }] };
}
