import { findRunBudget } from "../agents/mod.ts";
import { type AdmittedTerms, estimateCost, logRefusal, pricesNow, refusedCall } from "../calls/mod.ts";
import { AHEAD_MS, type CallBounds, callerOf, type CallScopes } from "../budgets/mod.ts";
import { PurserError } from "../kernel/errors.ts";
import { unboundedModel } from "../pricing/mod.ts";
import type { GatewayContext, GatewayRequest } from "./context.ts";
import { openBeta } from "./wires/beta_headers.ts";
import { findRepeatedName } from "./wires/repeated_names.ts";
import type { ModelRequest } from "./wires/wire.ts";

/** Tokens that providers add around a request: role markers, the schema preamble, the tool-use system prompt. */
const TOKENS_AROUND_A_CALL = 1_024;

/**
 * Asks the budgets of a call, and reserves its cost. Nothing of the request is changed: a limit that is too large for a strict
 * budget is refused, with the one that would fit. The bytes of the `body` bound the input of a strict call, `inputBytes` estimates
 * that of others.
 *
 * @throws {BudgetExceededError} nothing was sent
 */
export async function admit(
  ctx: GatewayContext,
  gatewayRequest: GatewayRequest,
  request: ModelRequest,
  { body, inputBytes }: { body: Uint8Array; inputBytes: number },
): Promise<AdmittedTerms> {
  const prices = pricesNow(ctx);
  const { target, caller, attribution: { agentId, sessionId, runId } } = gatewayRequest;
  const budget = runId === null ? null : await findRunBudget(ctx, agentId);
  const scopes = { agentId, sessionId, runId, keyId: caller.keyId, budget };
  /** The reason that a strict budget has found no bound. */
  let because: string | undefined;
  const admitting = ctx.gate.admit({
    ...scopes,
    hasNext: callsOften(ctx, scopes),
    get signal() {
      return gatewayRequest.signal;
    },
    bound(at, withWorst): CallBounds {
      const query = prices.located({ provider: target.provider, model: request.model, at, ...request.asks });
      const isUnpriced = prices.rates(query) === null;
      const last = sessionId === null ? null : ctx.gateway.lastCosts.get(sessionId) ?? null;
      const estimateNanoUsd = isUnpriced ? 0n : estimateCost(prices, query, {
        inputBytes,
        maxOutputTokens: request.maxOutputTokens,
        lastCostNanoUsd: last,
      });
      if (!withWorst) return { estimateNanoUsd, isUnpriced };
      // Tokenizers are byte-level: a token covers at least one byte of the request.
      const max = body.length + TOKENS_AROUND_A_CALL;
      because = unboundedBecause(ctx, gatewayRequest, request, body);
      const rates = because === undefined ? prices.worstCaseRates({ ...query, inputTokens: max }) : null;
      return {
        estimateNanoUsd,
        isUnpriced: isUnpriced || (because === undefined && rates === null),
        worst: {
          inputTokens: because === undefined ? { max } : { unboundedBecause: because },
          outputTokens: request.maxOutputTokens ?? 0,
          isFixed: true,
          rates,
        },
      };
    },
  });
  const admission = await admitting.catch((error) => {
    if (!gatewayRequest.signal?.aborted) throw error;
    throw new PurserError("unavailable", "Cannot make the call: its client has left while it waited");
  });
  if (admission.go) return { ...admission, prices };
  const { provider } = target;
  const refused = { scopes, provider, model: request.model, onlyAgentId: caller.agentId ?? undefined };
  const error = await refusedCall(ctx, refused, { refusals: admission.refusals, because });
  await logRefusal(ctx, scopes, error);
  throw error;
}

/** Returns whether the caller has made its previous call so recently that the next one will probably find what this one reserves. */
function callsOften({ gateway, clock, keepAlive }: GatewayContext, scopes: CallScopes): boolean {
  if (scopes.runId !== null || keepAlive) return false; // an edge may end before what is kept is freed
  const caller = callerOf(scopes);
  const now = clock.monotonic();
  const last = gateway.lastCalls.get(caller) ?? -Infinity;
  gateway.lastCalls.set(caller, now);
  return now - last < AHEAD_MS;
}

/** Returns the reason that a request has no bound. */
function unboundedBecause(
  ctx: Pick<GatewayContext, "prices" | "clock">,
  { target: { provider, family }, headers }: GatewayRequest,
  request: ModelRequest,
  body: Uint8Array,
): string | undefined {
  const { model, maxOutputTokens, outputField } = request;
  return request.unboundedBecause() ?? openBeta(family, headers) ?? openName(body) ??
    (maxOutputTokens === undefined ? `this one sets no output limit (${outputField})` : undefined) ??
    unboundedModel({ provider, model }) ?? unpricedService(ctx, provider, request);
}

/** Returns why a request has no bound of which the provider may read another value than the one that was bounded. */
function openName(body: Uint8Array): string | undefined {
  const repeated = findRepeatedName(body);
  return repeated === undefined
    ? undefined
    : `it has "${repeated.slice(0, 80)}" twice, of which the provider might take the other one`;
}

/** Returns why the cost of a request has no bound that asks for a tier, a speed or a region without known prices. */
function unpricedService(
  { prices, clock }: Pick<GatewayContext, "prices" | "clock">,
  provider: string,
  { model, asks }: ModelRequest,
): string | undefined {
  const query = prices.located({ provider, model, at: clock.now(), ...asks });
  const unknown = prices.rates(query)?.unknown;
  return unknown?.length ? `no price is known for the ${unknown.join(" and ")} that it asks for` : undefined;
}
