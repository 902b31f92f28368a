import { faultOfRate, isDimension, isOtherUnit } from "./dimensions.ts";
import type { ParsedPrices, SkippedEntry } from "./parse_price_data.ts";
import type {
  ConditionalPrices,
  MatchClause,
  ModelPrices,
  PriceConstraint,
  PriceDataHead,
  PriceTable,
  PriceVariant,
  ProviderPrices,
  TieredPrice,
} from "./price_data.ts";

/** The reason of an entry that can't be taken. */
class Fault extends Error {}

function fail(reason: string): never {
  throw new Fault(reason);
}

type Fields = Record<string, unknown>;

const isFields = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Checks the list of providers and their models. */
export function parseGenaiPrices(list: readonly unknown[], head: PriceDataHead): ParsedPrices {
  const skipped: SkippedEntry[] = [];
  const providers: ProviderPrices[] = [];
  for (const one of list) {
    if (!isFields(one) || typeof one.id !== "string" || !Array.isArray(one.models)) {
      skipped.push({ entry: nameOf(one), reason: "it is no provider with models" });
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
  if (!isFields(model) || typeof model.id !== "string") fail("it is no model");
  const prices = Array.isArray(model.prices) ? model.prices.map(parseConditional) : parseTable(model.prices);
  const tables = Array.isArray(prices) ? prices.map((one) => one.prices) : [prices as PriceTable];
  if (tables.length === 0) fail("it has no prices");
  if (tables.every((table) => table.input_mtok === undefined)) fail("it has no price per input token");
  const variants = model.price_variants === undefined ? [] : parseVariants(model.price_variants);
  return {
    id: model.id,
    match: parseClause(model.match),
    prices,
    ...(variants.length > 0 && { price_variants: variants }),
  };
}

const TEXT_CLAUSES = ["equals", "starts_with", "ends_with", "contains", "regex"];

function parseClause(clause: unknown): MatchClause {
  const entries = isFields(clause) ? Object.entries(clause) : [];
  const [name, value] = entries[0] ?? ["nothing", undefined];
  if (entries.length !== 1) fail("its match is no clause");
  if (TEXT_CLAUSES.includes(name) && typeof value === "string") return { [name]: value } as MatchClause;
  if ((name === "or" || name === "and") && Array.isArray(value)) {
    const clauses = value.map(parseClause);
    return name === "or" ? { or: clauses } : { and: clauses };
  }
  return fail("its match has a clause of another kind");
}

function parseTable(table: unknown): PriceTable {
  if (!isFields(table)) fail("its prices are no table");
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
  if (!isFields(one)) fail("its prices are no list of prices");
  const prices = parseTable(one.prices);
  return one.constraint == null ? { prices } : { constraint: parseConstraint(one.constraint), prices };
}

/** The published file leaves out the type, which follows from the fields. */
function parseConstraint(constraint: unknown): PriceConstraint {
  if (!isFields(constraint)) fail("it has a constraint that is none");
  const { start_date, start_time, end_time } = constraint;
  if (start_time !== undefined && end_time !== undefined && start_date === undefined) {
    return { type: "time_of_date", start_time: parseTime(start_time), end_time: parseTime(end_time) };
  }
  const isDay = typeof start_date === "string" && /^\d{4}-\d{2}-\d{2}$/.test(start_date) &&
    !Number.isNaN(Date.parse(start_date));
  if (!isDay || start_time !== undefined || end_time !== undefined) {
    fail("it has a constraint of another kind");
  }
  return { type: "start_date", start_date };
}

function parseTime(time: unknown): string {
  const isTime = typeof time === "string" && /^\d{2}:\d{2}(:\d{2})?(Z|[+-]\d{2}:\d{2})$/.test(time);
  if (!isTime || Number.isNaN(Date.parse(`1970-01-02T${time}`))) fail("it has a time of day that is none");
  return time;
}

/** Variants of what no call reports, such as a route, never apply and are dropped. */
const CONTEXTS = ["processing", "service_tier", "speed"];

function parseVariants(variants: unknown): PriceVariant[] {
  if (!Array.isArray(variants)) fail("its variants are no list");
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
