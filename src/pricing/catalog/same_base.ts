import type { ModelPrices, PriceTable } from "./price_data.ts";
import { isList, pricesAt } from "./prices_at.ts";

/** Two rates are the same if they differ by at most this share: sources round. */
const SHARE = 0.01;

/** Returns whether two rates are the same except for rounding. */
export function isNear(a: number | undefined, b: number, share = SHARE): boolean {
  return a !== undefined && Math.abs(a - b) <= share * Math.max(a, b);
}

/** Returns the rate of a dimension below every threshold. */
export function baseOf(prices: PriceTable, name: string): number | undefined {
  const price = prices[name];
  return typeof price === "object" ? price.base : price;
}

/** Returns the standard prices of a model, of each time that has others. */
export function tablesOf({ prices }: ModelPrices): PriceTable[] {
  return isList(prices) ? prices.map((one) => one.prices) : [prices];
}

/**
 * Returns whether an entry of LiteLLM's map costs what a model costs at some time: then it is that model, if perhaps of another
 * day. With `at`, it must cost that now, at any hour.
 */
export function hasSameBase(model: ModelPrices, listed: ModelPrices, at?: number): boolean {
  const theirs = listed.prices as PriceTable;
  const [input = 0, output = 0] = [baseOf(theirs, "input_mtok"), baseOf(theirs, "output_mtok")];
  const tables = at === undefined ? tablesOf(model) : presentTables(model, at);
  return tables.some((prices) => {
    // An embedding model has an output of 0 in the map, and none in the other source.
    const own = baseOf(prices, "output_mtok") ?? 0;
    return isNear(baseOf(prices, "input_mtok") ?? 0, input) &&
      (own === 0 || output === 0 || isNear(own, output));
  });
}

function presentTables(model: ModelPrices, at: number): PriceTable[] {
  const hourly = isList(model.prices)
    ? model.prices.filter(({ constraint }) => constraint?.type === "time_of_date")
    : [];
  return [pricesAt(model, at), ...hourly.map(({ prices }) => prices)];
}
