import { faultOfRate } from "./dimensions.ts";
import type { ParsedPrices, SkippedEntry } from "./parse_price_data.ts";
import type { LitellmModel, LitellmTier, PriceDataHead } from "./price_data.ts";
import { isLitellmRate, perMillion, perThousand } from "./litellm_rates.ts";

type Fields = Record<string, unknown>;

const isFields = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const MODES = ["chat", "completion", "responses", "embedding"];

/** Checks LiteLLM's map. */
export function parseLitellmPrices(map: Fields, head: PriceDataHead): ParsedPrices {
  const skipped: SkippedEntry[] = [];
  const models: Record<string, LitellmModel> = {};
  for (const [key, entry] of Object.entries(map)) {
    const parsed = parseEntry(key, entry);
    if (typeof parsed === "string") skipped.push({ entry: key, reason: parsed });
    else models[key] = parsed;
  }
  return { data: { source: "litellm", ...head, models }, skipped };
}

/** Returns the slim entry, or the reason why there is none. */
function parseEntry(key: string, entry: unknown): LitellmModel | string {
  if (key === "sample_spec" || !isFields(entry)) return "it is no model";
  if (typeof entry.litellm_provider !== "string") return "it has no provider";
  if (entry.mode !== undefined && !MODES.includes(entry.mode as string)) return "its mode has no text";
  const rates = readRates(entry);
  if (typeof rates === "string") return rates;
  const tiers = readTiers(entry.tiered_pricing);
  if (typeof tiers === "string") return tiers;
  if (rates.input_cost_per_token === undefined && tiers === undefined) {
    return "it has no price per input token";
  }
  // The map has 0 both for what is free and for what is unknown.
  const isFree = tiers === undefined && !rates.input_cost_per_token && !rates.output_cost_per_token;
  if (isFree) return "its prices are 0: free or unknown";
  const search = searchCost(entry.search_context_cost_per_query);
  return {
    litellm_provider: entry.litellm_provider,
    ...rates,
    ...(search && { search_context_cost_per_query: search }),
    ...(tiers && { tiered_pricing: tiers }),
  };
}

function readRates(fields: Fields): Record<string, number> | string {
  const rates: Record<string, number> = {};
  for (const [name, value] of Object.entries(fields)) {
    if (!isLitellmRate(name) || value === null) continue;
    const fault = typeof value === "number" ? faultOfRate("", perMillion(value)) : " is not a number";
    if (fault) return `${name}${fault}`;
    rates[name] = value as number;
  }
  return rates;
}

function readTiers(list: unknown): LitellmTier[] | string | undefined {
  if (list === undefined) return undefined;
  if (!Array.isArray(list) || list.length === 0) return "its tiers are no list";
  const tiers: LitellmTier[] = [];
  for (const tier of list) {
    const range = isFields(tier) ? tier.range : undefined;
    if (!Array.isArray(range) || !range.every((bound) => Number.isSafeInteger(bound))) {
      return "it has a tier without a range";
    }
    const rates = readRates(tier);
    if (typeof rates === "string") return rates;
    if (rates.input_cost_per_token === undefined) return "it has a tier without a price per input token";
    tiers.push({ range: [range[0], range[1]], ...rates });
  }
  return tiers;
}

/** The cost of a search where it doesn't depend on the size of its context, which no provider reports. */
function searchCost(costs: unknown): Record<string, number> | undefined {
  if (!isFields(costs)) return undefined;
  const values = [...new Set(Object.values(costs))];
  const [value] = values;
  if (values.length !== 1 || typeof value !== "number" || faultOfRate("_kcount", perThousand(value))) {
    return undefined;
  }
  return { search_context_size_medium: value };
}
