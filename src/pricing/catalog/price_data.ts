import type { LitellmModel } from "./litellm_data.ts";

/** The origin of a file of prices. Bundled and downloaded copies have it; the published files don't. */
export interface PriceDataHead {
  /** The day of the prices, in UTC. */
  date: string;
  version?: string;
  url?: string;
  /** The SPDX name of the license and its owner; the text is in `THIRD_PARTY_NOTICES.md`. */
  license?: string;
  /** Number of published entries that the file leaves out, by reason. */
  skipped?: Readonly<Record<string, number>>;
}

/** The prices of genai-prices, in the shape of its published data file, without prose. */
export interface GenaiPrices extends PriceDataHead {
  source: "genai-prices";
  providers: readonly ProviderPrices[];
}

/** LiteLLM's map of prices, without anything but prices. */
export interface LitellmPrices extends PriceDataHead {
  source: "litellm";
  models: Readonly<Record<string, LitellmModel>>;
}

export type PriceData = GenaiPrices | LitellmPrices;

/** One provider of genai-prices. */
export interface ProviderPrices {
  id: string;
  /** The ids of the providers whose models this one also offers, at their prices. */
  fallback_model_providers?: readonly string[];
  models: readonly ModelPrices[];
}

/** One model of genai-prices. */
export interface ModelPrices {
  id: string;
  match: MatchClause;
  prices: PriceTable | readonly ConditionalPrices[];
  price_variants?: readonly PriceVariant[];
  /** True if the provider no longer serves it, or only until a date that the data doesn't have. */
  deprecated?: boolean;
  /** The day on which the provider ends, or has ended, the model. */
  ends_on?: string;
  /** The factor of every rate of tokens in a region; `regional` stands for all regions but the global one. */
  uplifts?: Readonly<Record<string, number>>;
}

/** Boolean logic over the name of a model. */
export type MatchClause =
  | { equals: string }
  | { starts_with: string }
  | { ends_with: string }
  | { contains: string }
  | { regex: string }
  | { or: readonly MatchClause[] }
  | { and: readonly MatchClause[] };

/** USD by dimension, such as `input_mtok` (per million tokens) and `web_searches_kcount` (per thousand). */
export type PriceTable = Readonly<Record<string, number | TieredPrice>>;

/** A price by the number of input tokens; above the start of a tier, it applies to all tokens of a call. */
export interface TieredPrice {
  base: number;
  tiers: readonly { start: number; price: number }[];
}

/** Prices of a time; the last of a list that applies counts. */
export interface ConditionalPrices {
  constraint?: PriceConstraint;
  prices: PriceTable;
}

export type PriceConstraint =
  | { type: "start_date"; start_date: string }
  | { type: "time_of_date"; start_time: string; end_time: string };

/** Prices that replace those of the model for calls that were served so; of several, the first counts. */
export interface PriceVariant extends ConditionalPrices {
  when: Readonly<Record<string, string>>;
}

/** Converts every rate of a table, those of its tiers too. */
export function mapRates(prices: PriceTable, convert: (name: string, rate: number) => number): PriceTable {
  return Object.fromEntries(
    Object.entries(prices).map(([name, price]) => [name, mapRate(price, (rate) => convert(name, rate))]),
  );
}

/** Converts a rate, with those of its tiers. */
export function mapRate(
  price: number | TieredPrice,
  convert: (rate: number) => number,
): number | TieredPrice {
  if (typeof price === "number") return convert(price);
  return {
    base: convert(price.base),
    tiers: price.tiers.map(({ start, price }) => ({ start, price: convert(price) })),
  };
}
