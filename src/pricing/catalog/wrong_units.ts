import type { ParsedPrices, SkippedEntry } from "./parse_price_data.ts";
import { modelOfLitellm } from "./litellm_rates.ts";
import { providerIdOfLitellm } from "./names/provider_names.ts";
import type { ModelPrices, PriceData, PriceTable } from "./price_data.ts";
import { pricesAt } from "./prices_at.ts";
import { baseOf, tablesOf } from "./same_base.ts";

/** A price per million tokens above which a second source is needed: the dearest model costs 600 USD. */
const MAX_USD_PER_MILLION = 1_000;

/**
 * Providers differ by up to 50 times about a model of one name, as of 2026-11 in genai-prices and LiteLLM's map; a price per
 * thousand tokens that is taken for one per million differs by a thousand.
 */
const MAX_RATIO = 100;

const COMPARED = ["input_mtok", "output_mtok"] as const;

/** The prices of a model with one provider. */
interface PricedModel {
  /** `provider:model`, or LiteLLM's key. */
  entry: string;
  /** The part that the names of one model with all providers have in common. */
  name: string;
  provider: string;
  source: PriceData["source"];
  model: ModelPrices;
  /** The prices on the day of the data. */
  prices: PriceTable;
}

/** Leaves out the entries whose prices must be of another unit: compared with the same model elsewhere, in these data and others. */
export function refuseWrongUnits(
  { data, skipped }: ParsedPrices,
  others: readonly PriceData[],
): ParsedPrices {
  const own = listEntries(data);
  const siblings = new Map<string, PricedModel[]>();
  for (const one of [...own, ...others.flatMap(listEntries)]) {
    const known = siblings.get(one.name);
    if (known) known.push(one);
    else siblings.set(one.name, [one]);
  }
  const reasons = new Map<string, string>();
  for (const one of own) {
    const reason = faultOf(one, siblings.get(one.name)!);
    if (reason !== undefined) reasons.set(one.entry, reason);
  }
  if (reasons.size === 0) return { data, skipped };
  const refused = [...reasons].map(([entry, reason]): SkippedEntry => ({ entry, reason }));
  return { data: without(data, reasons), skipped: [...skipped, ...refused] };
}

function without(data: PriceData, entries: ReadonlyMap<string, unknown>): PriceData {
  if (data.source === "litellm") {
    const kept = Object.entries(data.models).filter(([key]) => !entries.has(key));
    return { ...data, models: Object.fromEntries(kept) };
  }
  const providers = data.providers.map((provider) => ({
    ...provider,
    models: provider.models.filter(({ id }) => !entries.has(`${provider.id}:${id}`)),
  }));
  return { ...data, providers };
}

function listEntries(data: PriceData): PricedModel[] {
  const toPriced = (provider: string, name: string, entry: string, model: ModelPrices): PricedModel => ({
    entry,
    provider,
    model,
    source: data.source,
    name: siblingName(name),
    prices: pricesAt(model, Date.parse(data.date)),
  });
  return data.source === "litellm"
    ? Object.entries(data.models).map(([key, entry]) =>
      toPriced(providerIdOfLitellm(entry.litellm_provider), key, key, modelOfLitellm(key, entry))
    )
    : data.providers.flatMap(({ id, models }) =>
      models.map((model) => toPriced(id, model.id, `${id}:${model.id}`, model))
    );
}

function faultOf(
  { provider, source, model, prices }: PricedModel,
  siblings: readonly PricedModel[],
): string | undefined {
  const hasSecond = (name: string, usd: number) =>
    siblings.some((one) => one.source !== source && (baseOf(one.prices, name) ?? 0) * 3 >= usd);
  for (const [name, usd] of tokenRatesOf(model)) {
    if (usd > MAX_USD_PER_MILLION && !hasSecond(name, usd)) {
      return "its price is over 1,000 USD per million tokens, and no second source has it";
    }
  }
  const elsewhere = siblings.filter((one) => one.provider !== provider);
  for (const name of COMPARED) {
    const usd = baseOf(prices, name);
    const theirs = elsewhere.flatMap((one) => baseOf(one.prices, name) || []);
    if (!usd || theirs.length === 0) continue;
    const [low, high] = medianOf(theirs);
    // Of two alone, the dearer one is wrong: a unit is taken for a smaller one.
    if (usd > high * MAX_RATIO || (theirs.length > 1 && usd * MAX_RATIO < low)) {
      return "its price differs from that of other providers by over 100 times";
    }
  }
  return undefined;
}

function tokenRatesOf(model: ModelPrices): [name: string, usd: number][] {
  return [...tablesOf(model), ...model.price_variants?.map(({ prices }) => prices) ?? []].flatMap((table) =>
    Object.entries(table).filter(([name]) => name.endsWith("_mtok")).flatMap(([name, price]) =>
      typeof price === "number"
        ? [[name, price] as [string, number]]
        : [price.base, ...price.tiers.map((tier) => tier.price)].map((usd) => [name, usd] as [string, number])
    )
  );
}

/** Returns the two values in the middle, which are one of an odd number. */
function medianOf(values: readonly number[]): [low: number, high: number] {
  const sorted = [...values].sort((a, b) => a - b);
  return [sorted[Math.floor((sorted.length - 1) / 2)]!, sorted[Math.floor(sorted.length / 2)]!];
}

const REGION = /^(?:us|eu|apac|jp|au|us-gov|global|regional)\./;
const VENDOR = /^[a-z0-9]+\.(?=[a-z])/;
const ADDITION = /[-@:](?:v\d+(?::\d+)?|latest|free|\d{8}|20\d\d-\d\d-\d\d|maas|fp8)$/;

function siblingName(name: string): string {
  const last = name.toLowerCase().split("/").at(-1)!;
  return last.replace(REGION, "").replace(VENDOR, "").replace(ADDITION, "").replace(/[._]/g, "-");
}
