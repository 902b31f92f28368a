import { inArray, sql } from "drizzle-orm";
import { type Query, tables } from "../store/mod.ts";
import type { ModelCall } from "./model_call.ts";

const { calls } = tables;

/** The sum of the entries that adjust a call, and the price by the newest of them. */
export interface Adjustment {
  costNanoUsd: bigint;
  /** The change of whether the call has no price: -1, 0 or 1. */
  unpriced: number;
  /** The change of whether a part of the call has no price. */
  partlyPriced: number;
  priceSource: string;
  priceId: number | null;
  unpricedParts: readonly string[] | null;
}

/** Reads the adjustments of calls, by call; most calls have none. */
export async function readAdjustments(
  query: Query,
  callIds: readonly string[],
): Promise<Map<string, Adjustment>> {
  if (callIds.length === 0) return new Map();
  const rows = await query.select({
    callId: calls.adjusts,
    costNanoUsd: sql<bigint>`sum(${calls.costNanoUsd})`,
    unpriced: sql<bigint>`sum(${calls.unpriced})`,
    partlyPriced: sql<bigint>`sum(${calls.partlyPriced})`,
    // The columns below are those of the row with the greatest position.
    newest: sql<bigint>`max(${calls.position})`,
    priceSource: calls.priceSource,
    priceId: calls.priceId,
    unpricedParts: calls.unpricedParts,
  }).from(calls)
    .where(inArray(calls.adjusts, sql`(SELECT value FROM json_each(${JSON.stringify(callIds)}))`))
    .groupBy(calls.adjusts);
  return new Map(
    rows.map(({ callId, costNanoUsd, unpriced, partlyPriced, ...row }) => [callId!, {
      ...row,
      costNanoUsd: BigInt(costNanoUsd ?? 0),
      unpriced: Number(unpriced),
      partlyPriced: Number(partlyPriced),
    }]),
  );
}

/** Returns a call with its cost as adjusted. */
export function adjustCall(call: ModelCall, adjustment: Adjustment | undefined): ModelCall {
  if (!adjustment) return call;
  const { unpricedParts: _booked, listCostNanoUsd, ...rest } = call;
  const { priceSource, priceId, unpricedParts } = adjustment;
  const isUnpriced = Number(call.costNanoUsd === null) + adjustment.unpriced > 0;
  return {
    ...rest,
    costNanoUsd: isUnpriced ? null : (call.costNanoUsd ?? 0n) + adjustment.costNanoUsd,
    priceSource,
    priceId,
    ...(unpricedParts && { unpricedParts }),
    ...(listCostNanoUsd !== undefined && priceSource === call.priceSource && { listCostNanoUsd }),
  };
}

/** Returns calls with their costs as adjusted. */
export async function withAdjustments(
  query: Query,
  booked: readonly ModelCall[],
): Promise<ModelCall[]> {
  const adjustments = await readAdjustments(query, booked.map(({ callId }) => callId));
  return booked.map((call) => adjustCall(call, adjustments.get(call.callId)));
}
