import type { LanguageModelV4CallOptions } from "@ai-sdk/provider";
import type { Budget, CallBounds } from "../../budgets/mod.ts";
import type { PriceBook, PriceQuery } from "../../pricing/mod.ts";
import { boundInput, estimateInputTokens } from "./input_bound.ts";

/** The output limit of a strict call whose agent sets none: every current model accepts it. */
const STRICT_OUTPUT_TOKENS = 4_096;

/** The output that the first call of a run is guessed to have. */
const GUESSED_OUTPUT_TOKENS = 256;

/** What the budget needs to know of the next call. */
export function callBounds(
  prices: PriceBook,
  query: PriceQuery,
  budget: Budget,
  options: LanguageModelV4CallOptions,
  lastCostNanoUsd: bigint | null,
): CallBounds {
  if (budget.mode === "strict") {
    const inputTokens = boundInput(options);
    return {
      inputTokens,
      outputTokens: options.maxOutputTokens ?? STRICT_OUTPUT_TOKENS,
      rates: "max" in inputTokens ? prices.worstCaseRates({ ...query, inputTokens: inputTokens.max }) : null,
      estimateNanoUsd: 0n,
    };
  }
  return {
    inputTokens: { unboundedBecause: "a budget that stops needs no bound" },
    outputTokens: 0,
    rates: null,
    estimateNanoUsd: lastCostNanoUsd ??
      prices.worstCase({
        ...query,
        inputTokens: estimateInputTokens(options),
        outputTokens: GUESSED_OUTPUT_TOKENS,
      }) ?? 0n,
  };
}
