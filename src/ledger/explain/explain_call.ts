import { asc, eq, inArray, or, sql } from "drizzle-orm";
import type { ExplainedAdjustment, ExplainedCall } from "../../contract/costs/explained_calls.ts";
import { toIso } from "../../kernel/clock.ts";
import { PurserError } from "../../kernel/errors.ts";
import { toUsd } from "../../kernel/money.ts";
import { parsePriceRecord, type Rates } from "../../pricing/mod.ts";
import { type Query, tables } from "../../store/mod.ts";
import { addEntry, adjustCall, type Adjustment, ENTRY, withAdjustments } from "../adjustments.ts";
import { toModelCall } from "../calls.ts";
import { toCostEvent } from "../cost_events.ts";
import { type ModelCall, valueOf } from "../model_call.ts";
import { ALL_SEEING, type Viewer } from "../scopes/mod.ts";
import { findUpstream } from "../upstreams.ts";
import { explainPrice } from "./explain_price.ts";
import { findStanding, readWitnesses } from "./witnesses.ts";

const { calls, prices, repricings } = tables;

/**
 * Explains the cost of a call: each part by its rate, and each adjustment, computed again from what the ledger keeps; and what
 * witnesses have said of it. Of a call that was taken back, explains the one that stands.
 *
 * @throws {PurserError} `not_found`, also for a call that the viewer may not see
 */
export async function explainCall(
  { query }: { query: Query },
  id: string,
  viewer: Viewer = ALL_SEEING,
): Promise<ExplainedCall> {
  const callId = await findStanding(query, id);
  const [row] = await query.select().from(calls).where(eq(calls.callId, callId));
  if (!row || row.adjusts !== null || !viewer.sees({ agentId: row.agentId })) {
    const among = viewer.seesAll ? "" : ` among those of agent ${viewer.agentId}`;
    throw new PurserError("not_found", `Cannot find call ${id}${among}`);
  }
  const entries = await query.select({ ...ENTRY, callId: calls.callId, at: calls.at }).from(calls)
    .where(eq(calls.adjusts, callId)).orderBy(asc(calls.position));
  const cards = await readRates(query, [row, ...entries].flatMap(({ priceId }) => priceId ?? []));
  const repriced = await readRepricings(query, entries);
  const booked = toModelCall(row);
  let call = booked;
  let sum: Adjustment | undefined;
  const adjustments = entries.map((entry): ExplainedAdjustment => {
    sum = addEntry(sum, entry);
    call = adjustCall(booked, sum);
    const cause = repriced.find(({ entryId }) => entryId === entry.callId);
    return {
      adjustment_id: entry.callId,
      repricing_id: cause?.repricingId ?? null,
      is_undo: cause?.isUndo ?? false,
      is_amendment: entry.stands === callId,
      at: cause?.at == null ? null : toIso(cause.at),
      difference_usd: toUsd(entry.costNanoUsd ?? 0n),
      ...(entry.planNanoUsd && { plan_difference_usd: toUsd(entry.planNanoUsd) }),
      price: explained(call, cards),
    };
  });
  const { witnesses, replaced } = await readWitnesses(query, callId, viewer);
  const [standing] = await withAdjustments(query, [booked]);
  return {
    call: toCostEvent({ ...call, ...(standing!.tags && { tags: standing!.tags }) }),
    upstream: row.upstreamId === null ? null : await findUpstream(query, row.upstreamId) ?? null,
    booked: explained(booked, cards),
    adjustments,
    witnesses,
    replaced: replaced.map((one) => toCostEvent(toModelCall(one))),
  };
}

function explained(call: ModelCall, cards: ReadonlyMap<number, Rates>) {
  const rates = call.priceId == null ? null : cards.get(call.priceId) ?? null;
  const price = explainPrice({ ...call, costNanoUsd: valueOf(call) }, call.usage, rates);
  return call.planNanoUsd === undefined ? price : { ...price, billing: "plan" };
}

/** Reads rate cards by their ids. */
export async function readRates(query: Query, priceIds: readonly number[]): Promise<Map<number, Rates>> {
  const ids = JSON.stringify([...new Set(priceIds)]);
  const rows = await query.select().from(prices)
    .where(inArray(prices.priceId, sql`(SELECT CAST(value AS BIGINT) FROM json_each(${ids}))`));
  return new Map(rows.map(({ priceId, rates }) => [priceId, parsePriceRecord(rates)]));
}

interface Cause {
  entryId: string;
  repricingId: string;
  isUndo: boolean;
  at: number | null;
}

/** Reads the repricings that have booked entries, which the ids of the entries begin with. */
async function readRepricings(query: Query, entries: readonly { callId: string }[]): Promise<Cause[]> {
  if (entries.length === 0) return [];
  const ids = JSON.stringify(entries.map(({ callId }) => callId.slice(0, callId.indexOf(":"))));
  const among = sql`(SELECT value FROM json_each(${ids}))`;
  const rows = await query.select().from(repricings)
    .where(or(inArray(repricings.repricingId, among), inArray(repricings.undoId, among)));
  return entries.flatMap(({ callId }): Cause[] => {
    const prefix = callId.slice(0, callId.indexOf(":"));
    const row = rows.find(({ repricingId, undoId }) => repricingId === prefix || undoId === prefix);
    if (!row) return [];
    const isUndo = row.undoId === prefix;
    const at = isUndo ? row.undoneAt : row.appliedAt ?? row.createdAt;
    return [{ entryId: callId, repricingId: row.repricingId, isUndo, at }];
  });
}
