import type { tables } from "../store/mod.ts";
import type { ModelCall } from "./model_call.ts";

/** A row of the ledger as the call it keeps. */
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
