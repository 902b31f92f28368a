import { type Query, type SqlValue, type Statement, tables } from "../store/mod.ts";
import { type ModelCall, toCostEvent } from "./model_call.ts";
import { and, asc, eq, gt, isNull, or } from "drizzle-orm";
import type { CostEvent } from "../contract/usage.ts";

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
  "price_source",
  "duration_ms",
  "is_estimated",
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
    call.priceSource,
    call.durationMs === null ? null : Math.round(call.durationMs),
    call.isEstimated ? 1 : 0,
  ];
}

/** Converts a row of the ledger to a call. */
export function toModelCall(row: typeof tables.calls.$inferSelect): ModelCall {
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
    },
    costNanoUsd: row.costNanoUsd,
    priceSource: row.priceSource,
    durationMs: row.durationMs,
    isEstimated: row.estimated,
    ...(row.source && { source: row.source }),
    ...(row.serviceTier && { serviceTier: row.serviceTier }),
    ...(row.responseId && { responseId: row.responseId }),
    ...(row.keyId && { keyId: row.keyId }),
  };
}

const { calls } = tables;

/** Lists the calls of a session in chronological order, as cost events. */
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
  return rows.map((row) => toCostEvent(toModelCall(row)));
}
