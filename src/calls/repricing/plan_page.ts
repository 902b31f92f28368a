import { isStanding, type ModelCall, toModelCall, withAdjustments } from "../../ledger/mod.ts";
import type { PriceBook } from "../../pricing/mod.ts";
import { type PaidPrice, payByPlan, priceCall } from "../make_call.ts";
import { addCall, type ModelSums, noSums } from "./model_sums.ts";
import { and, asc, eq, gt, isNull, lt, lte, notInArray, or, type SQL, sql } from "drizzle-orm";
import type { RepricingFilter } from "../../contract/repricings.ts";
import { type Query, type Store, tables } from "../../store/mod.ts";

/** The adjustment of a call. */
export interface PlannedAdjustment {
  callId: string;
  costNanoUsd: bigint;
  planNanoUsd: bigint | null;
  unpriced: number;
  partlyPriced: number;
  price: PaidPrice;
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
 * Returns the difference between the present cost of a call and its cost by the price book; undefined if they are the same. A
 * call without a price in the book keeps its own: another process may have priced it, whose config has more prices.
 */
export function planCall(prices: PriceBook, call: ModelCall): PlannedAdjustment | undefined {
  const { callId, costNanoUsd, planNanoUsd } = call;
  const isPlan = planNanoUsd !== undefined;
  const price: PaidPrice = isPlan ? payByPlan(priceCall(prices, call)) : priceCall(prices, call);
  if (price.costNanoUsd === null) return undefined;
  const planned = {
    callId,
    costNanoUsd: price.costNanoUsd - (costNanoUsd ?? 0n),
    planNanoUsd: isPlan ? price.planNanoUsd! - (planNanoUsd ?? 0n) : null,
    unpriced: costNanoUsd === null ? -1 : 0,
    partlyPriced: Number(price.unpricedParts !== undefined) - Number(call.unpricedParts !== undefined),
    price,
  };
  const isSame = planned.costNanoUsd === 0n && !planned.planNanoUsd && planned.unpriced === 0 &&
    planned.partlyPriced === 0;
  return isSame ? undefined : planned;
}

const { calls } = tables;

/** A call in the order of all calls, by time, and by position if their times are the same. */
export interface Cursor {
  at: number;
  position: number;
}

export const START: Cursor = { at: -1, position: 0 };

/** The calls of a repricing. */
export interface RepricedCalls {
  filter: RepricingFilter;
  /** The position of the last call that was booked before it. */
  upTo: number;
}

/** The number of calls that are read at once, whether the filter matches them or not. */
const CALLS_PER_PAGE = 1_000;

const MAX_TIME = 8_640_000_000_000_000;

// Only the index is read.
const READ_END = `SELECT at, position FROM (
  SELECT * FROM (SELECT at, position FROM calls WHERE at = ?1 AND position > ?2 AND position <= ?5
    ORDER BY position LIMIT ?4) same_time
  UNION ALL
  SELECT * FROM (SELECT at, position FROM calls WHERE at > ?1 AND at < ?3 AND position <= ?5
    ORDER BY at, position LIMIT ?4) later
  ORDER BY at, position LIMIT ?4) page ORDER BY at DESC, position DESC LIMIT 1`;

/** Reads the next page of matching calls with their costs as adjusted; undefined at the end. */
export async function readPage(
  ctx: { store: Pick<Store, "read">; query: Query },
  { filter, upTo }: RepricedCalls,
  after: Cursor,
): Promise<{ calls: ModelCall[]; end: Cursor } | undefined> {
  const from = filter.from === undefined ? 0 : Date.parse(filter.from);
  const to = filter.to === undefined ? MAX_TIME : Date.parse(filter.to);
  const start = after.at < from ? { at: from - 1, position: Number.MAX_SAFE_INTEGER } : after;
  const { rows } = await ctx.store.read({
    sql: READ_END,
    args: [start.at, start.position, to, CALLS_PER_PAGE, upTo],
  });
  if (rows.length === 0) return undefined;
  const end = { at: Number(rows[0]![0]), position: Number(rows[0]![1]) };
  const booked = await ctx.query.select().from(calls).where(and(
    ...between(start, end),
    lte(calls.position, upTo),
    isNull(calls.adjusts),
    isStanding(),
    ...conditions(filter),
  )).orderBy(asc(calls.at), asc(calls.position));
  const adjusted = await withAdjustments(ctx.query, booked.map(toModelCall));
  return { end, calls: adjusted.filter((call) => isIncluded(filter, call)) };
}

/** Selects the calls after one cursor and up to another, by the index of their times. */
function between(start: Cursor, end: Cursor): (SQL | undefined)[] {
  if (start.at === end.at) {
    return [eq(calls.at, start.at), gt(calls.position, start.position), lte(calls.position, end.position)];
  }
  return [
    or(gt(calls.at, start.at), gt(calls.position, start.position)),
    or(lt(calls.at, end.at), lte(calls.position, end.position)),
    sql`${calls.at} BETWEEN ${start.at} AND ${end.at}`,
  ];
}

/** The price sources of costs that the provider or the reporter has stated. */
const STATED = ["reported", "provider"];

function conditions(filter: RepricingFilter): (SQL | undefined)[] {
  return [
    filter.provider === undefined ? undefined : eq(calls.provider, filter.provider),
    filter.model === undefined
      ? undefined
      : or(eq(calls.model, filter.model), sql`${calls.provider} || ':' || ${calls.model} = ${filter.model}`),
    filter.agent_id === undefined ? undefined : eq(calls.agentId, filter.agent_id),
    filter.estimated === undefined ? undefined : eq(calls.estimated, filter.estimated),
    filter.include_reported ? undefined : notInArray(calls.priceSource, STATED),
    // An adjustment may have given a call its price, so calls with adjustments are read, too.
    filter.unpriced
      ? or(
        eq(calls.unpriced, 1),
        eq(calls.partlyPriced, 1),
        sql`EXISTS (SELECT 1 FROM ${calls} a WHERE a.adjusts = ${calls}.call_id)`,
      )
      : undefined,
  ];
}

function isIncluded({ unpriced }: RepricingFilter, call: ModelCall): boolean {
  return !unpriced || call.costNanoUsd === null || call.unpricedParts !== undefined;
}
