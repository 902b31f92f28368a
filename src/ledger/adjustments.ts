import { asc, inArray, sql } from "drizzle-orm";
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
  const entries = await query.select({
    callId: calls.adjusts,
    costNanoUsd: calls.costNanoUsd,
    unpriced: calls.unpriced,
    partlyPriced: calls.partlyPriced,
    priceSource: calls.priceSource,
    priceId: calls.priceId,
    unpricedParts: calls.unpricedParts,
  }).from(calls)
    .where(inArray(calls.adjusts, sql`(SELECT value FROM json_each(${JSON.stringify(callIds)}))`))
    .orderBy(asc(calls.position));
  const adjustments = new Map<string, Adjustment>();
  for (const { callId, ...entry } of entries) {
    adjustments.set(callId!, addEntry(adjustments.get(callId!), entry));
  }
  return adjustments;
}

/** The columns of an entry that adjusts a call. */
type Entry = Omit<Adjustment, "costNanoUsd"> & { costNanoUsd: bigint | null };

/** Adds the next entry that adjusts a call. */
export function addEntry(sum: Adjustment | undefined, entry: Entry): Adjustment {
  const { costNanoUsd, unpriced, partlyPriced, priceSource, priceId, unpricedParts } = entry;
  return {
    costNanoUsd: (costNanoUsd ?? 0n) + (sum?.costNanoUsd ?? 0n),
    unpriced: unpriced + (sum?.unpriced ?? 0),
    partlyPriced: partlyPriced + (sum?.partlyPriced ?? 0),
    priceSource,
    priceId,
    unpricedParts,
  };
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
