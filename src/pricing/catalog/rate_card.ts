import { divideHalfEven, type PicoUsdPerToken } from "../../kernel/money.ts";
import type { RateTier } from "../rates.ts";
import { USAGE_DETAILS, type UsageDetail } from "../usage/usage.ts";
import { type Dimension, DIMENSION_OF, toPicoUsd } from "./dimensions.ts";
import type { PriceTable } from "./price_data.ts";

/** The owner of the rules that fill in the prices that a table lacks. */
export interface CardRules {
  /** Claude with any provider. */
  isClaude: boolean;
  /** Google's own models, such as Gemini. */
  isGoogle: boolean;
  /** The medium of all output of a model of speech or images: its price of output is the one of the medium. */
  medium?: "audio" | "image" | undefined;
}

/** Converts prices to the tiers of a rate card; null without a price for input tokens. */
export function tiersOf(prices: PriceTable, rules: CardRules): RateTier[] | null {
  const thresholds = new Set<number>([-1]);
  for (const price of Object.values(prices)) {
    if (typeof price === "object") { for (const { start } of price.tiers) thresholds.add(start); }
  }
  const tiers: RateTier[] = [];
  for (const threshold of [...thresholds].sort((a, b) => a - b)) {
    const tier = tierAt(prices, rules, threshold);
    if (tier === null) return null;
    tiers.push(tier);
  }
  return tiers;
}

/** The dimensions that a part of a usage is priced by; of several, the first that is listed. */
export const DIMENSIONS_OF: Readonly<Record<string, readonly Dimension[]>> = {
  input_tokens: ["input_mtok"],
  output_tokens: ["output_mtok"],
  reasoning_tokens: ["output_reasoning_mtok"],
  cache_read_tokens: ["cache_read_mtok"],
  cache_write_tokens: ["cache_write_5m_mtok", "cache_write_mtok"],
  cache_write_1h_tokens: ["cache_write_1h_mtok"],
  requests: ["requests_kcount"],
  ...Object.fromEntries(
    Object.entries(DIMENSION_OF).flatMap(([part, dimension]) =>
      dimension === null ? [] : [[part, [dimension]]]
    ),
  ),
};

/** Returns the rate of a dimension in a call of more input tokens than a threshold, if there is one. */
function rateAt(prices: PriceTable, name: Dimension, aboveInputTokens: number): bigint | undefined {
  const price = prices[name];
  if (price === undefined) return undefined;
  if (typeof price === "number") return toPicoUsd(name, price);
  let usd = price.base;
  for (const tier of price.tiers) if (aboveInputTokens >= tier.start) usd = tier.price;
  return toPicoUsd(name, usd);
}

function tierAt(prices: PriceTable, rules: CardRules, aboveInputTokens: number): RateTier | null {
  const at = (name: Dimension) => rateAt(prices, name, aboveInputTokens);
  const input = at("input_mtok");
  if (input === undefined) return null;
  const output = at("output_mtok") ?? null;
  // A cache without prices of its own is billed as input.
  const cacheRead = at("cache_read_mtok") ?? input;
  // Anthropic: writes of five minutes cost 1.25x and of one hour 2x of the input, on every platform.
  // https://platform.claude.com/docs/en/build-with-claude/prompt-caching#pricing
  const cacheWrite = at("cache_write_5m_mtok") ?? at("cache_write_mtok") ??
    (rules.isClaude ? divideHalfEven(input * 5n, 4n) : input);
  const request = at("requests_kcount");
  const details = detailsAt(at, rules, input, cacheRead);
  return {
    aboveInputTokens,
    input,
    output,
    // No provider bills reasoning below or above its output unless it says so.
    reasoning: at("output_reasoning_mtok") ?? output,
    cacheRead,
    cacheWrite,
    cacheWrite1h: at("cache_write_1h_mtok") ?? (rules.isClaude ? input * 2n : cacheWrite),
    details,
    ...(request && { request }),
    ...(at("high_context_requests_kcount") && { isRequestByContext: true }),
  };
}

/** The rates of parts that most calls don't have. A call with a part whose rate is missing is partly priced. */
function detailsAt(
  at: (name: Dimension) => bigint | undefined,
  rules: CardRules,
  input: PicoUsdPerToken,
  cacheRead: PicoUsdPerToken,
): Partial<Record<UsageDetail, bigint>> {
  // Google bills all modalities at the input price where it lists none for audio: https://ai.google.dev/gemini-api/docs/pricing
  const audio = at("input_audio_mtok") ?? (rules.isGoogle ? input : undefined);
  const image = at("input_image_mtok");
  const output = at("output_mtok");
  const cachedAudio = at("cache_audio_read_mtok") ?? at("input_audio_mtok") ??
    (rules.isGoogle ? cacheRead : undefined);
  const defaults: Partial<Record<UsageDetail, bigint | undefined>> = {
    input_audio_tokens: audio,
    cache_read_audio_tokens: cachedAudio,
    // Images and video are counted as input tokens, and cost as much unless a price says otherwise.
    input_image_tokens: image ?? input,
    cache_read_image_tokens: image ?? cacheRead,
    input_video_tokens: input,
    output_audio_tokens: rules.medium === "audio" ? output : undefined,
    output_image_tokens: rules.medium === "image" ? output : undefined,
  };
  const rates: Partial<Record<UsageDetail, bigint>> = {};
  for (const name of USAGE_DETAILS) {
    const dimension = DIMENSION_OF[name];
    const rate = (dimension === null ? undefined : at(dimension)) ?? defaults[name];
    if (rate !== undefined) rates[name] = rate;
  }
  return rates;
}

const TOKEN_DETAILS = /_tokens$/;

/** Multiplies every rate of tokens, but not of fees and tools, by a fraction, rounded half to even to a pico-USD. */
export function scaleTiers(tiers: readonly RateTier[], scale: (rate: bigint) => bigint): RateTier[] {
  const orNull = (rate: bigint | null) => rate === null ? null : scale(rate);
  return tiers.map((tier) => ({
    ...tier,
    input: scale(tier.input),
    output: orNull(tier.output),
    reasoning: orNull(tier.reasoning),
    cacheRead: scale(tier.cacheRead),
    cacheWrite: scale(tier.cacheWrite),
    cacheWrite1h: scale(tier.cacheWrite1h),
    ...(tier.details && {
      details: Object.fromEntries(
        Object.entries(tier.details).map((
          [name, rate],
        ) => [name, TOKEN_DETAILS.test(name) ? scale(rate) : rate]),
      ),
    }),
  }));
}
