import { and, asc, gt, gte, inArray, isNull, lt, type SQL, sql } from "drizzle-orm";
import { DAY_MS, HOUR_MS } from "../../kernel/clock.ts";
import {
  type BilledUpstream,
  isStanding,
  type ModelCall,
  partsFromWire,
  TOKEN_COLUMNS,
  toModelCall,
  withAdjustments,
} from "../../ledger/mod.ts";
import { readRates } from "../../ledger/explain/mod.ts";
import { type Rates, USAGE_FIELDS, usageOf } from "../../pricing/mod.ts";
import { type Query, type SqlValue, type Store, tables, toObjects, withoutFields } from "../../store/mod.ts";
import type { LedgerCell } from "./cells.ts";
import { contextOf, type Dimensions, LONG_CONTEXT_TOKENS, regionOf, speedOf, tierOf } from "./dimensions.ts";
import { amongProviders } from "./open_month.ts";
import { type PricedGroup, priceGroup, timesParts } from "./price_group.ts";

export interface LedgerReads {
  store: Pick<Store, "read" | "readLong">;
  query: Query;
}

/** The calls to read. */
export interface LedgerSpan {
  /** As the ledger names them; undefined for all. */
  providers: readonly string[] | undefined;
  /** The time: [from, to). */
  from: number;
  to: number;
  /** The width of the buckets of the bill. */
  widthMs: number;
  upstreams: ReadonlyMap<number, BilledUpstream>;
  /** The provider's account that the bill is of; undefined for all. */
  account: string | undefined;
  rates: RateCards;
  /** The source of the lines of single calls: the calls that they name are read one by one. */
  callsOf: string | undefined;
  /** Reads each call by itself. */
  isByCall: boolean | undefined;
}

/** Calls that last longer are taken to end after this time: only so much is read before a day. */
const MAX_DURATION_MS = 2 * HOUR_MS;

/** The rate cards of the ledger, and the lengths of the input from which they have other prices. */
export interface RateCards {
  /** By the id of the price; a call without one has no card. */
  cards: ReadonlyMap<number | null | undefined, Rates>;
  thresholds: readonly number[];
}

/** Reads the rate cards of the ledger. */
export async function readRateCards({ store, query }: LedgerReads): Promise<RateCards> {
  const { rows } = await store.read({ sql: "SELECT price_id FROM prices" });
  const cards = await readRates(query, rows.map(([id]) => Number(id)));
  const tiers = [...cards.values()].flatMap(({ tiers }) => tiers);
  const above = new Set(tiers.map(({ aboveInputTokens }) => aboveInputTokens).filter((tokens) => tokens > 0));
  return { cards, thresholds: [...above].sort((one, other) => one - other) };
}

/** The details of a call that no bill tells apart. */
const UNTOLD = "said list_cost_nano_usd quality marks requested_tier status".split(" ");
const TOKENS = TOKEN_COLUMNS.slice(0, USAGE_FIELDS.length);
const STATED = ["provider", "reported"];

/**
 * Reads the calls of a span in groups of one bucket, one price and one of all that bills tell apart. Calls that began before it and
 * ended in it are among them. Calls that a plan pays for are not: no bill has them.
 */
export async function readLedgerCells(ctx: LedgerReads, span: LedgerSpan): Promise<LedgerCell[]> {
  const cells: LedgerCell[] = [];
  // The calls that began before, and then a few hours at a time: a sort of a whole day would take much memory.
  for (let start = span.from - MAX_DURATION_MS; start < span.to; start += MAX_DURATION_MS) {
    const end = Math.min(start + MAX_DURATION_MS, span.to);
    const rows = toObjects(await ctx.store.readLong(groupsOf(span, { start, end })));
    cells.push(...rows.flatMap((row) => cellOf(factsOfGroup(row, span.widthMs), span)));
  }
  return [...cells, ...await readAdjusted(ctx, span), ...await readNamed(ctx, span)];
}

const IS_ADJUSTED = "EXISTS (SELECT 1 FROM calls a WHERE a.adjusts = calls.call_id)";
const IS_NAMED =
  "EXISTS (SELECT 1 FROM bill_lines l WHERE l.response_id = calls.response_id AND l.source = ? AND l.state = 'current')";
const ENDED = "(at + coalesce(duration_ms, 0))";

function groupsOf(
  { providers, from, widthMs, callsOf, isByCall, rates: { thresholds } }: LedgerSpan,
  { start, end }: { start: number; end: number },
) {
  const tier = thresholds.length === 0
    ? "0"
    : thresholds.map((tokens) => `CASE WHEN input_tokens > ${tokens} THEN 1 ELSE 0 END`).join(" + ");
  const args: SqlValue[] = [start, end, ...start < from ? [from] : []];
  const where = [
    "at >= ? AND at < ?",
    ...start < from ? [`${ENDED} >= ?`] : [],
    "adjusts IS NULL",
    `NOT ${IS_ADJUSTED}`,
  ];
  where.push(amongProviders(providers));
  args.push(...providers ?? []);
  if (callsOf !== undefined) {
    where.push(`(response_id IS NULL OR NOT ${IS_NAMED})`);
    args.push(callsOf);
  }
  const details = `CASE WHEN details IS NULL THEN NULL ELSE ${withoutFields("details", UNTOLD)} END`;
  return {
    sql:
      `SELECT at / ${widthMs} AS began, ${ENDED} / ${widthMs} AS ended, model, upstream_id, service_tier, price_id, price_source,
  ${details} AS rest, ${tier} AS tier, CASE WHEN input_tokens > ${LONG_CONTEXT_TOKENS} THEN 1 ELSE 0 END AS is_long,
  count(*) AS calls, sum(is_estimated) AS estimated, min(input_tokens) AS input, sum(cost_nano_usd) AS booked, min(call_id) AS call_id,
  ${TOKENS.map((name) => `sum(${name}) AS ${name}`).join(", ")}
FROM calls WHERE ${where.join(" AND ")}
GROUP BY ${
        isByCall
          ? "position"
          : "began, ended, model, upstream_id, service_tier, price_id, price_source, rest, tier, is_long"
      }`,
    args,
  };
}

function factsOfGroup(row: Record<string, SqlValue>, widthMs: number): CellFacts {
  const details = row.rest === null ? {} : JSON.parse(row.rest as string);
  const calls = Number(row.calls);
  const counts = Object.fromEntries(USAGE_FIELDS.map((name, index) => [name, Number(row[TOKENS[index]!])]));
  return {
    began: Number(row.began) * widthMs,
    ended: Number(row.ended) * widthMs,
    model: row.model as string,
    upstreamId: row.upstream_id === null ? undefined : Number(row.upstream_id),
    serviceTier: row.service_tier as string | null ?? undefined,
    region: details.inference_geo,
    speed: details.speed,
    isLong: Number(row.is_long) === 1,
    isElsewhere: details.billing === "plan" || details.stated_reason === "own_key",
    isBroken: details.outcome !== undefined,
    calls,
    estimated: Number(row.estimated),
    priceId: row.price_id === null ? null : Number(row.price_id),
    isStated: STATED.includes(row.price_source as string),
    inputTokens: Number(row.input),
    bookedNanoUsd: BigInt(row.booked as bigint | null ?? 0),
    callId: row.call_id as string,
    usage: { ...usageOf(counts), ...timesParts(partsFromWire(details), calls) },
  };
}

/** The facts of some calls that are priced and compared together. */
interface CellFacts extends Omit<PricedGroup, "rates"> {
  began: number;
  ended: number;
  model: string;
  upstreamId: number | undefined;
  serviceTier: string | undefined;
  region: string | undefined;
  speed: string | undefined;
  isLong: boolean;
  /** True if a plan pays for it, or another provider bills it to a key of one's own behind a router. */
  isElsewhere: boolean;
  /** True if it failed or was cut off. */
  isBroken: boolean;
  estimated: number;
  priceId: number | null;
  callId: string;
  responseId?: string;
}

/** Returns the cell of some calls; none for those that are billed elsewhere, or to another account. */
function cellOf(facts: CellFacts, span: LedgerSpan): LedgerCell[] {
  const upstream = facts.upstreamId === undefined ? undefined : span.upstreams.get(facts.upstreamId);
  if (facts.isElsewhere) return [];
  if (span.account && upstream?.account !== undefined && upstream.account !== span.account) return [];
  const dimensions: Dimensions = {
    model: facts.model,
    serviceTier: tierOf(facts.serviceTier, undefined),
    region: regionOf(facts.region),
    speed: speedOf(facts.speed),
    context: contextOf(facts.isLong),
    ...(upstream?.key !== undefined && { credential: upstream.key }),
    ...(upstream?.project !== undefined && { project: upstream.project }),
  };
  const parts = priceGroup({ ...facts, rates: span.rates.cards.get(facts.priceId) });
  // A request that failed without an answer may not have been one for the provider.
  const isAnswered = !facts.isBroken || parts.length > 0;
  return [{
    startsAt: facts.began,
    endedAt: facts.ended,
    dimensions,
    calls: isAnswered ? facts.calls : 0,
    doubtful: facts.isBroken ? facts.calls : facts.estimated,
    bookedNanoUsd: facts.bookedNanoUsd,
    parts,
    callId: facts.callId,
    ...(facts.responseId !== undefined && { responseId: facts.responseId }),
  }];
}

const { calls } = tables;
const PAGE = 2_000;

/** Reads the calls that entries of the ledger have corrected, as they are now; those that were taken back are none. */
async function readAdjusted(ctx: LedgerReads, span: LedgerSpan): Promise<LedgerCell[]> {
  const cells: LedgerCell[] = [];
  for (let after = -1;;) {
    const rows = await ctx.query.select().from(calls).where(and(
      gte(calls.at, span.from - MAX_DURATION_MS),
      lt(calls.at, span.to),
      sql`(${calls.at} + coalesce(${calls.durationMs}, 0) >= ${span.from} OR ${calls.at} >= ${span.from})`,
      ...providersOf(span),
      // An entry has the time of its call.
      sql`${calls.callId} IN (SELECT a.adjusts FROM ${calls} a WHERE a.adjusts IS NOT NULL
        AND a.at >= ${span.from - MAX_DURATION_MS} AND a.at < ${span.to})`,
      ...span.callsOf === undefined ? [] : [sql`NOT (${isNamed(span.callsOf)})`],
      gt(calls.position, after),
      isStanding(),
    )).orderBy(asc(calls.position)).limit(PAGE);
    const adjusted = await withAdjustments(ctx.query, rows.map(toModelCall));
    cells.push(...adjusted.flatMap((call) => cellOf(factsOf(call, span.widthMs), span)));
    if (rows.length < PAGE) return cells;
    after = rows.at(-1)!.position;
  }
}

/** Reads the calls that lines name by their responses, each as a cell of its own. */
async function readNamed(ctx: LedgerReads, span: LedgerSpan): Promise<LedgerCell[]> {
  if (span.callsOf === undefined) return [];
  const { rows: named } = await ctx.store.read({
    sql: `SELECT DISTINCT response_id FROM bill_lines
WHERE source = ? AND state = 'current' AND starts_at >= ? AND starts_at < ? AND response_id IS NOT NULL`,
    args: [span.callsOf, span.from, span.to],
  });
  const cells: LedgerCell[] = [];
  const days = [-1, 0, 1].map((day) => Math.floor(span.from / DAY_MS) + day);
  for (let start = 0; start < named.length; start += PAGE) {
    const ids = named.slice(start, start + PAGE).map(([id]) => id as string);
    const rows = await ctx.query.select().from(calls).where(and(
      inArray(sql`(${calls.at} / 86400000)`, days),
      sql`substr(${calls.responseId}, length(${calls.responseId}) - 11) IN (SELECT substr(value, length(value) - 11) FROM json_each(${
        JSON.stringify(ids)
      }))`,
      sql`${calls.responseId} IN (SELECT value FROM json_each(${JSON.stringify(ids)}))`,
      ...providersOf(span),
      isStanding(),
    ));
    const adjusted = await withAdjustments(ctx.query, rows.map(toModelCall));
    cells.push(
      ...adjusted.flatMap((call) => cellOf({ ...factsOf(call, 1), responseId: call.responseId! }, span)),
    );
  }
  return cells;
}

const isNamed = (source: string): SQL =>
  sql`${calls.responseId} IS NOT NULL AND EXISTS (SELECT 1 FROM bill_lines l WHERE l.response_id = ${calls.responseId}
    AND l.source = ${source} AND l.state = 'current')`;

function providersOf({ providers }: LedgerSpan): SQL[] {
  return [isNull(calls.adjusts), ...providers ? [inArray(calls.provider, [...providers])] : []];
}

function factsOf(call: ModelCall, widthMs: number): CellFacts {
  const ended = call.at + (call.durationMs ?? 0);
  return {
    began: call.at - call.at % widthMs,
    ended: ended - ended % widthMs,
    model: call.model,
    upstreamId: call.upstreamId,
    serviceTier: call.serviceTier ?? undefined,
    region: call.inferenceGeo,
    speed: call.speed,
    isLong: call.usage.inputTokens > LONG_CONTEXT_TOKENS,
    isElsewhere: call.planNanoUsd !== undefined || call.statedReason === "own_key",
    isBroken: call.outcome !== undefined,
    calls: 1,
    estimated: Number(call.isEstimated),
    priceId: call.priceId ?? null,
    isStated: STATED.includes(call.priceSource),
    inputTokens: call.usage.inputTokens,
    bookedNanoUsd: call.costNanoUsd ?? 0n,
    callId: call.callId,
    usage: call.usage,
  };
}
