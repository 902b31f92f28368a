import { providerIdOf } from "../catalog/names/provider_names.ts";
import type { PriceDifference } from "../catalog/compare_sources.ts";
import type { PricesInUse } from "../prices.ts";

/** A model that calls were booked for. */
export interface UsedModel {
  provider: string;
  model: string;
}

/** The faults in the prices of some models. */
export interface PriceFindings {
  /** The models without a price, each with the known names nearest to its own. */
  unpriced: { name: string; nearest: string[] }[];
  /** The models of which both sources know a rate, and differ by over 1%. */
  disputed: { name: string; differences: PriceDifference[] }[];
}

/** Checks the prices of models at a time. */
export function checkPrices(
  { book, catalog }: PricesInUse,
  models: readonly UsedModel[],
  at: number,
): PriceFindings {
  const findings: PriceFindings = { unpriced: [], disputed: [] };
  const differences = models.length === 0 ? [] : catalog.compareSources(at);
  for (const { provider, model } of models) {
    const name = `${provider}:${model}`;
    const rates = book.rates({ provider, model, at });
    if (rates === null) {
      findings.unpriced.push({ name, nearest: catalog.nearest(provider, model) });
    } else if (rates.source.startsWith("genai-prices")) {
      const names = [model.toLowerCase(), (rates.model ?? model).toLowerCase()];
      const own = differences.filter((one) =>
        one.provider === providerIdOf(provider) && names.includes(one.model.toLowerCase())
      );
      if (own.length > 0) findings.disputed.push({ name, differences: own });
    }
  }
  return findings;
}
