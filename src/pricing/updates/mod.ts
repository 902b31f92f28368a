/** Newer prices than those of the release: read, checked against those in use, and kept in the user's data directory. */
export type { ChangedModel, HeldModel } from "./merge_prices.ts";
export type { RateChange } from "./entries.ts";
export { PRICE_URLS, type PriceUpdate, type UpdateContext, updatePrices } from "./update_prices.ts";
export {
  PRICE_SOURCES,
  type PriceSourceName,
  readUsedPrices,
  stampOfPrices,
  updatedAt,
  type UsedPrices,
} from "./used_prices.ts";
