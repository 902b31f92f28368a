/*
 * The costs that answers of providers state. Without zod: the price book is loaded without it.
 */

/** The providers and gateways that document an amount in their answers as their bill. */
export const BILL_FORMS = ["openrouter", "perplexity", "xai", "vercel", "litellm"] as const;
export type BillForm = typeof BILL_FORMS[number];

/** The units of a cost that the config declares: how many powers of ten of a USD each is. */
export const COST_UNITS = { usd: 0, usd_cent: -2, micro_usd: -6, nano_usd: -9 } as const;
export type CostUnit = keyof typeof COST_UNITS;

/** `states_cost` of a provider of the config: the form of its bill, a field of its usage object, a header, or `none`. */
export type StatesCost =
  | BillForm
  | "none"
  | { field: string; unit: CostUnit }
  | { header: string; unit: CostUnit };

/**
 * The reasons for which a stated cost is not booked: the provider doesn't document it as its bill; a row of `prices` decides;
 * 0 beside tokens; only the fee of a router, for a call with a provider's key of the caller's own; more than any call costs.
 */
export const STATED_COST_REASONS = ["undocumented", "price_row", "zero", "own_key", "absurd"] as const;
export type StatedCostReason = typeof STATED_COST_REASONS[number];

const TEXTS: Readonly<Record<StatedCostReason, string>> = {
  undocumented: "the provider does not document it as its bill",
  price_row: "a row of prices in the config decides",
  zero: "0 beside tokens is no bill",
  own_key: "it is the router's fee only, and the provider bills your own key beside it",
  absurd: "no call costs so much",
};

/** Describes in a clause why a stated cost is not booked; empty for an unknown reason. */
export function describeStatedReason(reason: string | undefined): string {
  return reason !== undefined && Object.hasOwn(TEXTS, reason) ? TEXTS[reason as StatedCostReason] : "";
}
