import type { PicoUsdPerToken } from "../kernel/money.ts";

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
