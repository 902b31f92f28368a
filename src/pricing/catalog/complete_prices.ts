import { correctedPricesAt } from "./deepseek_peak.ts";
import { toWholePicoUsd } from "./dimensions.ts";
import { mapRate, type ModelPrices, type PriceTable, type TieredPrice } from "./price_data.ts";
import type { FoundModel } from "./price_sources.ts";
import { variantAt } from "./prices_at.ts";
import { baseOf, isNear, tablesOf } from "./same_base.ts";

/** Prices, and which of them the other source has. */
export interface CompletedPrices {
  prices: PriceTable;
  /** The dimensions that are priced by the other source, each with the number of input tokens from which on. */
  ofOther: ReadonlyMap<string, number>;
}

const NONE: ReadonlyMap<string, number> = new Map();

/** Returns the standard prices of a model at a time; prices that its source lacks are those of the other source. */
export function standardPricesAt({ providerId, model, other }: FoundModel, at: number): CompletedPrices {
  const prices = correctedPricesAt(providerId, model, at);
  if (other === undefined) return { prices, ofOther: NONE };
  const scale = scaleBetween(prices, tableOf(other.model));
  const completed: Record<string, PriceTable[string]> = { ...prices };
  const ofOther = new Map<string, number>();
  for (const [name, listed] of pricesOf(tableOf(other.model))) {
    const mine = prices[name];
    const theirs = mapRate(listed, (rate) => scale(name, rate));
    if (other.isFirst && (mine === undefined || !isSamePrice(mine, theirs))) completed[name] = theirs;
    else if (mine === undefined && !isDated(model, (price) => price !== undefined, name)) {
      completed[name] = theirs;
    } else if (
      typeof mine === "number" && typeof theirs === "object" &&
      !isDated(model, (price) => typeof price === "object", name)
    ) completed[name] = withTiersOf(theirs, mine);
    else continue;
    ofOther.set(name, extentOf(completed[name]!, mine));
  }
  return { prices: completed, ofOther };
}

/**
 * Returns the prices of a call that was served in a context, or undefined if neither source has any. What isn't listed for it
 * costs as much as the standard.
 */
export function variantPricesAt(
  { model, isOwn, other }: FoundModel,
  standard: CompletedPrices,
  context: Readonly<Record<string, string>>,
  at: number,
): CompletedPrices | undefined {
  const mine = isOwn ? variantAt(model, context, at) : undefined;
  const theirs = other && new Map(pricesOf(variantAt(other.model, context, at) ?? {}));
  if (mine === undefined && !theirs?.size) return undefined;
  const prices: Record<string, PriceTable[string]> = { ...standard.prices };
  const ofOther = new Map(standard.ofOther);
  for (const [name, price] of Object.entries(mine ?? {})) {
    prices[name] = price;
    ofOther.delete(name);
  }
  const scale = theirs && scaleBetween(standard.prices, tableOf(other!.model));
  for (const [name, listed] of theirs ?? []) {
    const price = mapRate(listed, (rate) => scale!(name, rate));
    const own = other!.isFirst ? undefined : mine?.[name];
    if (own === undefined) prices[name] = alignTiers(standard.prices[name], price);
    else if (typeof own === "number" && typeof price === "object") prices[name] = withTiersOf(price, own);
    else continue;
    ofOther.set(name, extentOf(prices[name]!, own));
  }
  const isListed = (name: string) => mine?.[name] !== undefined || theirs?.has(name);
  for (const [name, price] of Object.entries(standard.prices)) {
    const isMissing = mine === undefined ? isMultiple(name) : ofOther.has(name) && name.endsWith("_mtok");
    if (!isMissing || isListed(name)) continue;
    const leader = leaderOf(name);
    const [usual, own] = [standard.prices[leader], prices[leader]];
    if (usual === undefined || own === undefined || rateOf(usual) === 0) continue;
    const ratio = rateOf(own) / rateOf(usual);
    prices[name] = mapRate(price, (rate) => toWholePicoUsd(rate * ratio));
  }
  return { prices, ofOther };
}

/** Returns whether a rate is a multiple of another one in every service: then the prices listed for that one hold for it, too. */
function isMultiple(name: string): boolean {
  return name === "output_reasoning_mtok" || /^cache_write_1[2h]/.test(name);
}

function leaderOf(name: string): string {
  if (/^cache_write_1[2h]/.test(name)) return "cache_write_mtok";
  return name.startsWith("output_") ? "output_mtok" : "input_mtok";
}

/** Returns the prices of a table except those of 0, which the map also has for unknown prices. */
function pricesOf(table: PriceTable): [name: string, price: PriceTable[string]][] {
  return Object.entries(table).filter(([, price]) => rateOf(price) !== 0);
}

/** LiteLLM's entries have one table each. */
const tableOf = ({ prices }: ModelPrices) => prices as PriceTable;

const rateOf = (price: PriceTable[string]) => typeof price === "object" ? price.base : price;

/**
 * Returns the conversion of a source's rates to the level of another one's. Providers publish a tier, a cache or a long context
 * as a multiple of the standard rate, and sources differ by date: the multiple holds, not the amount. Fees are taken as they are.
 */
function scaleBetween(prices: PriceTable, others: PriceTable): (name: string, rate: number) => number {
  const ratioOf = (name: string): number | undefined => {
    const [mine, theirs] = [baseOf(prices, name), baseOf(others, name)];
    return mine && theirs ? mine / theirs : undefined;
  };
  const input = ratioOf("input_mtok") ?? 1;
  const output = ratioOf("output_mtok") ?? input;
  return (name, rate) => {
    const ratio = name.startsWith("output_") ? output : input;
    return ratio === 1 || !name.endsWith("_mtok") ? rate : toWholePicoUsd(rate * ratio);
  };
}

/** Returns whether two prices are the same; one without tiers says nothing of those of the other. */
function isSamePrice(mine: PriceTable[string], theirs: PriceTable[string]): boolean {
  if (!isNear(rateOf(mine), rateOf(theirs))) return false;
  if (typeof mine === "number" || typeof theirs === "number") return typeof theirs === "number";
  return mine.tiers.length === theirs.tiers.length &&
    mine.tiers.every(({ price }, index) => isNear(price, theirs.tiers[index]!.price));
}

/** Returns whether a source has a dimension, or tiers of it, at another time: then it leaves it out at this time on purpose. */
function isDated(
  model: ModelPrices,
  has: (price: PriceTable[string] | undefined) => boolean,
  name: string,
): boolean {
  return tablesOf(model).some((prices) => has(prices[name]));
}

/** Returns the number of input tokens from which on a price isn't that of its own source. */
function extentOf(price: PriceTable[string], own: PriceTable[string] | undefined): number {
  return typeof price === "object" && price.base === own ? price.tiers[0]!.start : 0;
}

/** Returns a price with the tiers of another one, in the proportion of both prices without tiers. */
function withTiersOf({ base, tiers }: TieredPrice, rate: number): TieredPrice {
  return {
    base: rate,
    tiers: tiers.map(({ start, price }) => ({ start, price: toWholePicoUsd(price * rate / base) })),
  };
}

/** Gives a service with one rate that of a long context: as many times more as in the standard service. */
function alignTiers(standard: PriceTable[string] | undefined, price: PriceTable[string]): PriceTable[string] {
  return typeof standard === "object" && typeof price === "number" && standard.base > 0
    ? withTiersOf(standard, price)
    : price;
}
