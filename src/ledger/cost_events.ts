import type { CostEvent } from "../contract/usage.ts";
import { parseTotalUsd, toUsd } from "../kernel/money.ts";
import { toIso } from "../kernel/clock.ts";
import type { StepCost } from "../contract/sessions.ts";
import { isApart } from "../pricing/mod.ts";
import { type ModelCall, valueOf } from "./model_call.ts";
import { planUsd } from "./token_usage.ts";
import { toOtherModels } from "./other_models.ts";
import { toUpstreamId, upstreamIdOf } from "./upstreams.ts";

/** Converts a call to wire form. */
export function toCostEvent(call: ModelCall): CostEvent {
  const { usage } = call;
  const upstreamId = upstreamIdOf(call);
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
    ...(call.planNanoUsd !== undefined && {
      billing: "plan" as const,
      plan_usd: call.planNanoUsd === null ? null : toUsd(call.planNanoUsd),
    }),
    price_source: call.priceSource,
    duration_ms: call.durationMs,
    estimated: call.isEstimated,
    ...usage.details,
    ...(usage.others && { other_counts: { ...usage.others } }),
    ...(usage.models && { other_models: toOtherModels(usage.models) }),
    ...(call.responseId && { response_id: call.responseId }),
    ...(call.requestId && { request_id: call.requestId }),
    ...(upstreamId !== null && { upstream_id: toUpstreamId(upstreamId) }),
    ...(call.outcome && { outcome: call.outcome }),
    ...(call.status && { http_status: call.status }),
    ...(call.source && { source: call.source }),
    ...(call.serviceTier && { service_tier: call.serviceTier }),
    ...(call.requestedTier && { requested_service_tier: call.requestedTier }),
    ...(call.speed && { speed: call.speed }),
    ...(call.inferenceGeo && { inference_geo: call.inferenceGeo }),
    ...(call.unpricedParts && { unpriced_parts: [...call.unpricedParts] }),
    ...(call.listCostNanoUsd !== undefined && { list_cost_usd: toUsd(call.listCostNanoUsd) }),
    ...(call.statedNanoUsd !== undefined && isApart(call.statedNanoUsd, valueOf(call)) && {
      stated_cost_usd: toUsd(call.statedNanoUsd),
      ...(call.statedReason && { stated_cost_reason: call.statedReason }),
    }),
    ...(call.quality && { quality: call.quality }),
    ...(call.marks && { marks: [...call.marks] }),
    ...(call.tags && { tags: { ...call.tags } }),
  };
}

/** Sums calls by run and step, in the order of the steps. Calls without a step stay separate. */
export function sumSteps(calls: readonly CostEvent[]): StepCost[] {
  const steps = new Map<string, StepCost & { nanoUsd: bigint; planNanoUsd: bigint }>();
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
        planNanoUsd: 0n,
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
    if (call.plan_usd != null) sum.planNanoUsd += parseTotalUsd(call.plan_usd);
  }
  return [...steps.values()].map(({ nanoUsd: _nanoUsd, planNanoUsd, ...step }) => ({
    ...step,
    ...planUsd(planNanoUsd),
  }));
}
