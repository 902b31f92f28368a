import { formatUsd, toUsd } from "../../kernel/money.ts";
import { formatCount, nameUncounted } from "../../kernel/counts.ts";
import type { CallTotals } from "./call_totals.ts";

/** Returns the cost in USD of the calls with a price; null if there are calls and none has one. */
export function totalUsd(totals: CallTotals): number | null {
  return hasNoPrice(totals) ? null : toUsd(totals.costNanoUsd);
}

/** Formats the cost: `$0.0001506 + 1 call without a known price`. */
export function formatTotalCost(totals: CallTotals): string {
  if (hasNoPrice(totals)) return "no price";
  const { costNanoUsd, unpricedCalls: unpriced, partlyPricedCalls: partlyPriced } = totals;
  const uncounted = nameUncounted({ unpriced, partlyPriced });
  return `$${formatUsd(costNanoUsd)}${uncounted && ` + ${uncounted}`}`;
}

/** Formats input and output tokens: `1,234 + 56 tokens`. */
export function formatTokens(inputTokens: number, outputTokens: number): string {
  return `${formatCount(inputTokens)} + ${formatCount(outputTokens)} tokens`;
}

function hasNoPrice({ calls, unpricedCalls }: CallTotals): boolean {
  return calls > 0 && calls === unpricedCalls;
}
