import { MAX_CALL_USD } from "../contract/limits.ts";
import type { Tags } from "../contract/tags/tags.ts";
import type { CallSource } from "../contract/values.ts";
import { NANO_PER_USD } from "../kernel/money.ts";
import type { ModelCall } from "../ledger/mod.ts";
import type { Price } from "../pricing/mod.ts";

/** The most that one call can cost. */
export const MAX_CALL_NANO_USD = BigInt(MAX_CALL_USD) * NANO_PER_USD;

/** The caller of a call, to whom it is attributed. */
export interface CallOrigin {
  source: CallSource;
  scopes: Pick<ModelCall, "agentId" | "sessionId" | "runId" | "keyId">;
  tags?: Tags | undefined;
}

/** The facts of a call that was made, all but its price. */
export interface MadeCall
  extends Pick<ModelCall, "callId" | "at" | "provider" | "model" | "usage" | "isEstimated"> {
  step: number | null;
  tools: readonly string[];
  durationMs: number | null;
  serviceTier?: string | null | undefined;
  speed?: string | undefined;
  inferenceGeo?: string | undefined;
  responseId?: string | null | undefined;
}

/** Makes the entry of a call for the ledger: the only place that does so, whoever has made or reported the call. */
export function makeCall(origin: CallOrigin, call: MadeCall, price: Price): ModelCall {
  const { agentId, sessionId, runId, keyId } = origin.scopes;
  const { speed, inferenceGeo } = call;
  return {
    callId: call.callId,
    at: call.at,
    agentId,
    sessionId,
    runId,
    provider: call.provider,
    model: call.model,
    usage: call.usage,
    step: call.step,
    tools: call.tools,
    ...price,
    durationMs: call.durationMs,
    isEstimated: call.isEstimated,
    source: origin.source,
    serviceTier: call.serviceTier ?? null,
    ...(speed && { speed }),
    ...(inferenceGeo && { inferenceGeo }),
    responseId: call.responseId ?? null,
    ...(keyId && { keyId }),
    ...(origin.tags && Object.keys(origin.tags).length > 0 && { tags: origin.tags }),
  };
}
