import type { ModelPrice } from "@pydantic/genai-prices";
import { parseUsdPerMillion, type PicoUsdPerToken } from "../kernel/money.ts";
import type { Rates, RateTier } from "./rates.ts";

type Price = ModelPrice[string];

/** The price of one kind of token at a call of `inputTokens`, in pico-USD per token; undefined where there is none. */
function priceAt(price: Price, inputTokens: number): PicoUsdPerToken | undefined {
  if (price === undefined) return undefined;
  if (typeof price === "number") return parseUsdPerMillion(price);
  let usdPerMillion = price.base;
  let reached = -1;
  for (const tier of price.tiers) {
    if (inputTokens > tier.start && tier.start > reached) {
      usdPerMillion = tier.price;
      reached = tier.start;
    }
  }
  return parseUsdPerMillion(usdPerMillion);
}

function tierAt(prices: ModelPrice, isClaude: boolean, aboveInputTokens: number): RateTier | null {
  const at = (key: string) => priceAt(prices[key], aboveInputTokens + 1);
  const input = at("input_mtok");
  if (input === undefined) return null;
  const output = at("output_mtok") ?? null;
  // Anthropic's published rule for Claude, wherever it runs: 5 m writes 1.25x, 1 h writes 2x the input price.
  const cacheWrite = at("cache_write_5m_mtok") ?? at("cache_write_mtok") ??
    (isClaude ? input * 5n / 4n : input);
  return {
    aboveInputTokens,
    input,
    output,
    reasoning: at("output_reasoning_mtok") ?? output,
    cacheRead: at("cache_read_mtok") ?? input,
    cacheWrite,
    cacheWrite1h: at("cache_write_1h_mtok") ?? (isClaude ? input * 2n : cacheWrite),
  };
}

/**
 * The token prices of one catalog entry as integers; null where it has no price for input tokens. Only text
 * is priced: audio, image and search prices of the entry are left out. A missing cache price is the price of
 * what it is a part of, as in the catalog.
 */
export function catalogRates(prices: ModelPrice, modelId: string, source: string): Rates | null {
  const thresholds = new Set<number>([-1]);
  for (const price of Object.values(prices)) {
    if (typeof price === "object") { for (const tier of price.tiers) thresholds.add(tier.start); }
  }
  const isClaude = modelId.includes("claude");
  const tiers: RateTier[] = [];
  for (const threshold of [...thresholds].sort((a, b) => a - b)) {
    const tier = tierAt(prices, isClaude, threshold);
    if (tier === null) return null;
    tiers.push(tier);
  }
  return { source, tiers };
}
