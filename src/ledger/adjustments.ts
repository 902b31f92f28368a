import { and, asc, inArray, type SQL, sql } from "drizzle-orm";
import type { Tags } from "../contract/tags/tags.ts";
import { USAGE_FIELDS } from "../pricing/mod.ts";
import { type Query, tables } from "../store/mod.ts";
import type { ModelCall } from "./model_call.ts";
import { readDetails } from "./call_details.ts";

const { calls } = tables;

/** The sum of the entries that adjust a call, and the price by the newest of them. */
export interface Adjustment {
  costNanoUsd: bigint;
  planNanoUsd: bigint;
  /** The change of whether the call has no price: -1, 0 or 1. */
  unpriced: number;
  /** The change of whether a part of the call has no price. */
  partlyPriced: number;
  priceSource: string;
  priceId: number | null;
  unpricedParts: readonly string[] | null;
  /** Undefined unless a witness has corrected what was counted. */
  amendment?: Amendment;
}

/** The difference by which witnesses have corrected the counts of a call, and what the newest of them says besides. */
export interface Amendment {
  /** In the order of `USAGE_FIELDS`. */
  counts: readonly number[];
  /** The change of whether the counts are an estimate. */
  estimated: number;
  details: tables.CallDetails | null;
  serviceTier: string | null;
}

/** The columns of an entry that adjusts a call. */
export type Entry =
  & Pick<
    typeof calls.$inferSelect,
    | "costNanoUsd"
    | "planNanoUsd"
    | "unpriced"
    | "partlyPriced"
    | "priceSource"
    | "priceId"
    | "unpricedParts"
    | "details"
    | "serviceTier"
    | "adjusts"
    | "stands"
    | typeof USAGE_FIELDS[number]
  >
  & { estimatedChange: number };

/** Those columns, to select. */
export const ENTRY = {
  costNanoUsd: calls.costNanoUsd,
  planNanoUsd: calls.planNanoUsd,
  unpriced: calls.unpriced,
  partlyPriced: calls.partlyPriced,
  priceSource: calls.priceSource,
  priceId: calls.priceId,
  unpricedParts: calls.unpricedParts,
  details: calls.details,
  serviceTier: calls.serviceTier,
  adjusts: calls.adjusts,
  stands: calls.stands,
  inputTokens: calls.inputTokens,
  outputTokens: calls.outputTokens,
  cacheReadTokens: calls.cacheReadTokens,
  cacheWriteTokens: calls.cacheWriteTokens,
  cacheWrite1hTokens: calls.cacheWrite1hTokens,
  reasoningTokens: calls.reasoningTokens,
  // As a flag it would be 0 or 1.
  estimatedChange: sql<number>`${calls.estimated}`.mapWith(Number),
};

/** Reads the adjustments of calls, by call; most calls have none. With a condition, only the entries that meet it. */
export async function readAdjustments(
  query: Query,
  callIds: readonly string[],
  among?: SQL,
): Promise<Map<string, Adjustment>> {
  if (callIds.length === 0) return new Map();
  const entries = await query.select(ENTRY).from(calls)
    .where(and(inArray(calls.adjusts, sql`(SELECT value FROM json_each(${JSON.stringify(callIds)}))`), among))
    .orderBy(asc(calls.position));
  const adjustments = new Map<string, Adjustment>();
  for (const entry of entries) {
    adjustments.set(entry.adjusts!, addEntry(adjustments.get(entry.adjusts!), entry));
  }
  return adjustments;
}

/** Adds the next entry that adjusts a call. */
export function addEntry(sum: Adjustment | undefined, entry: Entry): Adjustment {
  const { costNanoUsd, planNanoUsd, unpriced, partlyPriced, priceSource, priceId, unpricedParts } = entry;
  const amendment = entry.stands === entry.adjusts ? addAmendment(sum?.amendment, entry) : sum?.amendment;
  return {
    costNanoUsd: (costNanoUsd ?? 0n) + (sum?.costNanoUsd ?? 0n),
    planNanoUsd: (planNanoUsd ?? 0n) + (sum?.planNanoUsd ?? 0n),
    unpriced: unpriced + (sum?.unpriced ?? 0),
    partlyPriced: partlyPriced + (sum?.partlyPriced ?? 0),
    priceSource,
    priceId,
    unpricedParts,
    ...(amendment && { amendment }),
  };
}

function addAmendment(sum: Amendment | undefined, entry: Entry): Amendment {
  return {
    counts: USAGE_FIELDS.map((name, index) => (sum?.counts[index] ?? 0) + entry[name]),
    estimated: (sum?.estimated ?? 0) + entry.estimatedChange,
    details: entry.details,
    serviceTier: entry.serviceTier,
  };
}

/** Returns a call with its cost, and its counts, as adjusted. */
export function adjustCall(call: ModelCall, adjustment: Adjustment | undefined): ModelCall {
  if (!adjustment) return call;
  const { amendment } = adjustment;
  const { unpricedParts: _booked, planNanoUsd, listCostNanoUsd, ...rest } = amendment
    ? amendCall(call, amendment)
    : call;
  const { priceSource, priceId, unpricedParts } = adjustment;
  const isUnpriced = Number(call.costNanoUsd === null) + adjustment.unpriced > 0;
  const isPlan = amendment ? amendment.details?.billing === "plan" : planNanoUsd !== undefined;
  return {
    ...rest,
    costNanoUsd: isUnpriced ? null : (call.costNanoUsd ?? 0n) + adjustment.costNanoUsd,
    ...(isPlan && { planNanoUsd: isUnpriced ? null : (planNanoUsd ?? 0n) + adjustment.planNanoUsd }),
    priceSource,
    priceId,
    ...(unpricedParts && { unpricedParts }),
    ...(listCostNanoUsd !== undefined && priceSource === call.priceSource && { listCostNanoUsd }),
  };
}

/** Returns a call with what its witnesses have corrected. */
function amendCall(call: ModelCall, { counts, estimated, details, serviceTier }: Amendment): ModelCall {
  const { speed: _s, inferenceGeo: _g, quality: _q, marks: _m, ...rest } = call;
  const { details: _d, others: _o, models: _mo, ...booked } = call.usage;
  const usage = { ...booked };
  USAGE_FIELDS.forEach((name, index) => usage[name] += counts[index]!);
  const said = readDetails(details ?? {});
  return {
    ...rest,
    ...said.more,
    usage: { ...usage, ...said.usage },
    isEstimated: Number(call.isEstimated) + estimated > 0,
    ...(serviceTier && { serviceTier }),
  };
}

/** A condition on calls: those that no better witness has replaced by another call, among the entries `w` that meet a condition. */
export const isStanding = (among: SQL = sql`true`): SQL =>
  sql`NOT EXISTS (SELECT 1 FROM ${calls} w WHERE w.adjusts = ${calls}.call_id AND w.stands <> w.adjusts AND ${among})`;

/** Returns calls with their costs as adjusted by these entries, in the order of their positions. */
export function withEntries(booked: readonly ModelCall[], entries: readonly Entry[]): ModelCall[] {
  const adjustments = new Map<string, Adjustment>();
  for (const entry of entries) {
    adjustments.set(entry.adjusts!, addEntry(adjustments.get(entry.adjusts!), entry));
  }
  return booked.map((call) => adjustCall(call, adjustments.get(call.callId)));
}

/** Returns calls with their costs as adjusted, and the tags that witnesses have added. */
export async function withAdjustments(
  query: Query,
  booked: readonly ModelCall[],
  among?: SQL,
): Promise<ModelCall[]> {
  const callIds = booked.map(({ callId }) => callId);
  const [adjustments, added] = await Promise.all([
    readAdjustments(query, callIds, among),
    readTags(query, callIds),
  ]);
  return booked.map((call) => {
    const tags = added.get(call.callId);
    const adjusted = adjustCall(call, adjustments.get(call.callId));
    return tags ? { ...adjusted, tags } : adjusted;
  });
}

const { callTags } = tables;

async function readTags(query: Query, callIds: readonly string[]): Promise<Map<string, Tags>> {
  if (callIds.length === 0) return new Map();
  const rows = await query.select().from(callTags)
    .where(inArray(callTags.callId, sql`(SELECT value FROM json_each(${JSON.stringify(callIds)}))`));
  return new Map(rows.map(({ callId, tags }) => [callId, tags]));
}
