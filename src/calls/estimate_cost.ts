import type { NanoUsd } from "../kernel/money.ts";
import type { PriceBook, PriceQuery } from "../pricing/mod.ts";
import { estimateTokens } from "./answer_text.ts";

/** The output that is expected at least of a call. */
const ESTIMATED_OUTPUT_TOKENS = 256;

/**
 * Estimates the cost of a call that is about to be made, for budgets in `stop` mode: that of the previous call of its run or
 * session, and never less than its own, by the size of its request. The caller chooses the session, so a cheap call before
 * must not make a dear one seem cheap.
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
