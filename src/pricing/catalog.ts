import type { ModelInfo, ModelPrice, Provider } from "@pydantic/genai-prices";
import { DAY_MS } from "../kernel/clock.ts";
import type { Log } from "../kernel/log.ts";
import { messageOf } from "../kernel/errors.ts";
import type { PriceQuery, Served } from "./prices.ts";
import type { Rates, RateTier } from "./rates.ts";
import { parseUsdPerMillion, type PicoUsdPerToken } from "../kernel/money.ts";

/** The version of `@pydantic/genai-prices` that `deno.json` pins; a test compares the two. */
export const CATALOG_VERSION = "0.1.8";

/** The `price_source` of prices from the catalog. */
export const CATALOG_SOURCE = `genai-prices@${CATALOG_VERSION}`;

/** Names of models come from callers, so the cache is bounded. */
const MAX_CACHED = 20_000;

/** Published prices by provider, model and time. */
export interface Catalog {
  /** Null if the catalog has no such provider or model, or no token price for it. */
  rates(query: PriceQuery & Served): Rates | null;
  /** Returns every rate card that may apply to a call at that time, whatever tier it is served at. */
  allRates(query: PriceQuery): readonly Rates[];
}

type GenaiPrices = Pick<typeof import("@pydantic/genai-prices"), "findProvider" | "calcPrice">;

/** Opens the catalog. Loads it: some 800 kB of source. */
export async function openCatalog(log: Log): Promise<Catalog> {
  return createCatalog(await import("@pydantic/genai-prices"), log);
}

/** Creates a catalog over the given data; rates are cached by provider, model, day and daily price period. */
export function createCatalog(genaiPrices: GenaiPrices, log: Log): Catalog {
  const models = new Map<string, Map<string, CachedModel>>();
  let cached = 0;

  function load(provider: string, model: string, at: number): ModelAt | null {
    // By exact id: the catalog's own search matches any name that contains "openai" to OpenAI.
    const found: Provider | undefined = genaiPrices.findProvider({ providerId: provider });
    if (!found || found.id !== provider) return null;
    try {
      const name = provider === "google" ? model.replace(/^models\//, "") : model;
      const result = genaiPrices.calcPrice({}, name, { providerId: provider, timestamp: new Date(at) });
      return result && { model: result.model, price: result.model_price };
    } catch (error) {
      log.warn("The price catalog has an entry that cannot be read", {
        provider,
        model,
        error: messageOf(error),
      });
      return null;
    }
  }

  return {
    allRates(query) {
      const rates = this.rates(query);
      return rates ? [rates] : [];
    },
    rates({ provider, model, at }) {
      let byModel = models.get(provider);
      let entry = byModel?.get(model);
      const cachedRates = entry?.rates.get(slotOf(entry.cuts, at));
      if (cachedRates !== undefined) return cachedRates;
      if (cached >= MAX_CACHED) {
        models.clear();
        cached = 0;
        byModel = entry = undefined;
      }
      const loaded = load(provider, model, at);
      const rates = loaded && catalogRates(loaded.price, loaded.model.id, CATALOG_SOURCE);
      entry ??= { cuts: loaded ? dailyCuts(loaded.model) : [], rates: new Map() };
      entry.rates.set(slotOf(entry.cuts, at), rates);
      cached++;
      byModel ??= new Map();
      models.set(provider, byModel.set(model, entry));
      return rates;
    },
  };
}

interface ModelAt {
  model: ModelInfo;
  price: ModelPrice;
}

interface CachedModel {
  /** The milliseconds of the UTC day at which a daily price period begins or ends, ascending. */
  cuts: readonly number[];
  /** By {@link slotOf}; null if unpriced. */
  rates: Map<number, Rates | null>;
}

/** Returns a number for the day and the period between two cuts of it. */
function slotOf(cuts: readonly number[], at: number): number {
  const day = Math.floor(at / DAY_MS);
  if (cuts.length === 0) return day;
  const ofDay = at - day * DAY_MS;
  let period = 0;
  while (period < cuts.length && ofDay >= cuts[period]!) period++;
  return day * (cuts.length + 1) + period;
}

/** Returns the times of the UTC day at which a model's price changes, such as DeepSeek's off-peak hours. */
function dailyCuts(model: ModelInfo): number[] {
  if (!Array.isArray(model.prices)) return [];
  const cuts = new Set<number>();
  for (const { constraint } of model.prices) {
    if (constraint?.type !== "time_of_date") continue;
    for (const time of [constraint.start_time, constraint.end_time]) {
      // "00:30:00Z" or "08:30:00+08:00"; an epoch date turns it into milliseconds of the UTC day.
      const epochMs = Date.parse(`1970-01-02T${time}`);
      cuts.add(((epochMs % DAY_MS) + DAY_MS) % DAY_MS);
    }
  }
  return [...cuts].sort((a, b) => a - b);
}

type Price = ModelPrice[string];

/** Returns the price of one kind of token in a call of `inputTokens`, in pico-USD per token, if there is one. */
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
  // Anthropic's published rule for Claude with any provider: 5-minute writes cost 1.25x, 1-hour writes 2x the input price.
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
 * Converts the token prices of one catalog entry to integers; null if it has no price for input tokens. Only text is priced:
 * audio, image and search prices are omitted. A missing cache price defaults to the price of its whole, as in the catalog.
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
