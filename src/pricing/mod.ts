/**
 * Prices usage by model and time. `usage/mod.ts` reads the usage that providers report; `show/mod.ts` and `updates/mod.ts` are
 * for `purser prices`.
 */
export { createLazyPriceBook, type LazyPriceBook, type OverridesFile } from "./lazy_prices.ts";
export type { Price, PriceBook, PriceQuery, Served } from "./price_book.ts";
export { type Rates, tierFor } from "./rates.ts";
export {
  isApart,
  parsePriceRecord,
  type PriceLine,
  priceLines,
  priceRecordOf,
  sumLines,
} from "./price_usage.ts";
export {
  checkUsage,
  countsOf,
  hasQuantity,
  type ModelUsage,
  type Usage,
  USAGE_DETAILS,
  USAGE_FIELDS,
  type UsageCounts,
  usageOf,
} from "./usage/usage.ts";
export { outputTokensThatFit, unboundedModel, worstCaseCost, type WorstCaseRates } from "./worst_case.ts";
