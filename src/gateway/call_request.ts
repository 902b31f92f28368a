import { findRunBudget } from "../agents/mod.ts";
import { type CallRequest, type CallTerms, findOvershoots, recordOvershoot } from "../calls/mod.ts";
import type { GatewayContext, GatewayRequest } from "./context.ts";
import { openBeta } from "./wires/beta_headers.ts";
import { findRepeatedName } from "./wires/repeated_names.ts";
import type { ModelRequest } from "./wires/wire.ts";

/** Tokens that providers add around a request: role markers, the schema preamble, the tool-use system prompt. */
const TOKENS_AROUND_A_CALL = 1_024;

/** The attribution of the gateway's calls, and what they do beside the booking. */
export async function termsOf(ctx: GatewayContext, request: GatewayRequest): Promise<CallTerms> {
  const { caller: { keyId, agentId: onlyAgentId }, attribution } = request;
  const { agentId, sessionId, runId, tags } = attribution;
  const budget = runId === null ? null : await findRunBudget(ctx, agentId);
  const scopes = { agentId, sessionId, runId, keyId, budget };
  return {
    source: "gateway",
    scopes,
    tags,
    onlyAgentId: onlyAgentId ?? undefined,
    lastCostNanoUsd: () => sessionId === null ? null : ctx.gateway.lastCosts.get(sessionId) ?? null,
    // Clients name sessions and runs themselves: it is the key that is stopped.
    findOvershoots: (at) => findOvershoots(ctx, { scopes, at }),
    overshot: ({ at }) => recordOvershoot(ctx, { scopes, at }),
  };
}

/** A request, as `openCall()` takes it. Nothing of it is changed: an output limit that is too large is refused, with one that fits. */
export function callRequestOf(
  gatewayRequest: GatewayRequest,
  request: ModelRequest,
  { body, inputBytes }: { body: Uint8Array; inputBytes: number },
): CallRequest {
  const { model, maxOutputTokens, asks, isStreamed } = request;
  return {
    ...{ provider: gatewayRequest.target.provider, model, asks, isStreamed, maxOutputTokens },
    canShorten: false,
    isSentHere: true,
    settings: { maxOutputTokens },
    estimateBytes: () => inputBytes,
    inputBytes: () => inputBytes,
    // Tokenizers are byte-level: a token covers at least one byte of the request.
    boundInput() {
      const because = unboundedBecause(gatewayRequest, request, body);
      return because === undefined
        ? { max: body.length + TOKENS_AROUND_A_CALL }
        : { unboundedBecause: because };
    },
    get signal() {
      return gatewayRequest.signal;
    },
  };
}

/** Returns the reason that a request has no bound. */
function unboundedBecause(
  { target: { family }, headers }: GatewayRequest,
  request: ModelRequest,
  body: Uint8Array,
): string | undefined {
  const { maxOutputTokens, outputField } = request;
  return request.unboundedBecause() ?? openBeta(family, headers) ?? openName(body) ??
    (maxOutputTokens === undefined ? `this one sets no output limit (${outputField})` : undefined);
}

/** Returns why a request has no bound of which the provider may read another value than the one that was bounded. */
function openName(body: Uint8Array): string | undefined {
  const repeated = findRepeatedName(body);
  return repeated === undefined
    ? undefined
    : `it has "${repeated.slice(0, 80)}" twice, of which the provider might take the other one`;
}
