import type { ExplainedPrice, PriceLine as WireLine } from "../../contract/costs/explained_calls.ts";
import { type NanoUsd, toDecimal, toUsd } from "../../kernel/money.ts";
import { type PriceLine, priceLines, type Rates, sumLines, tierFor, type Usage } from "../../pricing/mod.ts";

/** The price that a call or an adjustment was booked with. */
export interface BookedPrice {
  costNanoUsd: NanoUsd | null;
  priceSource: string;
  unpricedParts?: readonly string[] | null;
  listCostNanoUsd?: NanoUsd | undefined;
}

/** The sources of a cost that no rate card made. */
const WITHOUT_RATES = { none: "none", reported: "reported", provider: "stated" } as const;

/** Explains a price line by line, by computing it again from the rate card; null where none is kept. */
export function explainPrice(price: BookedPrice, usage: Usage, rates: Rates | null): ExplainedPrice {
  const { costNanoUsd, priceSource, unpricedParts, listCostNanoUsd } = price;
  const basis = WITHOUT_RATES[priceSource as keyof typeof WITHOUT_RATES] ?? (rates ? "rates" : "not_kept");
  const lines = rates ? priceLines(rates, usage) : [];
  const computed = rates && sumLines(rates, lines);
  // Beside a stated cost the card makes the list price, which is kept only where all parts have a rate.
  const stored = basis === "stated" ? listCostNanoUsd : costNanoUsd;
  const isComparable = computed !== null && stored !== undefined;
  return {
    basis,
    cost_usd: toUsdOrNull(costNanoUsd),
    price_source: priceSource,
    rate_card: rates && toRateCard(rates, usage),
    lines: lines.map(toWireLine),
    sum_usd: rates && lines.some(({ rate }) => rate !== null) ? toDecimal(picoSum(lines), 12) : null,
    computed_usd: toUsdOrNull(computed?.costNanoUsd ?? null),
    difference_usd: isComparable ? toUsd((stored ?? 0n) - (computed.costNanoUsd ?? 0n)) : null,
    ...(unpricedParts && { unpriced_parts: [...unpricedParts] }),
    ...(listCostNanoUsd !== undefined && { list_cost_usd: toUsd(listCostNanoUsd) }),
  };
}

const toUsdOrNull = (nano: NanoUsd | null) => nano === null ? null : toUsd(nano);

const picoSum = (lines: readonly PriceLine[]) =>
  lines.reduce((sum, { quantity, rate }) => sum + BigInt(quantity) * (rate ?? 0n), 0n);

function toRateCard(rates: Rates, usage: Usage): NonNullable<ExplainedPrice["rate_card"]> {
  const tier = tierFor(rates, usage.inputTokens);
  return {
    source: rates.source,
    ...(tier.sources && { sources: tier.sources }),
    ...(rates.model !== undefined && { model: rates.model }),
    tier: {
      number: rates.tiers.indexOf(tier) + 1,
      of: rates.tiers.length,
      above_input_tokens: tier.aboveInputTokens < 0 ? null : tier.aboveInputTokens,
    },
    ...(rates.unknown && { unknown: [...rates.unknown] }),
  };
}

function toWireLine({ part, model, quantity, rate }: PriceLine): WireLine {
  const decimals = part.endsWith("_tokens") ? 6 : part === "requests" ? 0 : 3;
  return {
    part,
    ...(model !== undefined && { model }),
    quantity,
    rate_usd: rate === null ? null : toDecimal(rate, 12 - decimals),
    per: 10 ** decimals,
    cost_usd: rate === null ? null : toDecimal(BigInt(quantity) * rate, 12),
  };
}
