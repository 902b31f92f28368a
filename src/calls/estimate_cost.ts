import type { NanoUsd } from "../kernel/money.ts";
import type { PriceBook, PriceQuery } from "../pricing/mod.ts";
import { estimateTokens } from "./answer_text.ts";

/** The output of a call that an estimate assumes. */
const ESTIMATED_OUTPUT_TOKENS = 256;

/**
 * Estimates the cost of a call that is about to be made, for budgets in `stop` mode: the cost of the previous call of its run or
 * session, or the cost by the size of its own request if that is more. The caller chooses the session, so a cheap call before
 * must not make an expensive one seem cheap.
 */
export function estimateCost(
  prices: PriceBook,
  query: PriceQuery,
  { inputBytes, maxOutputTokens = ESTIMATED_OUTPUT_TOKENS, lastCostNanoUsd }: {
    inputBytes: number;
    maxOutputTokens?: number | undefined;
    lastCostNanoUsd: NanoUsd | null;
  },
): NanoUsd {
  const own = prices.worstCase({
    ...query,
    inputTokens: estimateTokens(inputBytes),
    outputTokens: Math.min(ESTIMATED_OUTPUT_TOKENS, maxOutputTokens),
  }) ?? 0n;
  return lastCostNanoUsd !== null && lastCostNanoUsd > own ? lastCostNanoUsd : own;
}
