import { type AdmittedTerms, bookMadeCall, settleUsage, type UsageReport, usageText } from "../calls/mod.ts";
import { messageOf, PurserError } from "../kernel/errors.ts";
import { formatUsd } from "../kernel/money.ts";
import type { ModelCall } from "../ledger/mod.ts";
import type { CallTrace } from "../telemetry/mod.ts";
import type { GatewayContext, GatewayRequest } from "./context.ts";
import type { ModelRequest } from "./wires/wire.ts";

/** A call through the gateway, to be booked once its answer is known. */
export interface PassedCall {
  callId: string;
  gatewayRequest: GatewayRequest;
  request: ModelRequest;
  admitted: AdmittedTerms;
  /** The size of the request as an input, for an estimate. */
  inputBytes: number;
  trace: CallTrace;
  /** When it was sent, on the monotonic clock. */
  startedAt: number;
}

/**
 * Books a call by what its answer has reported; resolves when it is durable: see `bookMadeCall()`. Without a report it is an
 * estimate of the request and of the text that has passed.
 */
export async function bookAnswer(
  ctx: GatewayContext,
  passed: PassedCall,
  report: UsageReport,
  answer: { readonly outputBytes: number; readonly textBytes?: number },
): Promise<ModelCall> {
  const { callId, gatewayRequest, request, admitted: { at, grant, prices }, inputBytes, trace, startedAt } =
    passed;
  const { target: { provider }, caller, attribution: { agentId, sessionId, runId, tags } } = gatewayRequest;
  const { served = {}, responseId } = report;
  const { model = request.model } = served;
  const query = prices.located({ ...served, provider, model, at });
  const { serviceTier, speed, inferenceGeo } = query;
  const { usage, price, estimatedBecause } = settleUsage(
    report,
    {
      inputBytes: () => inputBytes,
      outputBytes: () => answer.outputBytes,
      textBytes: () => answer.textBytes ?? 0,
      maxOutputTokens: request.maxOutputTokens,
    },
    (usage, statement) => prices.price({ ...query, usage, statement }),
  );
  const call: ModelCall = {
    ...{ callId, at, agentId, sessionId, runId, provider, usage },
    step: null,
    tools: [],
    model,
    ...price,
    durationMs: ctx.clock.monotonic() - startedAt,
    isEstimated: estimatedBecause !== undefined,
    source: "gateway",
    serviceTier: serviceTier ?? null,
    ...(speed && { speed }),
    ...(inferenceGeo && { inferenceGeo }),
    responseId: responseId ?? null,
    ...(caller.keyId !== null && { keyId: caller.keyId }),
    ...(Object.keys(tags).length > 0 && { tags }),
  };
  if (estimatedBecause !== undefined) {
    ctx.log.warn("A model call is booked as an estimate", {
      call_id: callId,
      provider,
      model,
      reason: report.brokenBy === undefined
        ? estimatedBecause
        : ctx.secrets.scrub(messageOf(report.brokenBy)),
      ...(report.raw !== undefined && { usage: usageText(report.raw, ctx.secrets.scrub) }),
    });
  }
  if (grant?.isStrict) keepBound(ctx, call, grant);
  try {
    await bookMadeCall(ctx, call, grant);
    trace.booked(call, { responseId, ...(report.brokenBy !== undefined && { errorType: "broken" }) });
  } catch (error) {
    trace.failed(error);
    gatewayRequest.note?.({ error_code: "internal", reason: `it could not be booked: ${messageOf(error)}` });
    // Not `unavailable`, which clients send again: each repetition is charged, too.
    const reason = error instanceof PurserError ? `: ${error.message}` : "";
    throw new PurserError("internal", `Cannot book a model call that was made${reason}`, { cause: error });
  }
  if (sessionId !== null && call.costNanoUsd !== null) ctx.gateway.lastCosts.set(sessionId, call.costNanoUsd);
  return call;
}

/** Holds what a strict call may have cost beyond its estimate, and logs one that cost more than its bound. */
function keepBound(ctx: GatewayContext, call: ModelCall, grant: NonNullable<AdmittedTerms["grant"]>): void {
  const boundNanoUsd = grant.amounts.worstNanoUsd!;
  const unused = boundNanoUsd - (call.costNanoUsd ?? 0n);
  if (unused >= 0n && !call.unpricedParts) {
    if (call.isEstimated) grant.lostNanoUsd = unused;
    return;
  }
  ctx.log.warn("A provider reported more than a strict call was bounded to", {
    call_id: call.callId,
    bound_usd: formatUsd(boundNanoUsd),
    cost_usd: formatUsd(call.costNanoUsd ?? 0n),
    ...(call.unpricedParts && { unpriced_parts: call.unpricedParts }),
  });
}
