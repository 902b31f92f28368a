import { type Fields, isFields } from "../usage/fields.ts";
import { messageOf, PurserError } from "../../kernel/errors.ts";
import type { LitellmModel, LitellmTier } from "./litellm_data.ts";
import type {
  ConditionalPrices,
  MatchClause,
  ModelPrices,
  PriceConstraint,
  PriceData,
  PriceDataHead,
  PriceTable,
  PriceVariant,
  ProviderPrices,
  TieredPrice,
} from "./price_data.ts";
import { faultOfRate, isDimension, isOtherUnit } from "./dimensions.ts";
import { isLitellmRate, perMillion, perThousand, UPLIFTS } from "./litellm_rates.ts";

/** Both published files have under 4 MB. */
const MAX_CHARACTERS = 32_000_000;

/** An entry that was left out. */
export interface SkippedEntry {
  /** `provider:model`, or LiteLLM's key. */
  entry: string;
  reason: string;
}

/** Checked prices, and the entries that were left out. */
export interface ParsedPrices {
  data: PriceData;
  skipped: SkippedEntry[];
}

/**
 * Reads a file of prices: a published one of genai-prices (a list of providers) or LiteLLM (a map of models), or a copy with
 * its head, as bundled. Prose and other units are dropped; an entry with anything that can't be read is left out whole and
 * reported. `head` is the origin of a published file. Throws `invalid` for anything else.
 */
export function parsePriceData(text: string, head: Partial<PriceDataHead> = {}): ParsedPrices {
  if (text.length > MAX_CHARACTERS) {
    throw new PurserError("invalid", `Cannot read the prices: the file is over ${MAX_CHARACTERS / 1e6} MB`);
  }
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (error) {
    throw new PurserError("invalid", `Cannot read the prices: the file is no JSON: ${messageOf(error)}`);
  }
  if (Array.isArray(json)) return checked(parseGenaiPrices(json, headOf(head)));
  if (typeof json !== "object" || json === null) throw notPrices();
  const file = json as Record<string, unknown>;
  if (Array.isArray(file.providers)) {
    return checked(parseGenaiPrices(file.providers, headOf({ ...file, ...head })));
  }
  if (typeof file.models === "object" && file.models !== null && file.source === "litellm") {
    return checked(parseLitellmPrices(file.models as Record<string, unknown>, headOf({ ...file, ...head })));
  }
  return checked(parseLitellmPrices(file, headOf(head)));
}

function notPrices(): PurserError {
  return new PurserError(
    "invalid",
    "Cannot read the prices: the file has no prices; give a data file of genai-prices or LiteLLM's map",
  );
}

/** A file of which nothing can be read is another file. */
function checked(parsed: ParsedPrices): ParsedPrices {
  const { data } = parsed;
  const count = data.source === "litellm" ? Object.keys(data.models).length : data.providers.length;
  if (count === 0) throw notPrices();
  return parsed;
}

function headOf(fields: Partial<Record<keyof PriceDataHead, unknown>>): PriceDataHead {
  const { date, version, url, license, skipped } = fields;
  if (!isDay(date)) {
    throw new PurserError(
      "invalid",
      `Cannot read the prices: their date is ${date}, not a day; give it as 2026-11-10`,
    );
  }
  return {
    date,
    ...(typeof version === "string" && { version }),
    ...(typeof url === "string" && { url }),
    ...(typeof license === "string" && { license }),
    ...(typeof skipped === "object" && skipped !== null && { skipped: skipped as Record<string, number> }),
  };
}

/** Counts what was left out by reason, without names and values. */
export function countSkipped(skipped: readonly SkippedEntry[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { reason } of skipped) counts[reason] = (counts[reason] ?? 0) + 1;
  return counts;
}

/** The reason of an entry that can't be taken. */
class Fault extends Error {}

function fail(reason: string): never {
  throw new Fault(reason);
}

/** Checks the list of providers and their models. */
export function parseGenaiPrices(list: readonly unknown[], head: PriceDataHead): ParsedPrices {
  const skipped: SkippedEntry[] = [];
  const providers: ProviderPrices[] = [];
  for (const one of list) {
    if (!isFields(one) || typeof one.id !== "string" || !Array.isArray(one.models)) {
      skipped.push({ entry: nameOf(one), reason: "it isn't a provider with models" });
      continue;
    }
    const models: ModelPrices[] = [];
    for (const model of one.models) {
      try {
        models.push(parseModel(model));
      } catch (error) {
        if (!(error instanceof Fault)) throw error;
        skipped.push({ entry: `${one.id}:${nameOf(model)}`, reason: error.message });
      }
    }
    const fallback = one.fallback_model_providers;
    const hasFallback = Array.isArray(fallback) && fallback.every((id) => typeof id === "string");
    if (models.length === 0 && !hasFallback) continue;
    providers.push({ id: one.id, ...(hasFallback && { fallback_model_providers: fallback }), models });
  }
  return { data: { source: "genai-prices", ...head, providers }, skipped };
}

function nameOf(entry: unknown): string {
  return isFields(entry) && typeof entry.id === "string" ? entry.id : "(an entry without an id)";
}

function parseModel(model: unknown): ModelPrices {
  if (!isFields(model) || typeof model.id !== "string") fail("it isn't a model");
  const prices = Array.isArray(model.prices) ? model.prices.map(parseConditional) : parseTable(model.prices);
  const tables = Array.isArray(prices) ? prices.map((one) => one.prices) : [prices as PriceTable];
  if (tables.length === 0) fail("it has no prices");
  if (tables.every((table) => table.input_mtok === undefined)) fail("it has no price per input token");
  const variants = model.price_variants === undefined ? [] : parseVariants(model.price_variants);
  return {
    id: model.id,
    match: parseClause(model.match, 0),
    prices,
    ...(variants.length > 0 && { price_variants: variants }),
    ...(model.deprecated === true && { deprecated: true }),
  };
}

const TEXT_CLAUSES = ["equals", "starts_with", "ends_with", "contains", "regex"];

/** Published clauses have two levels. */
const MAX_CLAUSE_DEPTH = 10;

function parseClause(clause: unknown, depth: number): MatchClause {
  if (depth > MAX_CLAUSE_DEPTH) fail("its match has too many levels");
  const entries = isFields(clause) ? Object.entries(clause) : [];
  const [name, value] = entries[0] ?? ["nothing", undefined];
  if (entries.length !== 1) fail("its match isn't a clause");
  if (TEXT_CLAUSES.includes(name) && typeof value === "string") return { [name]: value } as MatchClause;
  if ((name === "or" || name === "and") && Array.isArray(value)) {
    const clauses = value.map((one) => parseClause(one, depth + 1));
    return name === "or" ? { or: clauses } : { and: clauses };
  }
  return fail("its match has a clause of another kind");
}

function parseTable(table: unknown): PriceTable {
  if (!isFields(table)) fail("its prices aren't a table");
  const prices: Record<string, number | TieredPrice> = {};
  for (const [name, price] of Object.entries(table)) {
    if (price === null || isOtherUnit(name)) continue;
    if (!isDimension(name)) fail("it has a price of an unknown unit");
    prices[name] = parsePrice(name, price);
  }
  return prices;
}

function parsePrice(name: string, price: unknown): number | TieredPrice {
  if (!isFields(price)) return checkRate(name, price);
  if (!Array.isArray(price.tiers)) fail(`${name} has no tiers`);
  const tiers = price.tiers.map((tier: unknown) => {
    if (!isFields(tier) || !Number.isSafeInteger(tier.start) || Number(tier.start) < 0) {
      fail(`${name} has a tier without a start`);
    }
    return { start: Number(tier.start), price: checkRate(name, tier.price) };
  });
  return { base: checkRate(name, price.base), tiers: tiers.sort((a, b) => a.start - b.start) };
}

function checkRate(name: string, value: unknown): number {
  const fault = faultOfRate(name, value);
  if (fault) fail(fault);
  return value as number;
}

function parseConditional(one: unknown): ConditionalPrices {
  if (!isFields(one)) fail("its prices aren't a list of prices");
  const prices = parseTable(one.prices);
  return one.constraint == null ? { prices } : { constraint: parseConstraint(one.constraint), prices };
}

/** The published file leaves out the type, which follows from the fields. */
function parseConstraint(constraint: unknown): PriceConstraint {
  if (!isFields(constraint)) fail("its constraint isn't an object");
  const { start_date, start_time, end_time } = constraint;
  if (start_time !== undefined && end_time !== undefined && start_date === undefined) {
    return { type: "time_of_date", start_time: parseTime(start_time), end_time: parseTime(end_time) };
  }
  if (!isDay(start_date) || start_time !== undefined || end_time !== undefined) {
    fail("it has a constraint of another kind");
  }
  return { type: "start_date", start_date };
}

function parseTime(time: unknown): string {
  const isTime = typeof time === "string" && /^\d{2}:\d{2}(:\d{2})?(Z|[+-]\d{2}:\d{2})$/.test(time);
  if (!isTime || Number.isNaN(Date.parse(`1970-01-02T${time}`))) fail("its time of day isn't a time");
  return time;
}

/** Variants by a property that no call reports, such as a route, never apply and are dropped. */
const CONTEXTS = ["processing", "service_tier", "speed"];

function parseVariants(variants: unknown): PriceVariant[] {
  if (!Array.isArray(variants)) fail("its variants aren't a list");
  return variants.flatMap((variant: unknown) => {
    if (!isFields(variant) || !isFields(variant.when)) fail("it has a variant without a condition");
    const when = Object.entries(variant.when);
    if (when.length === 0 || when.some(([, value]) => typeof value !== "string")) {
      fail("it has a variant without a condition");
    }
    const parsed = { when: variant.when as Record<string, string>, ...parseConditional(variant) };
    return when.every(([name]) => CONTEXTS.includes(name)) ? [parsed] : [];
  });
}

const MODES = ["chat", "completion", "responses", "embedding"];

/** Checks LiteLLM's map. */
export function parseLitellmPrices(map: Fields, head: PriceDataHead): ParsedPrices {
  const skipped: SkippedEntry[] = [];
  const models: [key: string, model: LitellmModel][] = [];
  for (const [key, entry] of Object.entries(map)) {
    const parsed = parseEntry(key, entry);
    if (typeof parsed === "string") skipped.push({ entry: key, reason: parsed });
    else models.push([key, parsed]);
  }
  return { data: { source: "litellm", ...head, models: Object.fromEntries(models) }, skipped };
}

/** Returns the slim entry, or the reason why it is left out. */
function parseEntry(key: string, entry: unknown): LitellmModel | string {
  if (key === "sample_spec" || !isFields(entry)) return "it isn't a model";
  if (typeof entry.litellm_provider !== "string") return "it has no provider";
  if (entry.mode !== undefined && !MODES.includes(entry.mode as string)) return "its mode has no text";
  const rates = readRates(entry);
  if (typeof rates === "string") return rates;
  const tiers = readTiers(entry.tiered_pricing);
  if (typeof tiers === "string") return tiers;
  if (rates.input_cost_per_token === undefined && tiers === undefined) {
    return "it has no price per input token";
  }
  // The map has 0 both for free models and for unknown prices.
  const isFree = tiers === undefined && !rates.input_cost_per_token && !rates.output_cost_per_token;
  if (isFree) return "its prices are 0: free or unknown";
  const search = searchCost(entry.search_context_cost_per_query);
  const multiples = readMultiples(entry.provider_specific_entry, ["us", "fast"]);
  return {
    litellm_provider: entry.litellm_provider,
    ...(isDay(entry.deprecation_date) && { deprecation_date: entry.deprecation_date }),
    ...corrected(entry.litellm_provider, rates),
    ...(search && { search_context_cost_per_query: search }),
    ...readMultiples(entry, Object.keys(UPLIFTS)),
    ...(Object.keys(multiples).length > 0 && { provider_specific_entry: multiples }),
    ...(tiers && { tiered_pricing: tiers }),
  };
}

const WRITE = "cache_creation_input_token_cost";
const READ = "cache_read_input_token_cost";

const REASONING = "output_cost_per_reasoning_token";

/**
 * Corrects the rates of an entry. A cache write of OpenAI's below the price of input is the read, which the map has under that
 * name for some models. If Gemini's rate of thinking equals that of output in every tier, it isn't a rate of its own.
 */
function corrected(provider: string, rates: Record<string, number>): Record<string, number> {
  const { [WRITE]: write = 0, ...withoutWrite } = rates;
  const isRead = /^(?:openai|azure)$/.test(provider) && write > 0 &&
    write < (rates.input_cost_per_token ?? 0);
  if (isRead) return { [READ]: write, ...withoutWrite };
  const { [REASONING]: reasoning, ...withoutReasoning } = rates;
  const isOutput = /^(?:gemini|vertex_ai)/.test(provider) && reasoning === rates.output_cost_per_token;
  return isOutput ? withoutReasoning : rates;
}

/** Reads the multiples of rates; one that belongs to neither a region nor a speed is left out. */
function readMultiples(fields: unknown, names: readonly string[]): Record<string, number> {
  if (!isFields(fields)) return {};
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = fields[name];
      return typeof value === "number" && value >= 1 && value <= 10 ? [[name, value]] : [];
    }),
  );
}

function isDay(text: unknown): text is string {
  return typeof text === "string" && /^\d{4}-\d{2}-\d{2}$/.test(text) && !Number.isNaN(Date.parse(text));
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
  if (!Array.isArray(list) || list.length === 0) return "its tiers aren't a list";
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
