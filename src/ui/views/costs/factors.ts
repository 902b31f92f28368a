import type { CostRow, CostSums } from "../../../contract/costs.ts";

/**
 * The factors of a change of cost: it is the product of all. `calls` more calls, each with `tokens` more tokens, whose
 * price changed by `mix`, since they go to other models, and by `price`, since a model's tokens cost otherwise: other
 * prices, more output or less from a cache.
 */
export interface Factors {
  cost: number;
  calls: number;
  tokens: number;
  mix: number;
  price: number;
}

/** Returns the factors between two spans; undefined where one of them has no cost. Ratios, not amounts: floats will do. */
export function factorsOf(
  now: CostSums,
  before: CostSums | undefined,
  models: readonly CostRow[],
): Factors | undefined {
  if (!before || !now.cost_usd || !before.cost_usd || !now.total_tokens || !before.total_tokens) {
    return undefined;
  }
  const rateNow = now.cost_usd / now.total_tokens;
  const rateBefore = before.cost_usd / before.total_tokens;
  // The present tokens at the former rates: of a model that is new, at its own.
  let atFormerRates = 0;
  for (const { total_tokens, cost_usd, previous } of models) {
    const former = previous && previous.total_tokens > 0 && previous.cost_usd !== null
      ? previous.cost_usd / previous.total_tokens
      : (cost_usd ?? 0) / Math.max(1, total_tokens);
    atFormerRates += former * total_tokens;
  }
  const expected = atFormerRates / now.total_tokens;
  if (!(expected > 0)) return undefined;
  return {
    cost: now.cost_usd / before.cost_usd,
    calls: now.model_calls / before.model_calls,
    tokens: now.total_tokens / now.model_calls / (before.total_tokens / before.model_calls),
    mix: expected / rateBefore,
    price: rateNow / expected,
  };
}
