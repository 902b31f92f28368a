import { parseUsdPerMillion } from "../../kernel/money.ts";

import type { UsageDetail } from "../usage/usage.ts";

/**
 * The dimensions of prices that a call can have; `_mtok` in USD per million tokens, `_kcount` per thousand. Most are those of
 * genai-prices.
 */
export const DIMENSIONS = [
  "input_mtok",
  "output_mtok",
  "output_reasoning_mtok",
  "cache_read_mtok",
  "cache_write_mtok",
  "cache_write_5m_mtok",
  "cache_write_1h_mtok",
  "cache_write_12h_mtok",
  "input_audio_mtok",
  "cache_audio_read_mtok",
  "output_audio_mtok",
  "input_image_mtok",
  "cache_image_read_mtok",
  "output_image_mtok",
  "input_video_mtok",
  "output_video_mtok",
  "web_searches_kcount",
  "storage_searches_kcount",
  "code_executions_kcount",
  "requests_kcount",
  "output_citation_mtok",
  "social_searches_kcount",
  // Names of this program, for dimensions that genai-prices doesn't have.
  "search_previews_kcount",
  "map_groundings_kcount",
  "data_groundings_kcount",
  "low_context_requests_kcount",
  "medium_context_requests_kcount",
  "high_context_requests_kcount",
  "pro_searches_kcount",
  "social_posts_kcount",
  "social_profiles_kcount",
  "attachment_searches_kcount",
] as const;
export type Dimension = typeof DIMENSIONS[number];

/** The dimension of the price of each billed part; null without one. */
export const DIMENSION_OF: Readonly<Record<UsageDetail, Dimension | null>> = {
  cache_write_12h_tokens: "cache_write_12h_mtok",
  input_audio_tokens: "input_audio_mtok",
  cache_read_audio_tokens: "cache_audio_read_mtok",
  input_image_tokens: "input_image_mtok",
  cache_read_image_tokens: "cache_image_read_mtok",
  input_video_tokens: "input_video_mtok",
  output_audio_tokens: "output_audio_mtok",
  output_image_tokens: "output_image_mtok",
  output_video_tokens: "output_video_mtok",
  web_searches: "web_searches_kcount",
  file_searches: "storage_searches_kcount",
  code_executions: "code_executions_kcount",
  advisor_calls: null,
  search_previews: "search_previews_kcount",
  map_groundings: "map_groundings_kcount",
  data_groundings: "data_groundings_kcount",
  citation_tokens: "output_citation_mtok",
  low_context_requests: "low_context_requests_kcount",
  medium_context_requests: "medium_context_requests_kcount",
  high_context_requests: "high_context_requests_kcount",
  pro_searches: "pro_searches_kcount",
  social_searches: "social_searches_kcount",
  social_posts: "social_posts_kcount",
  social_profiles: "social_profiles_kcount",
  attachment_searches: "attachment_searches_kcount",
};

const KNOWN: ReadonlySet<string> = new Set(DIMENSIONS);

/** Returns whether calls can have a dimension. */
export function isDimension(name: string): name is Dimension {
  return KNOWN.has(name);
}

/** Returns whether a name is that of a unit which no call has: hours of audio, pages, characters, citations, … */
export function isOtherUnit(name: string): boolean {
  return /_(?:mtok|kcount|hours|mchars|kpages|gpixels)$|^audio_hours$/.test(name) && !isDimension(name);
}

/** A thousand USD per token or per call can't be a price. */
const MAX_PICO_USD = 1e15;

/** By how much a rate may change when it is rounded to a whole pico-USD: noise of floats and thirds, no more. */
const MAX_ROUNDING = 1e-4;

/** Returns why a rate can't be taken, or undefined. A rate is a number of whole pico-USD for each token or count. */
export function faultOfRate(name: string, value: unknown): string | undefined {
  if (typeof value !== "number" || !Number.isFinite(value)) return `${name} is not a number`;
  if (value < 0) return `${name} is negative`;
  const picoUsd = value * (name.endsWith("_kcount") ? 1e9 : 1e6);
  if (picoUsd > MAX_PICO_USD) return `${name} is over a thousand USD each`;
  if (Math.abs(picoUsd - Math.round(picoUsd)) > picoUsd * MAX_ROUNDING) {
    return `${name} is no whole number of pico-USD`;
  }
  return undefined;
}

/** Rounds USD per million tokens to a whole pico-USD per token. */
export function toWholePicoUsd(usdPerMillion: number): number {
  return Math.round(usdPerMillion * 1e6) / 1e6;
}

/** Converts a price to pico-USD for each token or count. */
export function toPicoUsd(name: Dimension, value: number): bigint {
  return name.endsWith("_kcount") ? parseUsdPerMillion(value) * 1000n : parseUsdPerMillion(value);
}
