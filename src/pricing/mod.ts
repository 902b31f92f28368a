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
export { createLazyPriceBook, type LazyPriceBook } from "./lazy_prices.ts";
export {
  createPriceBook,
  type Price,
  type PriceBook,
  type PriceQuery,
  type PricesInUse,
  type Served,
} from "./prices.ts";
export { parsePriceRecord, type PriceRecord, priceRecordOf } from "./rates.ts";
export {
  type PriceLine,
  priceLines,
  priceUsage,
  type Rates,
  type RateTier,
  sumLines,
  tierFor,
} from "./rates.ts";
export { type AnswerUsage, statedCost, trackAnswerUsage } from "./usage/answer_usage.ts";
export { type UsageApi, usageFromRaw } from "./usage/usage_from_raw.ts";
export {
  checkUsage,
  type Usage,
  USAGE_DETAILS,
  type UsageDetail,
  type UsageDetails,
  usageOf,
} from "./usage/usage.ts";
export { usageFromAiSdk } from "./usage/usage_from_ai_sdk.ts";
export { outputTokensThatFit, worstCaseCost, type WorstCaseRates } from "./worst_case.ts";
