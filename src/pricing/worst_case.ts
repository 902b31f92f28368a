import type { NanoUsd, PicoUsdPerToken } from "../kernel/money.ts";
import type { PriceQuery } from "./price_book.ts";
import type { Rates, RateTier } from "./rates.ts";

/** The highest prices of the tokens of a call, in pico-USD per token. */
export interface WorstCaseRates {
  input: PicoUsdPerToken;
  /** Null if the model has no output price. */
  output: PicoUsdPerToken | null;
  /** The fee of the request, in pico-USD. */
  request?: bigint;
}

function highest(...prices: bigint[]): bigint {
  return prices.reduce((most, price) => price > most ? price : most);
}

/** The highest prices of tiers: rate cards are kept, and never change. */
const ofTiers = new WeakMap<RateTier, WorstCaseRates>();

const OUTPUT_DETAILS = ["output_audio_tokens", "output_image_tokens", "output_video_tokens"] as const;

/**
 * Returns the highest input price (input, cache read, cache write of either lifetime) and output price (text, reasoning, media)
 * over all tiers that a call of at most `inputTokens` of text can reach.
 */
export function worstCaseRates(all: readonly Rates[], inputTokens: number): WorstCaseRates | null {
  let worst: WorstCaseRates | null = null;
  for (const { tiers } of all) {
    for (const tier of tiers) {
      if (inputTokens > tier.aboveInputTokens) worst = worst ? higherOf(worst, ofTier(tier)) : ofTier(tier);
    }
  }
  return worst;
}

function ofTier(tier: RateTier): WorstCaseRates {
  const known = ofTiers.get(tier);
  if (known) return known;
  const { input, cacheRead, cacheWrite, cacheWrite1h, output, reasoning, request = 0n, details } = tier;
  const media = OUTPUT_DETAILS.flatMap((name) => details?.[name] ?? []);
  const rates = {
    input: highest(input, cacheRead, cacheWrite, cacheWrite1h),
    output: output === null || reasoning === null ? null : highest(output, reasoning, ...media),
    ...(request > 0n && { request }),
  };
  ofTiers.set(tier, rates);
  return rates;
}

function higherOf(a: WorstCaseRates, b: WorstCaseRates): WorstCaseRates {
  const request = highest(a.request ?? 0n, b.request ?? 0n);
  return {
    input: highest(a.input, b.input),
    output: a.output === null || b.output === null ? null : highest(a.output, b.output),
    ...(request > 0n && { request }),
  };
}

/** Returns the highest cost of a call, in nano-USD, rounded up; null if its output has no price. */
export function worstCaseCost(
  rates: WorstCaseRates,
  tokens: { inputTokens: number; outputTokens: number },
): NanoUsd | null {
  if (rates.output === null && tokens.outputTokens > 0) return null;
  const picoUsd = BigInt(tokens.inputTokens) * rates.input +
    BigInt(tokens.outputTokens) * (rates.output ?? 0n) + (rates.request ?? 0n);
  return (picoUsd + 999n) / 1000n;
}

/**
 * Returns the number of output tokens with which the worst case of a call of at most `inputTokens` stays within the budget. 0
 * if none fits, also because of the input alone, and if the output has no price; `Number.MAX_SAFE_INTEGER` if output is free.
 */
export function outputTokensThatFit(
  rates: WorstCaseRates,
  room: { inputTokens: number; budgetNanoUsd: NanoUsd },
): number {
  const leftPicoUsd = room.budgetNanoUsd * 1000n - BigInt(room.inputTokens) * rates.input -
    (rates.request ?? 0n);
  if (leftPicoUsd < 0n || rates.output === null) return 0;
  if (rates.output === 0n) return Number.MAX_SAFE_INTEGER;
  const fit = leftPicoUsd / rates.output;
  return fit > BigInt(Number.MAX_SAFE_INTEGER) ? Number.MAX_SAFE_INTEGER : Number(fit);
}

/** Models that search without a tool: Perplexity's, OpenAI's of the name, and those that research. */
const SEARCHING_MODELS = /-search-(?:preview|api)\b|deep-research|(?:^|\/)sonar\b/;

/** Returns the reason that calls of a model have no bound, whatever they contain; undefined for most models. */
export function unboundedModel(
  { provider, model }: Pick<PriceQuery, "provider" | "model">,
): string | undefined {
  return provider === "perplexity" || SEARCHING_MODELS.test(model)
    ? "its model searches the web by itself"
    : undefined;
}
