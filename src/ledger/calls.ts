import { type Query, type SqlValue, type Statement, tables } from "../store/mod.ts";
import type { CallSource } from "../contract/values.ts";
import { and, asc, eq, gt, isNull, or } from "drizzle-orm";
import type { CostEvent } from "../contract/usage.ts";
import { type NanoUsd, parseTotalUsd, toUsd } from "../kernel/money.ts";
import { priceRecordOf, type Rates, type Usage, USAGE_DETAILS, type UsageDetails } from "../pricing/mod.ts";
import { toIso } from "../kernel/clock.ts";
import { withAdjustments } from "./adjustments.ts";
import type { StepCost } from "../contract/sessions.ts";

/** The tolerance for calls made elsewhere with a time ahead of this process's clock. */
export const MAX_AHEAD_MS = 5 * 60_000;

/** One model call of the ledger. Times in milliseconds since the epoch. */
export interface ModelCall {
  callId: string;
  at: number;
  agentId: string;
  sessionId: string | null;
  runId: string | null;
  /** The step of the run, from 1. */
  step: number | null;
  /** The names of the tools that the answer called. */
  tools: readonly string[];
  provider: string;
  model: string;
  usage: Usage;
  /** Null, never 0, if no price is known. */
  costNanoUsd: NanoUsd | null;
  /** The parts of the usage without a price, which the cost leaves out; undefined for most calls. */
  unpricedParts?: readonly string[];
  /** The cost by the rate card, where the provider has stated another. */
  listCostNanoUsd?: NanoUsd;
  /** `config`, `genai-prices@…`, `litellm@…`, `demo`, `provider`, `reported` or `none`. */
  priceSource: string;
  /** The rate card that priced a call to be booked. */
  rates?: Rates | null;
  /** The id of the rate card of a booked call. */
  priceId?: number | null;
  durationMs: number | null;
  /** True if the tokens are an estimate, because the provider's count never arrived. */
  isEstimated: boolean;
  source?: CallSource;
  /** The service tier that the provider used. */
  serviceTier?: string | null;
  /** Anthropic's `fast`, where it was used. */
  speed?: string;
  /** The region that Anthropic has served the call from, where it states one. */
  inferenceGeo?: string;
  /** The provider's id of the answer. */
  responseId?: string | null;
  /** The API key of the report or run. */
  keyId?: string | null;
}

/** Converts a call to wire form. */
export function toCostEvent(call: ModelCall): CostEvent {
  const { usage } = call;
  return {
    call_id: call.callId,
    at: toIso(call.at),
    agent_id: call.agentId,
    session_id: call.sessionId,
    run_id: call.runId,
    step: call.step,
    tools: [...call.tools],
    provider: call.provider,
    model: call.model,
    input_tokens: usage.inputTokens,
    output_tokens: usage.outputTokens,
    cache_read_tokens: usage.cacheReadTokens,
    cache_write_tokens: usage.cacheWriteTokens,
    reasoning_tokens: usage.reasoningTokens,
    total_tokens: usage.inputTokens + usage.outputTokens,
    cost_usd: call.costNanoUsd === null ? null : toUsd(call.costNanoUsd),
    price_source: call.priceSource,
    duration_ms: call.durationMs,
    estimated: call.isEstimated,
    ...usage.details,
    ...(call.source && { source: call.source }),
    ...(call.serviceTier && { service_tier: call.serviceTier }),
    ...(call.speed && { speed: call.speed }),
    ...(call.inferenceGeo && { inference_geo: call.inferenceGeo }),
    ...(call.unpricedParts && { unpriced_parts: [...call.unpricedParts] }),
    ...(call.listCostNanoUsd !== undefined && { list_cost_usd: toUsd(call.listCostNanoUsd) }),
  };
}

/** Sums calls by run and step, in the order of the steps. Calls without a step stay separate. */
export function sumSteps(calls: readonly CostEvent[]): StepCost[] {
  const steps = new Map<string, StepCost & { nanoUsd: bigint }>();
  for (const call of calls) {
    const key = call.step === null ? call.call_id : JSON.stringify([call.run_id, call.step]);
    let sum = steps.get(key);
    if (!sum) {
      sum = {
        run_id: call.run_id,
        step: call.step,
        tools: [],
        model_calls: 0,
        unpriced_calls: 0,
        partly_priced_calls: 0,
        input_tokens: 0,
        output_tokens: 0,
        total_tokens: 0,
        cost_usd: null,
        nanoUsd: 0n,
      };
      steps.set(key, sum);
    }
    sum.tools.push(...call.tools);
    sum.model_calls++;
    sum.input_tokens += call.input_tokens;
    sum.output_tokens += call.output_tokens;
    sum.total_tokens += call.total_tokens;
    if (call.unpriced_parts) sum.partly_priced_calls++;
    if (call.cost_usd === null) sum.unpriced_calls++;
    else sum.cost_usd = toUsd(sum.nanoUsd += parseTotalUsd(call.cost_usd));
  }
  return [...steps.values()].map(({ nanoUsd: _nanoUsd, ...step }) => step);
}

const COLUMNS = [
  "call_id",
  "at",
  "agent_id",
  "session_id",
  "run_id",
  "step",
  "key_id",
  "source",
  "tools",
  "provider",
  "model",
  "service_tier",
  "response_id",
  "input_tokens",
  "output_tokens",
  "cache_read_tokens",
  "cache_write_tokens",
  "cache_write_1h_tokens",
  "reasoning_tokens",
  "total_tokens",
  "cost_nano_usd",
  "unpriced",
  "partly_priced",
  "unpriced_parts",
  "price_source",
  "price_id",
  "duration_ms",
  "is_estimated",
  "details",
];

const INSERT = `INSERT INTO calls (${COLUMNS.join(", ")})
SELECT ${COLUMNS.map((column) => `v.${column}`).join(", ")} FROM each_row v`;

/**
 * Returns the statement that inserts calls into the ledger at the next positions. Totals and counters are rolled up from
 * there. The unit fails with a `ConstraintError` if a call is in the ledger already.
 */
export function recordCalls(calls: readonly ModelCall[]): Statement[] {
  return [{ sql: INSERT, each: { columns: COLUMNS, rows: calls.map(toRow) } }];
}

function toRow(call: ModelCall): SqlValue[] {
  const { usage } = call;
  return [
    call.callId,
    call.at,
    call.agentId,
    call.sessionId,
    call.runId,
    call.step,
    call.keyId ?? null,
    call.source ?? null,
    call.tools.length === 0 ? "[]" : JSON.stringify(call.tools),
    call.provider,
    call.model,
    call.serviceTier ?? null,
    call.responseId ?? null,
    usage.inputTokens,
    usage.outputTokens,
    usage.cacheReadTokens,
    usage.cacheWriteTokens,
    usage.cacheWrite1hTokens,
    usage.reasoningTokens,
    usage.inputTokens + usage.outputTokens,
    call.costNanoUsd,
    call.costNanoUsd === null ? 1 : 0,
    call.unpricedParts ? 1 : 0,
    call.unpricedParts ? JSON.stringify(call.unpricedParts) : null,
    call.priceSource,
    call.rates ? priceRecordOf(call.rates).priceId : null,
    call.durationMs === null ? null : Math.round(call.durationMs),
    call.isEstimated ? 1 : 0,
    detailsOf(call),
  ];
}

/** Returns what most calls don't have as JSON, or null. */
function detailsOf({ usage, speed, inferenceGeo, listCostNanoUsd }: ModelCall): string | null {
  if (!usage.details && !speed && !inferenceGeo && listCostNanoUsd === undefined) return null;
  return JSON.stringify({
    ...usage.details,
    speed,
    inference_geo: inferenceGeo,
    list_cost_nano_usd: listCostNanoUsd === undefined ? undefined : String(listCostNanoUsd),
  });
}

function readDetails(
  details: Readonly<Record<string, number | string>>,
): { details?: UsageDetails; more: Partial<ModelCall> } {
  const counts = USAGE_DETAILS.flatMap((name) => details[name] ? [[name, details[name]]] : []);
  const { speed, inference_geo, list_cost_nano_usd } = details;
  return {
    ...(counts.length > 0 && { details: Object.fromEntries(counts) }),
    more: {
      ...(speed && { speed: String(speed) }),
      ...(inference_geo && { inferenceGeo: String(inference_geo) }),
      ...(list_cost_nano_usd && { listCostNanoUsd: BigInt(list_cost_nano_usd) }),
    },
  };
}

const INSERT_PRICES =
  "INSERT OR IGNORE INTO prices (price_id, hash, rates) SELECT v.price_id, v.hash, v.rates FROM each_row v";
const PRICE_COLUMNS = ["price_id", "hash", "rates"];

/** Returns the statement that stores the rate cards of calls that `known` does not have, and their ids. */
export function recordPrices(
  calls: readonly Pick<ModelCall, "rates">[],
  known: ReadonlySet<number>,
): { statements: Statement[]; priceIds: number[] } {
  const fresh = new Map<number, SqlValue[]>();
  for (const { rates } of calls) {
    if (!rates) continue;
    const { priceId, hash, text } = priceRecordOf(rates);
    if (!known.has(priceId)) fresh.set(priceId, [priceId, hash, text]);
  }
  if (fresh.size === 0) return { statements: [], priceIds: [] };
  const each = { columns: PRICE_COLUMNS, rows: [...fresh.values()] };
  return { statements: [{ sql: INSERT_PRICES, each }], priceIds: [...fresh.keys()] };
}

/** Converts a row of the ledger to a call. */
export function toModelCall(row: typeof tables.calls.$inferSelect): ModelCall {
  const { details, more } = readDetails(row.details ?? {});
  return {
    callId: row.callId,
    at: row.at,
    agentId: row.agentId,
    sessionId: row.sessionId,
    runId: row.runId,
    step: row.step,
    tools: row.tools,
    provider: row.provider,
    model: row.model,
    usage: {
      inputTokens: row.inputTokens,
      outputTokens: row.outputTokens,
      cacheReadTokens: row.cacheReadTokens,
      cacheWriteTokens: row.cacheWriteTokens,
      cacheWrite1hTokens: row.cacheWrite1hTokens,
      reasoningTokens: row.reasoningTokens,
      ...(details && { details }),
    },
    costNanoUsd: row.costNanoUsd,
    ...(row.unpricedParts && { unpricedParts: row.unpricedParts }),
    priceSource: row.priceSource,
    ...(row.priceId !== null && { priceId: row.priceId }),
    durationMs: row.durationMs,
    isEstimated: row.estimated,
    ...(row.source && { source: row.source }),
    ...(row.serviceTier && { serviceTier: row.serviceTier }),
    ...(row.responseId && { responseId: row.responseId }),
    ...(row.keyId && { keyId: row.keyId }),
    ...more,
  };
}

const { calls } = tables;

/** Lists the calls of a session in chronological order, as cost events, with their costs as adjusted. */
export async function listCalls(
  query: Query,
  input: { sessionId: string; limit: number; after?: { at: number; callId: string } },
): Promise<CostEvent[]> {
  const { sessionId, after, limit } = input;
  const rows = await query.select().from(calls).where(and(
    eq(calls.sessionId, sessionId),
    isNull(calls.adjusts),
    after && or(gt(calls.at, after.at), and(eq(calls.at, after.at), gt(calls.callId, after.callId))),
  )).orderBy(asc(calls.at), asc(calls.callId)).limit(limit);
  return (await withAdjustments(query, rows.map(toModelCall))).map(toCostEvent);
}
