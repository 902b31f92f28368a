import type { CostEvent } from "../contract/usage.ts";
import { toIso } from "../kernel/clock.ts";
import { toUsd } from "../kernel/money.ts";
import type { ModelCall } from "./model_call.ts";

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
  };
}
