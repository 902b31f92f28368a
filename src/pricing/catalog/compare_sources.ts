import { providerIdOfLitellm, serviceOfLitellm } from "./names/provider_names.ts";
import { startOf } from "../../contract/windows.ts";
import { DAY_MS } from "../../kernel/clock.ts";
import { correctedCuts, correctedPricesAt } from "./deepseek_peak.ts";
import { dailyCutsOf } from "./prices_at.ts";
import { createPriceSources, type FoundModel } from "./price_sources.ts";
import { baseOf, isNear } from "./same_base.ts";
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

/**
 * Compares the standard rates of all models that both sources know, at a time: those that differ by over a share (1%). What the
 * map alone distinguishes doesn't count as a difference.
 */
export function comparePrices(
  genai: GenaiPrices,
  litellm: LitellmPrices,
  at: number,
  share = 0.01,
): PriceDifference[] {
  const sources = createPriceSources({ genai, litellm });
  const differences = new Map<string, PriceDifference>();
  const known = new Set(genai.providers.map(({ id }) => id));
  for (const [key, { litellm_provider }] of Object.entries(litellm.models)) {
    const service = serviceOfLitellm(litellm_provider);
    const provider = providerIdOfLitellm(service);
    if (!known.has(provider)) continue;
    const model = key.replace(/^(?:gemini|vertex_ai|bedrock|[\w-]+)\//, "");
    const found = sources.find(service, model, at);
    // Another provider's model has that one's prices, so there is nothing to compare.
    if (!found?.isOwn || found.other === undefined) continue;
    const theirs = found.other.model.prices as PriceTable;
    // The map has one price where the other source has several a day.
    const ours = timesOfWeek(found, at).map((time) => correctedPricesAt(found.providerId, found.model, time));
    for (const part of COMPARED) {
      const [genaiUsd, litellmUsd] = [baseOf(ours[0]!, part), baseOf(theirs, part)];
      if (genaiUsd === undefined || litellmUsd === undefined) continue;
      if (ours.some((prices) => isNear(baseOf(prices, part), litellmUsd, share))) continue;
      differences.set(`${provider}:${model} ${part}`, { provider, model, part, genaiUsd, litellmUsd });
    }
  }
  return [...differences.values()];
}

/** Returns the given time and those of the week after it at which the price of a model changes. */
function timesOfWeek({ providerId, model }: FoundModel, at: number): number[] {
  const cuts = [...dailyCutsOf(model), ...correctedCuts(providerId, model)];
  const today = startOf("day", at);
  return [at, ...cuts.flatMap((cut) => [0, 1, 2, 3, 4, 5, 6].map((day) => today + day * DAY_MS + cut))];
}
