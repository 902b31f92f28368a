import {
  oldestFirst,
  type Query,
  type SqlValue,
  type Statement,
  tables,
  type TimePosition,
} from "../store/mod.ts";
import { and, eq, isNull } from "drizzle-orm";
import { tagsText } from "../contract/tags/tags.ts";
import type { CostEvent } from "../contract/usage.ts";
import { priceRecordOf } from "../pricing/mod.ts";
import { isStanding, withAdjustments } from "./adjustments.ts";
import { detailsOf, readDetails } from "./call_details.ts";
import { SCOPE_COLUMNS, scopesOf, scopeValuesOf } from "./scopes/mod.ts";
import { type ModelCall } from "./model_call.ts";
import { toCostEvent } from "./cost_events.ts";
import { upstreamIdOf } from "./upstreams.ts";

/** The columns of token counts. */
export const TOKEN_COLUMNS = [
  "input_tokens",
  "output_tokens",
  "cache_read_tokens",
  "cache_write_tokens",
  "cache_write_1h_tokens",
  "reasoning_tokens",
  "total_tokens",
];

const COLUMNS = [
  "call_id",
  "at",
  ...SCOPE_COLUMNS,
  "step",
  "source",
  "tools",
  "provider",
  "model",
  "service_tier",
  "response_id",
  ...TOKEN_COLUMNS,
  "cost_nano_usd",
  "unpriced",
  "partly_priced",
  "unpriced_parts",
  "price_source",
  "price_id",
  "duration_ms",
  "is_estimated",
  "details",
  "tags",
  "stated_nano_usd",
  "plan_nano_usd",
  "request_id",
  "upstream_id",
];

const INTEGERS = COLUMNS.filter((column) =>
  /_tokens$|_nano_usd$|priced$|^(?:at|step|price_id|upstream_id|duration_ms|is_estimated)$/.test(column)
);

const INSERT = `INSERT INTO calls (${COLUMNS.join(", ")})
SELECT ${COLUMNS.map((column) => `v.${column}`).join(", ")} FROM each_row v`;

/**
 * Returns the statement that inserts calls into the ledger at the next positions. Totals and counters are rolled up from
 * there. The unit fails with a `ConstraintError` if a call is in the ledger already.
 */
export function recordCalls(calls: readonly ModelCall[]): Statement[] {
  return [{ sql: INSERT, each: { columns: COLUMNS, integers: INTEGERS, rows: calls.map(toRow) } }];
}

function toRow(call: ModelCall): SqlValue[] {
  const { usage } = call;
  return [
    call.callId,
    call.at,
    ...scopeValuesOf(call),
    call.step,
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
    call.tags ? tagsText(call.tags) : null,
    call.statedNanoUsd ?? null,
    call.planNanoUsd ?? null,
    call.requestId ?? null,
    upstreamIdOf(call),
  ];
}

const INSERT_PRICES =
  "INSERT INTO prices (price_id, hash, rates) SELECT v.price_id, v.hash, v.rates FROM each_row v WHERE true ON CONFLICT DO NOTHING";
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
  const each = { columns: PRICE_COLUMNS, integers: ["price_id"], rows: [...fresh.values()] };
  return { statements: [{ sql: INSERT_PRICES, each }], priceIds: [...fresh.keys()] };
}

/** Converts a row of the ledger to a call. */
export function toModelCall(row: typeof tables.calls.$inferSelect): ModelCall {
  const { usage, more } = row.details ? readDetails(row.details) : { usage: {}, more: {} };
  return {
    callId: row.callId,
    at: row.at,
    ...scopesOf(row),
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
      ...usage,
    },
    costNanoUsd: row.costNanoUsd,
    ...(row.details?.billing === "plan" && { planNanoUsd: row.planNanoUsd }),
    ...(row.unpricedParts && { unpricedParts: row.unpricedParts }),
    priceSource: row.priceSource,
    ...(row.priceId !== null && { priceId: row.priceId }),
    durationMs: row.durationMs,
    isEstimated: row.estimated,
    ...(row.source && { source: row.source }),
    ...(row.serviceTier && { serviceTier: row.serviceTier }),
    ...(row.responseId && { responseId: row.responseId }),
    ...(row.requestId && { requestId: row.requestId }),
    ...(row.upstreamId !== null && { upstreamId: row.upstreamId }),
    ...(row.tags && { tags: row.tags }),
    ...(row.statedNanoUsd !== null && { statedNanoUsd: row.statedNanoUsd }),
    ...more,
  };
}

const { calls } = tables;

const LIST = oldestFirst(calls.at, calls.callId);

/** Lists the calls of a session in chronological order, as cost events, with their costs as adjusted. */
export async function listCalls(
  query: Query,
  input: { sessionId: string; limit: number; after?: TimePosition | undefined },
): Promise<CostEvent[]> {
  const { sessionId, after, limit } = input;
  const rows = await query.select().from(calls).where(and(
    eq(calls.sessionId, sessionId),
    isNull(calls.adjusts),
    isStanding(),
    LIST.from(after),
  )).orderBy(...LIST.order).limit(limit);
  return (await withAdjustments(query, rows.map(toModelCall))).map(toCostEvent);
}
