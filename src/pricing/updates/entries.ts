import { modelOfLitellm } from "../catalog/litellm_rates.ts";
import type { ModelPrices, PriceData, PriceTable, ProviderPrices } from "../catalog/price_data.ts";
import { isList } from "../catalog/prices_at.ts";
import { providerIdOfLitellm } from "../catalog/names/provider_names.ts";

/** One model of a file of prices, by which updates take or hold back. */
export interface PriceEntry {
  /** `provider:model`, or LiteLLM's key. */
  name: string;
  providerId: string;
  /** The entry as in the file. */
  value: unknown;
  /** The prices in the common shape. */
  model: ModelPrices;
}

/** Returns the models of a file by name; of several with one name, the first. */
export function entriesOf(data: PriceData): Map<string, PriceEntry> {
  const entries = new Map<string, PriceEntry>();
  const add = (entry: PriceEntry) => entries.has(entry.name) || entries.set(entry.name, entry);
  if (data.source === "litellm") {
    for (const [name, value] of Object.entries(data.models)) {
      add({
        name,
        providerId: providerIdOfLitellm(value.litellm_provider),
        value,
        model: modelOfLitellm(name, value),
      });
    }
    return entries;
  }
  for (const { id, models } of data.providers) {
    for (const model of models) add({ name: `${id}:${model.id}`, providerId: id, value: model, model });
  }
  return entries;
}

/** Lists the models of a file. */
export function listEntries(data: PriceData): PriceEntry[] {
  return [...entriesOf(data).values()];
}

/** The facts of a provider, without its models. */
export type ProviderFacts = Omit<ProviderPrices, "models">;

/** Returns the facts of a file's providers by id; LiteLLM's map has no such facts. */
export function providersOf(data: PriceData): Map<string, ProviderFacts> {
  if (data.source === "litellm") return new Map();
  return new Map(data.providers.map(({ models: _, ...facts }) => [facts.id, facts]));
}

/** Returns a file with the head of another one, and with these models, in this order, and providers. */
export function withEntries(
  head: PriceData,
  entries: Iterable<PriceEntry>,
  providers: ReadonlyMap<string, ProviderFacts>,
): PriceData {
  const all = [...entries];
  if (head.source === "litellm") {
    return {
      ...head,
      models: Object.fromEntries(all.map(({ name, value }) => [name, value])) as typeof head.models,
    };
  }
  const models = Map.groupBy(all, ({ providerId }) => providerId);
  return {
    ...head,
    providers: [...providers.values()]
      .map((facts) => ({ ...facts, models: (models.get(facts.id) ?? []).map(({ model }) => model) }))
      .filter(({ models, fallback_model_providers }) =>
        models.length > 0 || fallback_model_providers !== undefined
      ),
  };
}

/** A rate of a model before and after an update, in USD per million tokens or per thousand; null if the rate is missing. */
export interface RateChange {
  /** `input_mtok`, `output_mtok above 200000`, `input_mtok, flex`, … */
  rate: string;
  before: number | null;
  after: number | null;
}

/** Lists the rates that differ between two entries. */
export function changedRates(before: ModelPrices | undefined, after: ModelPrices | undefined): RateChange[] {
  const [old, next] = [flatRates(before), flatRates(after)];
  return [...new Set([...old.keys(), ...next.keys()])]
    .map((rate) => ({ rate, before: old.get(rate) ?? null, after: next.get(rate) ?? null }))
    .filter((change) => change.before !== change.after);
}

function flatRates(model: ModelPrices | undefined): Map<string, number> {
  const rates = new Map<string, number>();
  const add = (prices: PriceTable, ...conditions: string[]) => {
    for (const [name, price] of Object.entries(prices)) {
      const label = [name, ...conditions].join(", ");
      if (typeof price === "number") rates.set(label, price);
      else {
        rates.set(label, price.base);
        for (const tier of price.tiers) {
          rates.set([`${name} above ${tier.start}`, ...conditions].join(", "), tier.price);
        }
      }
    }
  };
  if (model === undefined) return rates;
  const lists = isList(model.prices) ? model.prices : [{ prices: model.prices }];
  const when = (constraint: (typeof lists)[number]["constraint"]) =>
    constraint === undefined
      ? []
      : constraint.type === "start_date"
      ? [`from ${constraint.start_date}`]
      : [`${constraint.start_time} to ${constraint.end_time}`];
  for (const { constraint, prices } of lists) add(prices, ...when(constraint));
  for (const { when: context, constraint, prices } of model.price_variants ?? []) {
    add(prices, ...Object.values(context), ...when(constraint));
  }
  return rates;
}
