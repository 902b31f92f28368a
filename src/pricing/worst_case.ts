import type { NanoUsd, PicoUsdPerToken } from "../kernel/money.ts";
import type { Rates } from "./rates.ts";

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

const OUTPUT_DETAILS = ["output_audio_tokens", "output_image_tokens", "output_video_tokens"] as const;

/**
 * Returns the highest input price (input, cache read, cache write of either lifetime) and output price (text, reasoning, media)
 * over all tiers that a call of at most `inputTokens` of text can reach.
 */
export function worstCaseRates(all: readonly Rates[], inputTokens: number): WorstCaseRates | null {
  const tiers = all.flatMap((rates) => rates.tiers.filter((tier) => inputTokens > tier.aboveInputTokens));
  if (tiers.length === 0) return null;
  const outputs = tiers.flatMap((tier) => [tier.output, tier.reasoning]);
  const media = tiers.flatMap(({ details }) => OUTPUT_DETAILS.flatMap((name) => details?.[name] ?? []));
  const request = highest(0n, ...tiers.map((tier) => tier.request ?? 0n));
  return {
    input: highest(
      ...tiers.flatMap((tier) => [tier.input, tier.cacheRead, tier.cacheWrite, tier.cacheWrite1h]),
    ),
    output: outputs.some((price) => price === null) ? null : highest(...outputs as bigint[], ...media),
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
