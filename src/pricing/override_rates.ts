import type { PriceOverride } from "../contract/price_override.ts";
import type { Dimension } from "./catalog/dimensions.ts";
import { tiersOf } from "./catalog/rate_card.ts";
import type { Rates } from "./rates.ts";

/** The dimensions that the fields of a row price. */
const FIELDS = {
  input_usd_per_million: "input_mtok",
  output_usd_per_million: "output_mtok",
  reasoning_usd_per_million: "output_reasoning_mtok",
  cache_read_usd_per_million: "cache_read_mtok",
  cache_write_usd_per_million: "cache_write_mtok",
  cache_write_1h_usd_per_million: "cache_write_1h_mtok",
  cache_write_12h_usd_per_million: "cache_write_12h_mtok",
  input_audio_usd_per_million: "input_audio_mtok",
  cache_read_audio_usd_per_million: "cache_audio_read_mtok",
  output_audio_usd_per_million: "output_audio_mtok",
  input_image_usd_per_million: "input_image_mtok",
  cache_read_image_usd_per_million: "cache_image_read_mtok",
  output_image_usd_per_million: "output_image_mtok",
  input_video_usd_per_million: "input_video_mtok",
  output_video_usd_per_million: "output_video_mtok",
  web_searches_usd_per_thousand: "web_searches_kcount",
  file_searches_usd_per_thousand: "storage_searches_kcount",
  code_executions_usd_per_thousand: "code_executions_kcount",
  requests_usd_per_thousand: "requests_kcount",
} as const satisfies Partial<Record<keyof PriceOverride, Dimension>>;

/** Converts the prices of one row of the config to a rate card; what it leaves out defaults as in the catalog. */
export function ratesOfOverride(row: PriceOverride): Rates {
  const prices: Record<string, number> = {};
  for (const [field, name] of Object.entries(FIELDS)) {
    const price = row[field as keyof typeof FIELDS];
    if (price !== undefined) prices[name] = price;
  }
  // A row says what a cache of its model costs, also of Claude.
  return { source: "config", tiers: tiersOf(prices, { isClaude: false, isGoogle: false })! };
}
