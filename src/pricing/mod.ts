/** Normalizes the usage that providers report, and prices it by model and time. */
export { CATALOG_SOURCE, CATALOG_VERSION } from "./catalog.ts";
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
