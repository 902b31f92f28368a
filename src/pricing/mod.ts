/** Normalizes the usage that providers report, and prices it by model and time. */
export { type Catalog, type CatalogData, createCatalog, openCatalog } from "./catalog.ts";
export { bundledPrices } from "./catalog/bundled_prices.ts";
export { comparePrices, type PriceDifference } from "./catalog/compare_sources.ts";
export {
  countSkipped,
  type ParsedPrices,
  parsePriceData,
  type SkippedEntry,
} from "./catalog/parse_price_data.ts";
export type { GenaiPrices, LitellmPrices, PriceData } from "./catalog/price_data.ts";
export { createLazyPriceBook, type LazyPriceBook, type OverridesFile } from "./prices.ts";
export { createPriceBook, type PricesInUse } from "./prices.ts";
export type { Price, PriceBook, PriceQuery, Served } from "./price_book.ts";
export { parsePriceRecord, type PriceRecord, priceRecordOf } from "./price_usage.ts";
export { type Rates, type RateTier, tierFor } from "./rates.ts";
export { type PriceLine, priceLines, priceUsage, sumLines } from "./price_usage.ts";
export type { BilledProvider } from "./stated/bills.ts";
export { hasQuantity, isApart } from "./stated/stated_cost.ts";
export type { Statement } from "./stated/statement.ts";
export { type AnswerUsage, trackAnswerUsage } from "./usage/answer_usage.ts";
export { type Asked, readAsked } from "./usage/asked.ts";
export { type UsageApi, usageFromRaw } from "./usage/usage_from_raw.ts";
export {
  checkUsage,
  type ModelUsage,
  type Usage,
  USAGE_DETAILS,
  type UsageDetail,
  type UsageDetails,
  usageOf,
} from "./usage/usage.ts";
export { usageFromAiSdk } from "./usage/answer_usage.ts";
export { outputTokensThatFit, unboundedModel, worstCaseCost, type WorstCaseRates } from "./worst_case.ts";
export { type Fields, isFields } from "./usage/fields.ts";
