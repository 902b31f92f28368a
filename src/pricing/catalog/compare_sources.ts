import { providerIdOfLitellm } from "./provider_names.ts";
import { modelOfLitellm } from "./litellm_rates.ts";
import { correctedPricesAt } from "./corrections.ts";
import { createPriceSources } from "./price_sources.ts";
import type { GenaiPrices, LitellmPrices, PriceTable } from "./price_data.ts";

/** A rate that both sources know and that differs. */
export interface PriceDifference {
  provider: string;
  model: string;
  /** The dimension: `input_mtok`, … */
  part: string;
  /** In USD per million tokens, below every threshold. */
  genaiUsd: number;
  litellmUsd: number;
}

const COMPARED = ["input_mtok", "output_mtok", "cache_read_mtok", "cache_write_mtok", "cache_write_1h_mtok"];

/** Compares the standard rates of all models that both sources know, at a time: those that differ by over a share (1%). */
export function comparePrices(
  genai: GenaiPrices,
  litellm: LitellmPrices,
  at: number,
  share = 0.01,
): PriceDifference[] {
  const sources = createPriceSources({ genai });
  const differences: PriceDifference[] = [];
  for (const [key, entry] of Object.entries(litellm.models)) {
    const provider = providerIdOfLitellm(entry.litellm_provider);
    const model = key.replace(/^(?:gemini|vertex_ai|bedrock|[\w-]+)\//, "");
    const found = sources.find(provider, model, at);
    // Another provider's model has that one's prices, so there is nothing to compare.
    if (!found?.isOwn) continue;
    const [ours, theirs] = [
      correctedPricesAt(found.providerId, found.model, at),
      modelOfLitellm(key, entry).prices,
    ];
    for (const part of COMPARED) {
      const [genaiUsd, litellmUsd] = [baseOf(ours, part), baseOf(theirs as PriceTable, part)];
      if (genaiUsd === undefined || litellmUsd === undefined) continue;
      if (Math.abs(genaiUsd - litellmUsd) <= share * Math.max(genaiUsd, litellmUsd)) continue;
      differences.push({ provider, model, part, genaiUsd, litellmUsd });
    }
  }
  return differences;
}

function baseOf(prices: PriceTable, name: string): number | undefined {
  const price = prices[name];
  return typeof price === "object" ? price.base : price;
}
