import { PurserError } from "../kernel/errors.ts";
import { type Log, silentLog } from "../kernel/log.ts";
import type { NanoUsd } from "../kernel/money.ts";
import type { PriceOverride } from "../contract/price_override.ts";
import { type Catalog, createCatalog } from "./catalog.ts";
import { providerIdOf } from "./catalog/names/provider_names.ts";
import { ratesOfOverride } from "./override_rates.ts";
import { DEMO_RATES, priceUsage, type Rates, type UsageCost } from "./rates.ts";
import { readUsedPrices, type UsedPrices } from "./updates/used_prices.ts";
import { checkUsage, type Usage } from "./usage/usage.ts";
import { worstCaseCost, type WorstCaseRates, worstCaseRates } from "./worst_case.ts";

/** A price to look up. `provider` and `model` are Purser's names: `openai` and `gpt-4o-mini`. */
export interface PriceQuery {
  provider: string;
  model: string;
  /** The time of the call, in milliseconds since the epoch; prices change by date and some by the hour. */
  at: number;
}

/** The service that a provider reports of a call; each property may have its own rates. */
export interface Served {
  /** `flex`, `priority`, `batch`, …, or the name of the standard tier. */
  serviceTier?: string | undefined;
  /** Anthropic: `fast` or `standard`. */
  speed?: string | undefined;
  /** Anthropic: `us` or `global`. */
  inferenceGeo?: string | undefined;
}

/** The cost of a call and the source of its price. */
export interface Price extends UsageCost {
  /** `config`, `genai-prices@<date>`, `litellm@<date>`, `demo`, `provider` or `none`. */
  priceSource: string;
  /** The rate card of the cost; null if no price is known. */
  rates: Rates | null;
  /** The cost by the rate card, where `costNanoUsd` is the one that the provider has stated. */
  listCostNanoUsd?: NanoUsd;
}

/**
 * All known prices, in this order: the overrides of the config, the `demo` provider, the catalog. Models are matched exactly,
 * or by a dated or `-latest` alias; all others are unpriced.
 *
 * A call that was served at another tier, speed or region than the standard one is priced by the override with that
 * `service_tier`, else by the catalog's rates for it; without any, at the standard rates and as partly priced.
 */
export interface PriceBook {
  /** Prices a call; the cost that the provider states wins. Throws `invalid` for a contradictory usage. */
  price(input: PriceQuery & Served & { usage: Usage; statedNanoUsd?: NanoUsd | undefined }): Price;
  /** Returns the prices of a model, or null if none is known. */
  rates(input: PriceQuery & Served): Rates | null;
  /** Returns the highest prices of the tokens of a call of at most `inputTokens`, over all known service tiers. */
  worstCaseRates(input: PriceQuery & { inputTokens: number }): WorstCaseRates | null;
  /** Returns an upper bound of the cost of a call, in nano-USD rounded up, or null if no price is known. */
  worstCase(input: PriceQuery & { inputTokens: number; outputTokens: number }): NanoUsd | null;
}

/** Each distinct warning is logged once, up to this many. */
const MAX_WARNINGS = 1_000;

const UNPRICED: Price = Object.freeze({ costNanoUsd: null, priceSource: "none", rates: null });

/** Options of a price book. */
export interface PriceBookOptions {
  overrides?: readonly PriceOverride[];
  /** The folder of updated prices; without one, the prices are those of this release. */
  folder?: string | undefined;
  /** Replaces the catalog of the prices in use. */
  catalog?: Catalog;
  log?: Log;
}

/** The prices in use: a price book, and its parts. */
export interface PricesInUse {
  book: PriceBook;
  overrides: readonly PriceOverride[];
  catalog: Catalog;
  listed: UsedPrices;
}

/** Loads all prices. Throws `invalid`, naming the path, if `overrides` are wrong or contradict each other. */
export async function openPrices(options: PriceBookOptions = {}): Promise<PricesInUse> {
  const log = options.log ?? silentLog;
  const overrides = await readOverrides(options.overrides ?? []);
  const listed = await readUsedPrices(options.folder, log);
  const catalog = options.catalog ?? createCatalog(listed, log);
  return { book: createPriceBookOver(catalog, overrides, log), overrides, catalog, listed };
}

/** Loads a price book, as `openPrices()` does. */
export async function createPriceBook(options?: PriceBookOptions): Promise<PriceBook> {
  return (await openPrices(options)).book;
}

/** Checks the overrides, and returns them as a copy. Without any, the schema is not loaded. */
async function readOverrides(overrides: readonly PriceOverride[]): Promise<readonly PriceOverride[]> {
  if (Array.isArray(overrides) && overrides.length === 0) return [];
  const { PriceOverrides } = await import("../contract/price_override.ts");
  const rows = PriceOverrides.safeParse(overrides);
  if (rows.success) return rows.data;
  const { path, message } = rows.error.issues[0]!;
  throw new PurserError("invalid", `Cannot read the prices: ${["prices", ...path].join(".")} ${message}`);
}

/** Creates a price book over a given catalog. */
function createPriceBookOver(catalog: Catalog, rows: readonly PriceOverride[], log: Log): PriceBook {
  const overrides = indexOverrides(rows);
  const warned = new Set<string>();

  function warnOnce(
    message: string,
    fields: Record<string, unknown>,
    more?: () => Record<string, unknown>,
  ): void {
    const key = JSON.stringify([message, fields]);
    if (warned.has(key) || warned.size >= MAX_WARNINGS) return;
    warned.add(key);
    log.warn(message, { ...fields, ...more?.() });
  }

  function listed(query: PriceQuery & Served): Rates | null {
    return query.provider === "demo" ? DEMO_RATES : catalog.rates(query);
  }

  const book: PriceBook = {
    rates(input) {
      return overrides.find(input.provider, input.model, input.at, input.serviceTier) ?? listed(input);
    },
    price(input) {
      checkUsage(input.usage);
      const { provider, model, statedNanoUsd } = input;
      const rates = book.rates(input);
      const cost = rates && priceUsage(rates, input.usage);
      if (statedNanoUsd !== undefined) {
        const listCostNanoUsd = cost?.unpricedParts ? null : cost?.costNanoUsd;
        return {
          costNanoUsd: statedNanoUsd,
          priceSource: "provider",
          rates,
          ...(listCostNanoUsd != null && { listCostNanoUsd }),
        };
      }
      if (rates === null || cost === null || cost.costNanoUsd === null) {
        const message = "No price is known for a model: its calls are booked without a cost";
        warnOnce(message, { provider, model }, () => {
          const nearest = catalog.nearest(provider, model);
          const see = `purser prices show ${provider}:${model}`;
          return nearest.length > 0 ? { nearest, see } : { see };
        });
        return UNPRICED;
      }
      if (cost.unpricedParts) {
        const parts = cost.unpricedParts;
        warnOnce("A part of a call has no known price: its cost is that of the others", {
          provider,
          model,
          parts,
        });
      }
      return { ...cost, priceSource: rates.source, rates };
    },
    worstCaseRates(input) {
      const { anyTier, byTier } = overrides.findAll(input.provider, input.model, input.at);
      const cards = anyTier ? [anyTier] : input.provider === "demo" ? [DEMO_RATES] : catalog.allRates(input);
      return cards.length === 0 ? null : worstCaseRates([...cards, ...byTier], input.inputTokens);
    },
    worstCase(input) {
      const rates = book.worstCaseRates(input);
      return rates && worstCaseCost(rates, input);
    },
  };
  return book;
}

interface DatedRates {
  fromMs: number;
  serviceTier: string | undefined;
  rates: Rates;
}

/** The price overrides of the config, by provider, model and time. */
export interface Overrides {
  /** Returns the row for calls of that tier, else the row for any tier, else undefined. */
  find(provider: string, model: string, at: number, serviceTier?: string): Rates | undefined;
  /** Returns all rows that can price a call at that time: one per service tier, and the one for any tier. */
  findAll(provider: string, model: string, at: number): { anyTier?: Rates; byTier: Rates[] };
}

/** Names of providers come from callers, so the memory of them is bounded. */
const MAX_PROVIDER_NAMES = 1_000;

/** Indexes checked rows by the provider that their name means, such as `bedrock` for `aws`. */
export function indexOverrides(rows: readonly PriceOverride[]): Overrides {
  const index = new Map<string, Map<string, DatedRates[]>>();
  const ids = new Map<string, string>();
  const idOf = (provider: string) => {
    let id = ids.get(provider);
    if (id === undefined) {
      if (ids.size >= MAX_PROVIDER_NAMES) ids.clear();
      ids.set(provider, id = providerIdOf(provider));
    }
    return id;
  };
  const rowsOf = (provider: string, model: string) =>
    index.size === 0 ? undefined : index.get(idOf(provider))?.get(model);
  for (const row of rows) {
    const models = index.get(idOf(row.provider)) ?? new Map<string, DatedRates[]>();
    const dated = models.get(row.model) ?? [];
    const fromMs = row.from === undefined ? -Infinity : Date.parse(`${row.from}T00:00:00.000Z`);
    dated.push({ fromMs, serviceTier: row.service_tier, rates: ratesOfOverride(row) });
    dated.sort((a, b) => b.fromMs - a.fromMs || 0);
    index.set(idOf(row.provider), models.set(row.model, dated));
  }
  const latest = (rows: DatedRates[] | undefined, at: number, serviceTier: string | undefined) =>
    rows?.find((row) => row.fromMs <= at && row.serviceTier === serviceTier)?.rates;
  return {
    find(provider, model, at, serviceTier) {
      const rows = rowsOf(provider, model);
      if (rows === undefined) return undefined;
      const ofTier = serviceTier === undefined ? undefined : latest(rows, at, serviceTier);
      return ofTier ?? latest(rows, at, undefined);
    },
    findAll(provider, model, at) {
      const rows = rowsOf(provider, model);
      const tiers = new Set(rows?.flatMap((row) => row.serviceTier ?? []));
      return {
        anyTier: latest(rows, at, undefined),
        byTier: [...tiers].flatMap((tier) => latest(rows, at, tier) ?? []),
      };
    },
  };
}
