import { MAX_CALL_USD } from "../contract/limits.ts";
import { NANO_PER_USD } from "../kernel/money.ts";
import { type ModelCall, type Scopes, scopesOf } from "../ledger/mod.ts";
import type { Price, PriceBook } from "../pricing/mod.ts";

/** The most that one call can cost. */
export const MAX_CALL_NANO_USD = BigInt(MAX_CALL_USD) * NANO_PER_USD;

/** The caller of a call: its kind, and what its calls are attributed to. */
export interface CallOrigin {
  source: NonNullable<ModelCall["source"]>;
  scopes: Scopes;
  tags?: ModelCall["tags"];
}

/** The facts of a call that was made, except its price. */
export type MadeCall = Omit<ModelCall, keyof Scopes | keyof CallOrigin | keyof PaidPrice | "priceId">;

/** A price that is billed, or by the API that of a call that a plan pays for. */
export type PaidPrice = Price & Pick<ModelCall, "planNanoUsd">;

/** Returns the price of a call that a plan pays for: nothing is billed. Without a known price it stays unpriced. */
export const payByPlan = <T extends Pick<ModelCall, "costNanoUsd">>(
  price: T,
): T & Pick<ModelCall, "planNanoUsd"> => ({
  ...price,
  costNanoUsd: price.costNanoUsd === null ? null : 0n,
  planNanoUsd: price.costNanoUsd,
});

/** Makes the entry of a call for the ledger: the only place that does so, for calls that are made and reported. */
export function makeCall({ source, scopes, tags }: CallOrigin, call: MadeCall, price: PaidPrice): ModelCall {
  return {
    ...call,
    ...price,
    source,
    ...scopesOf(scopes),
    ...(tags && Object.keys(tags).length > 0 && { tags }),
  };
}

/** Prices a call by the rates of its own time, and its service tier, speed and region. */
export function priceCall(prices: PriceBook, call: Omit<MadeCall, "isEstimated">): Price {
  const { provider, model, at, usage, speed, inferenceGeo } = call;
  const serviceTier = call.serviceTier ?? undefined;
  return prices.price({ provider, model, at, usage, serviceTier, speed, inferenceGeo });
}
