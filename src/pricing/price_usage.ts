import { divideHalfEven, type NanoUsd } from "../kernel/money.ts";
import { type Rates, tierFor } from "./rates.ts";
import type { Usage } from "./usage/usage.ts";

/**
 * The cost of a checked usage at the given rates, in nano-USD; null where the rates have no price for its
 * output. Prices the leaves (each whole minus its parts) in integers and rounds once, half to even.
 */
export function priceUsage(rates: Rates, usage: Usage): NanoUsd | null {
  const tier = tierFor(rates, usage.inputTokens);
  const uncached = usage.inputTokens - usage.cacheReadTokens - usage.cacheWriteTokens;
  let picoUsd = BigInt(uncached) * tier.input;
  if (usage.cacheReadTokens > 0) picoUsd += BigInt(usage.cacheReadTokens) * tier.cacheRead;
  if (usage.cacheWriteTokens > 0) {
    picoUsd += BigInt(usage.cacheWriteTokens - usage.cacheWrite1hTokens) * tier.cacheWrite +
      BigInt(usage.cacheWrite1hTokens) * tier.cacheWrite1h;
  }
  if (usage.outputTokens > 0) {
    if (tier.output === null || tier.reasoning === null) return null;
    picoUsd += BigInt(usage.outputTokens - usage.reasoningTokens) * tier.output +
      BigInt(usage.reasoningTokens) * tier.reasoning;
  }
  return divideHalfEven(picoUsd, 1000n);
}
