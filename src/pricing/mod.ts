/** Normalizes the usage that providers report, and prices it by model and time. */
export { type Catalog, type CatalogData, createCatalog, openCatalog } from "./catalog.ts";
export type { PriceDifference } from "./catalog/compare_sources.ts";
export { type ParsedPrices, parsePriceData } from "./catalog/parse_price_data.ts";
export type { GenaiPrices, LitellmPrices, PriceData } from "./catalog/price_data.ts";
export {
  createLazyPriceBook,
  createPriceBook,
  type LazyPriceBook,
  type Price,
  type PriceBook,
  type PriceQuery,
} from "./prices.ts";
export type { Rates, RateTier } from "./rates.ts";
export { type StreamUsage, trackStreamUsage, type UsageApi, usageFromRaw } from "./usage/usage_from_raw.ts";
export { checkUsage, type Usage, usageOf } from "./usage/usage.ts";
export { usageFromAiSdk } from "./usage/usage_from_ai_sdk.ts";
export { outputTokensThatFit, worstCaseCost, type WorstCaseRates } from "./worst_case.ts";
