import { editDistance } from "../kernel/nearest_name.ts";
import { startOf } from "../contract/windows.ts";
import { DAY_MS } from "../kernel/clock.ts";
import { messageOf } from "../kernel/errors.ts";
import type { Log } from "../kernel/log.ts";
import { cardAt, possibleCards, sourcedCardAt } from "./catalog/card_at.ts";
import { comparePrices, type PriceDifference } from "./catalog/compare_sources.ts";
import { correctedCuts } from "./catalog/deepseek_peak.ts";
import type { GenaiPrices, LitellmPrices } from "./catalog/price_data.ts";
import { createPriceSources, type FoundModel } from "./catalog/price_sources.ts";
import { dailyCutsOf } from "./catalog/prices_at.ts";
import type { PriceQuery, Served } from "./price_book.ts";
import type { Rates } from "./rates.ts";

/** Names of models come from callers, so the cache is bounded. */
const MAX_CACHED = 20_000;

/** A provider runs a call at most this long after its time, as for a worst case. */
export const MAX_DELAY_MS = 15 * 60_000;

/** Number of names that are suggested for an unknown one. */
const MAX_NEAREST = 3;

/** Published prices by provider, model and time. */
export interface Catalog {
  /** The origin of the prices, by which rate cards name their source. */
  sources: readonly { name: "genai-prices" | "litellm"; date: string; version?: string }[];
  /** Null if neither source has such a provider or model, or a price of its input tokens. */
  rates(query: PriceQuery & Served): Rates | null;
  /** Returns the parts of a usage whose rates are listed; the others have those of a rule. */
  listedParts(query: PriceQuery & Served): ReadonlySet<string>;
  /**
   * Returns every rate card by which a call may be billed: those of the service that it asks for, and those that it can get
   * without asking, within 15 minutes after its time. Of the same price at both times there is one.
   */
  allRates(query: PriceQuery & Served): readonly Rates[];
  /** Returns the end of a model, as far as the data has it. */
  endOf(query: PriceQuery): ModelEnd;
  /** Returns the priced names of a provider that are nearest to an unknown one, at most three. */
  nearest(provider: string, model: string): string[];
  /** Returns the rates of models that both sources know and that differ by over 1%, as of the beginning of the hour. */
  compareSources(at: number): PriceDifference[];
}

/** The end of a model. */
export interface ModelEnd {
  /** The day on which the provider ends, or has ended, the model. */
  endsOn?: string;
  /** True if the provider advises against the model, also where the day isn't known. */
  isDeprecated: boolean;
}

/** The data of a catalog; each source may be missing. */
export interface CatalogData {
  genai?: GenaiPrices;
  litellm?: LitellmPrices;
}

/** Creates a catalog over checked data; rates are cached by provider, model, day, daily price period and service. */
export function createCatalog(data: CatalogData, log: Log): Catalog {
  const sources = createPriceSources(data);
  const models = new Map<string, Map<string, CachedModel>>();
  let cached = 0;
  /** Kept for an hour: to compare all models takes 30 ms, in which no other request is answered. */
  let compared: { hour: number; differences: PriceDifference[] } | undefined;

  const find = ({ provider, model, at, inferenceGeo }: PriceQuery & Served) =>
    sources.find(provider, model, at, inferenceGeo);

  function entryOf(query: PriceQuery & Served): CachedModel {
    const found = find(query);
    return {
      found,
      cuts: found ? cutsOf(found) : [],
      isRenamed: sources.isRenamed(query.provider, query.model),
      standard: new Map(),
      served: new Map(),
      all: new Map(),
    };
  }

  function cachedModel(query: PriceQuery & Served): CachedModel {
    const { provider, inferenceGeo } = query;
    const model = inferenceGeo === undefined ? query.model : `${query.model}\n${inferenceGeo}`;
    const entry = models.get(provider)?.get(model);
    if (entry !== undefined && cached < MAX_CACHED) return entry;
    if (cached >= MAX_CACHED) {
      models.clear();
      cached = 0;
    }
    const byModel = models.get(provider) ?? new Map<string, CachedModel>();
    const created = entryOf(query);
    models.set(provider, byModel.set(model, created));
    cached++;
    return created;
  }

  /** Reads an entry of the data; one that can't be read is unpriced. */
  function read<T>(
    query: PriceQuery & Served,
    entry: CachedModel,
    from: (found: FoundModel) => T,
    otherwise: T,
  ): T {
    const { provider, model } = query;
    const found = entry.isRenamed ? find(query) : entry.found;
    cached++;
    if (found === undefined) return otherwise;
    try {
      return from(found);
    } catch (error) {
      log.warn("The price catalog has an entry that cannot be read", {
        provider,
        model,
        error: messageOf(error),
      });
      return otherwise;
    }
  }

  return {
    sources: [data.genai, data.litellm].flatMap((one) =>
      one
        ? [{ name: one.source, date: one.date, ...(one.version !== undefined && { version: one.version }) }]
        : []
    ),
    rates(query) {
      const entry = cachedModel(query);
      const slot = slotOf(entry.cuts, query.at);
      let cards = entry.standard;
      if (!isStandard(query)) {
        const key = `${query.serviceTier}\n${query.speed}\n${query.inferenceGeo}`;
        const served = entry.served.get(key);
        cards = served ?? new Map();
        if (served === undefined) entry.served.set(key, cards);
      }
      const known = cards.get(slot);
      if (known !== undefined) return known;
      const rates = read(
        query,
        entry,
        (found) => named(cardAt(found, query, query.at, query), query.model),
        null,
      );
      cards.set(slot, rates);
      return rates;
    },
    listedParts(query) {
      const none: ReadonlySet<string> = new Set();
      const parts = (found: FoundModel) => sourcedCardAt(found, query, query.at)?.listed() ?? none;
      return read(query, cachedModel(query), parts, none);
    },
    endOf(query) {
      const entry = cachedModel(query);
      const found = entry.isRenamed ? find(query) : entry.found;
      const endsOn = found?.endsOn;
      return { ...(endsOn !== undefined && { endsOn }), isDeprecated: found?.model.deprecated === true };
    },
    allRates(query) {
      const entry = cachedModel(query);
      const slot = slotOf(entry.cuts, query.at);
      const later = query.at + MAX_DELAY_MS;
      const lastSlot = slotOf(entry.cuts, later);
      const at = (time: number, slotAt: number) => {
        const key = `${slotAt}\n${query.serviceTier}\n${query.speed}`;
        const known = entry.all.get(key);
        if (known !== undefined) return known;
        const cards = read({ ...query, at: time }, entry, (found) => possibleCards(found, query, time), []);
        entry.all.set(key, cards);
        return cards;
      };
      return slot === lastSlot ? at(query.at, slot) : [...at(query.at, slot), ...at(later, lastSlot)];
    },
    nearest: (provider, model) => nearestNames(model, sources.namesOf(provider), MAX_NEAREST),
    compareSources(at) {
      if (!data.genai || !data.litellm) return [];
      const hour = startOf("hour", at);
      if (compared?.hour !== hour) {
        compared = { hour, differences: comparePrices(data.genai, data.litellm, hour) };
      }
      return compared.differences;
    },
  };
}

function isStandard({ serviceTier, speed, inferenceGeo }: Served): boolean {
  return serviceTier === undefined && speed === undefined && inferenceGeo === undefined;
}

interface CachedModel {
  found: FoundModel | undefined;
  /** The milliseconds of the UTC day at which a daily price period begins or ends, ascending. */
  cuts: readonly number[];
  /** True if the name means another model at another time. */
  isRenamed: boolean;
  /** By {@link slotOf}; null if unpriced. */
  standard: Map<number, Rates | null>;
  /** By service tier, speed and region. */
  served: Map<string, Map<number, Rates | null>>;
  /** By slot, tier and speed. */
  all: Map<string, readonly Rates[]>;
}

function cutsOf({ providerId, model }: FoundModel): number[] {
  const corrected = correctedCuts(providerId, model);
  return corrected.length > 0 ? corrected : dailyCutsOf(model);
}

/** Leaves out the id of the model where it is the name of the query. */
function named(rates: Rates | null, model: string): Rates | null {
  if (rates?.model !== model) return rates;
  const { model: _, ...rest } = rates;
  return rest;
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

/** Names over this length are compared by their beginning. */
const MAX_LENGTH = 100;

/** Returns the names nearest to a wanted one by edits, at most `limit`, and none that differs in over half of its letters. */
export function nearestNames(wanted: string, names: readonly string[], limit: number): string[] {
  const lower = wanted.toLowerCase().slice(0, MAX_LENGTH);
  const most = Math.ceil(lower.length / 2);
  return names
    .map((name) => ({ name, edits: editDistance(lower, name.toLowerCase().slice(0, MAX_LENGTH)) }))
    .filter(({ edits }) => edits <= most)
    .sort((a, b) => a.edits - b.edits || (a.name < b.name ? -1 : 1))
    .slice(0, limit)
    .map(({ name }) => name);
}
