import { type Dimension, toWholePicoUsd } from "./dimensions.ts";
import type { LitellmModel } from "./litellm_data.ts";
import {
  mapRates,
  type ModelPrices,
  type PriceTable,
  type PriceVariant,
  type TieredPrice,
} from "./price_data.ts";

/** LiteLLM's names of rates in USD per token. */
const RATES: Readonly<Record<string, Dimension>> = {
  input_cost_per_token: "input_mtok",
  output_cost_per_token: "output_mtok",
  output_cost_per_reasoning_token: "output_reasoning_mtok",
  cache_read_input_token_cost: "cache_read_mtok",
  cache_creation_input_token_cost: "cache_write_mtok",
  cache_creation_input_token_cost_above_1hr: "cache_write_1h_mtok",
  cache_creation_input_token_cost_above_12hr: "cache_write_12h_mtok",
  input_cost_per_audio_token: "input_audio_mtok",
  cache_read_input_audio_token_cost: "cache_audio_read_mtok",
  output_cost_per_audio_token: "output_audio_mtok",
  input_cost_per_image_token: "input_image_mtok",
  cache_read_input_image_token_cost: "cache_image_read_mtok",
  output_cost_per_image_token: "output_image_mtok",
  input_cost_per_video_token: "input_video_mtok",
  output_cost_per_video_token: "output_video_mtok",
};

/** LiteLLM's endings of the rates of a tier that isn't the standard one. */
const VARIANTS: Readonly<Record<string, Record<string, string>>> = {
  priority: { service_tier: "priority" },
  flex: { service_tier: "flex" },
  ultrafast: { service_tier: "ultrafast" },
  batches: { processing: "batch" },
};

const NAME = /^(.+?)(?:_above_(\d+)k_tokens)?(?:_(priority|flex|ultrafast|batches))?$/;

interface RateName {
  dimension: Dimension;
  /** The tier of the context length, in thousands of tokens; 0 for the first. */
  aboveThousand: number;
  variant: string;
}

/** Names repeat in thousands of entries. */
const parsedNames = new Map<string, RateName | undefined>();
const MAX_NAMES = 1_000;

function parseName(name: string): RateName | undefined {
  if (parsedNames.has(name)) return parsedNames.get(name);
  if (parsedNames.size >= MAX_NAMES) parsedNames.clear();
  const parsed = readName(name);
  parsedNames.set(name, parsed);
  return parsed;
}

function readName(name: string): RateName | undefined {
  if (name === "input_cost_per_request") {
    return { dimension: "requests_kcount", aboveThousand: 0, variant: "" };
  }
  const [, base = "", above = "0", variant = ""] = NAME.exec(name) ?? [];
  const dimension = Object.hasOwn(RATES, base) ? RATES[base] : undefined;
  return dimension && { dimension, aboveThousand: Number(above), variant };
}

/** Returns whether a field of the map is a rate that calls can have. */
export function isLitellmRate(name: string): boolean {
  return parseName(name) !== undefined;
}

/** Moves the decimal point of the shortest text of an amount, so that nothing is rounded. */
function shift(usd: number, places: number): number {
  const [mantissa, exponent = "0"] = String(usd).split("e");
  return Number(`${mantissa}e${Number(exponent) + places}`);
}

/** Converts USD per token to USD per million. */
export const perMillion = (usd: number) => shift(usd, 6);

/** Converts USD per request or search to USD per thousand. */
export const perThousand = (usd: number) => shift(usd, 3);

/** The fields that multiply rates by region, and the region; `regional` stands for all but the global one. */
export const UPLIFTS: Readonly<Record<string, string>> = {
  regional_endpoint_uplift_multiplier: "regional",
  regional_processing_uplift_multiplier_us: "us",
  regional_processing_uplift_multiplier_eu: "eu",
};

/** Converts an entry of LiteLLM's map to a model of genai-prices. */
export function modelOfLitellm(key: string, entry: LitellmModel): ModelPrices {
  const tables: Record<string, Record<string, { base?: number; tiers: { start: number; price: number }[] }>> =
    {};
  const add = (name: string, value: number, start?: number) => {
    const parsed = parseName(name);
    if (!parsed) return;
    const isCount = parsed.dimension.endsWith("_kcount");
    const price = isCount ? perThousand(value) : perMillion(value);
    const price0 = (tables[parsed.variant] ??= {})[parsed.dimension] ??= { tiers: [] };
    const from = start ?? parsed.aboveThousand * 1000;
    if (from === 0) price0.base = price;
    else price0.tiers.push({ start: from, price });
  };
  for (const [name, value] of Object.entries(entry)) {
    if (typeof value === "number") add(name, value);
  }
  for (const { range, ...rates } of entry.tiered_pricing ?? []) {
    for (const [name, value] of Object.entries(rates)) {
      if (typeof value === "number") add(name, value, range[0]);
    }
  }
  const search = entry.search_context_cost_per_query?.search_context_size_medium;
  const prices = {
    ...tableOf(tables[""] ?? {}),
    ...(search !== undefined && { web_searches_kcount: perThousand(search) }),
  };
  const variants: PriceVariant[] = Object.entries(VARIANTS).flatMap(([name, when]) => {
    const listed = tables[name] && tableOf(tables[name], prices);
    return listed && Object.keys(listed).length > 0 ? [{ when, prices: listed }] : [];
  });
  const { us, fast } = entry.provider_specific_entry ?? {};
  if (fast !== undefined) variants.push({ when: { speed: "fast" }, prices: multiply(prices, fast) });
  const uplifts = Object.entries(UPLIFTS).flatMap(([field, region]) =>
    typeof entry[field] === "number" ? [[region, entry[field]]] : []
  );
  if (us !== undefined) uplifts.push(["us", us]);
  return {
    id: key,
    match: { equals: key },
    prices,
    ...(variants.length > 0 && { price_variants: variants }),
    ...(uplifts.length > 0 && { uplifts: Object.fromEntries(uplifts) }),
    ...(entry.deprecation_date !== undefined && { ends_on: entry.deprecation_date }),
  };
}

/** Multiplies every rate of tokens; fees stay. */
function multiply(prices: PriceTable, by: number): PriceTable {
  return mapRates(prices, (name, rate) => name.endsWith("_mtok") ? toWholePicoUsd(rate * by) : rate);
}

/** `standard` are the prices that a variant is one of. */
function tableOf(
  prices: Record<string, { base?: number; tiers: { start: number; price: number }[] }>,
  standard: PriceTable = {},
): PriceTable {
  const table: Record<string, number | TieredPrice> = {};
  for (
    const [name, { base = baseBelow(standard[name], prices[name]!.tiers), tiers }] of Object.entries(prices)
  ) {
    // A rate above a threshold without one below it says nothing of most calls.
    if (base === undefined) continue;
    table[name] = tiers.length === 0 ? base : { base, tiers: tiers.sort((a, b) => a.start - b.start) };
  }
  return table;
}

/** Returns the rate below a threshold of a variant that has only the one above it: the same multiple of the standard one. */
function baseBelow(
  standard: PriceTable[string] | undefined,
  tiers: TieredPrice["tiers"],
): number | undefined {
  if (typeof standard !== "object") return undefined;
  const [{ start, price }] = tiers as [TieredPrice["tiers"][number]];
  const above = standard.tiers.find((tier) => tier.start === start)?.price;
  return above ? toWholePicoUsd(standard.base * price / above) : undefined;
}
