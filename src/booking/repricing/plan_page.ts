import type { ModelCall } from "../../ledger/mod.ts";
import type { Price, PriceBook } from "../../pricing/mod.ts";
import { addCall, type ModelSums, noSums } from "./model_sums.ts";

/** The adjustment of a call. */
export interface PlannedAdjustment {
  callId: string;
  costNanoUsd: bigint;
  unpriced: number;
  partlyPriced: number;
  price: Price;
}

/** The adjustments of some calls, and the sums of all of them. */
export interface Plan {
  adjustments: PlannedAdjustment[];
  /** By provider and model. */
  models: Map<string, ModelSums>;
}

export const newPlan = (): Plan => ({ adjustments: [], models: new Map() });

/** Prices calls again, each at its own time, and adds the differences to a plan. */
export function planCalls(prices: PriceBook, calls: readonly ModelCall[], plan: Plan): void {
  for (const call of calls) {
    const adjustment = planCall(prices, call);
    const { provider, model } = call;
    const key = JSON.stringify([provider, model]);
    let sums = plan.models.get(key);
    if (!sums) plan.models.set(key, sums = noSums(provider, model));
    addCall(sums, {
      isChanged: adjustment !== undefined,
      before: call,
      after: adjustment?.price ?? call,
    });
    if (adjustment) plan.adjustments.push(adjustment);
  }
}

/**
 * Returns the difference between what a call costs now and by the price book; undefined without one. A call that the book
 * doesn't know keeps its price, which a book with more overrides may have given it.
 */
export function planCall(prices: PriceBook, call: ModelCall): PlannedAdjustment | undefined {
  const { callId, provider, model, at, usage, speed, inferenceGeo, costNanoUsd } = call;
  const serviceTier = call.serviceTier ?? undefined;
  const price = prices.price({ provider, model, at, usage, serviceTier, speed, inferenceGeo });
  if (price.costNanoUsd === null) return undefined;
  const planned = {
    callId,
    costNanoUsd: price.costNanoUsd - (costNanoUsd ?? 0n),
    unpriced: costNanoUsd === null ? -1 : 0,
    partlyPriced: Number(price.unpricedParts !== undefined) - Number(call.unpricedParts !== undefined),
    price,
  };
  const isSame = planned.costNanoUsd === 0n && planned.unpriced === 0 && planned.partlyPriced === 0;
  return isSame ? undefined : planned;
}
