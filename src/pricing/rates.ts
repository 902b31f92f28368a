import { divideHalfEven, type NanoUsd, parseUsdPerMillion, type PicoUsdPerToken } from "../kernel/money.ts";
import type { Usage } from "./usage/usage.ts";

/** The prices of one tier, each in pico-USD per token. */
export interface RateTier {
  /** The tier applies to calls with more input tokens, cached ones included, than this; -1 on the first tier. */
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

/** The token prices of one model at one time. */
export interface Rates {
  /** The source of the prices: `config`, `demo` or `genai-prices@<version>`. */
  source: string;
  /** At least one tier, by rising threshold. */
  tiers: readonly RateTier[];
}

/** Returns the tier of a call. Above the threshold of a long-context tier, its prices apply to every token of the call. */
export function tierFor(rates: Rates, inputTokens: number): RateTier {
  for (let i = rates.tiers.length - 1; i > 0; i--) {
    const tier = rates.tiers[i]!;
    if (inputTokens > tier.aboveInputTokens) return tier;
  }
  return rates.tiers[0]!;
}

/**
 * Prices a checked usage, in nano-USD; null if the rates have no price for its output. Prices the leaves (each whole minus its
 * parts) in integers and rounds once, half to even.
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

/** The fictitious prices of the `demo` models: 1 USD per million input tokens, 4 USD per million output tokens. */
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
