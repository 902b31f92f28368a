import { divideHalfEven, type NanoUsd, parseUsdPerMillion, type PicoUsdPerToken } from "../kernel/money.ts";
import type { Usage } from "./usage/usage.ts";

/** The prices of one tier, each in pico-USD per token. */
export interface RateTier {
  /** The tier holds for calls of more input tokens (cached ones included) than this; -1 on the first tier. */
  aboveInputTokens: number;
  input: PicoUsdPerToken;
  /** Text output; null where the model has no output price (an embedding model). */
  output: PicoUsdPerToken | null;
  /** Reasoning output; null where the model has no output price. */
  reasoning: PicoUsdPerToken | null;
  cacheRead: PicoUsdPerToken;
  /** Cache writes of any lifetime but one hour. */
  cacheWrite: PicoUsdPerToken;
  cacheWrite1h: PicoUsdPerToken;
}

/** What the tokens of one model cost on one day. */
export interface Rates {
  /** Where the prices come from: `config`, `demo` or `genai-prices@<version>`. */
  source: string;
  /** At least one tier, by rising threshold. */
  tiers: readonly RateTier[];
}

/** A long-context tier is a cliff: over its threshold every token of the call takes its prices. */
export function tierFor(rates: Rates, inputTokens: number): RateTier {
  for (let i = rates.tiers.length - 1; i > 0; i--) {
    const tier = rates.tiers[i]!;
    if (inputTokens > tier.aboveInputTokens) return tier;
  }
  return rates.tiers[0]!;
}

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

/** The made-up prices of the built-in `demo` models: 1 USD per million input tokens, 4 per million output. */
export const DEMO_RATES: Rates = {
  source: "demo",
  tiers: [{
    aboveInputTokens: -1,
    input: parseUsdPerMillion(1),
    output: parseUsdPerMillion(4),
    reasoning: parseUsdPerMillion(4),
    cacheRead: parseUsdPerMillion(0.1),
    cacheWrite: parseUsdPerMillion(1.25),
    cacheWrite1h: parseUsdPerMillion(1.25),
  }],
};
