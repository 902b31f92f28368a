import type { NanoUsd, PicoUsdPerToken } from "../kernel/money.ts";
import type { Rates } from "./rates.ts";

/** The dearest price that any token of a call can have, in pico-USD per token. */
export interface WorstCaseRates {
  input: PicoUsdPerToken;
  /** Null where the model has no output price. */
  output: PicoUsdPerToken | null;
}

function dearest(...prices: bigint[]): bigint {
  return prices.reduce((most, price) => price > most ? price : most);
}

/**
 * The dearest input price (input, cache read, cache write of either lifetime) and output price (text,
 * reasoning) over all tiers that a call of at most `inputTokens` can reach.
 */
export function worstCaseRates(all: readonly Rates[], inputTokens: number): WorstCaseRates | null {
  const tiers = all.flatMap((rates) => rates.tiers.filter((tier) => inputTokens > tier.aboveInputTokens));
  if (tiers.length === 0) return null;
  const outputs = tiers.flatMap((tier) => [tier.output, tier.reasoning]);
  return {
    input: dearest(
      ...tiers.flatMap((tier) => [tier.input, tier.cacheRead, tier.cacheWrite, tier.cacheWrite1h]),
    ),
    output: outputs.some((price) => price === null) ? null : dearest(...outputs as bigint[]),
  };
}

/** The most that a call can cost, in nano-USD, rounded up; null where its output has no price. */
export function worstCaseCost(
  rates: WorstCaseRates,
  tokens: { inputTokens: number; outputTokens: number },
): NanoUsd | null {
  if (rates.output === null && tokens.outputTokens > 0) return null;
  const picoUsd = BigInt(tokens.inputTokens) * rates.input +
    BigInt(tokens.outputTokens) * (rates.output ?? 0n);
  return (picoUsd + 999n) / 1000n;
}

/**
 * How many output tokens a call of at most `inputTokens` may have so that its worst case stays within the
 * budget. 0 where not one fits, where the input alone is too dear and where the output has no price;
 * `Number.MAX_SAFE_INTEGER` where output is free.
 */
export function outputTokensThatFit(
  rates: WorstCaseRates,
  room: { inputTokens: number; budgetNanoUsd: NanoUsd },
): number {
  const leftPicoUsd = room.budgetNanoUsd * 1000n - BigInt(room.inputTokens) * rates.input;
  if (leftPicoUsd < 0n || rates.output === null) return 0;
  if (rates.output === 0n) return Number.MAX_SAFE_INTEGER;
  const fit = leftPicoUsd / rates.output;
  return fit > BigInt(Number.MAX_SAFE_INTEGER) ? Number.MAX_SAFE_INTEGER : Number(fit);
}
