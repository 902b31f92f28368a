import { findRunBudget } from "../agents/mod.ts";
import {
  type CallRequest,
  type CallTerms,
  findOvershoots,
  type InputBound,
  recordOvershoot,
} from "../calls/mod.ts";
import type { CallScopes, Refusal } from "../budgets/mod.ts";
import type { Billing } from "../contract/values.ts";
import type { NanoUsd } from "../kernel/money.ts";
import { readRootsOfRuns } from "../sessions/mod.ts";
import { callScopes, type ModelCall, type Viewer } from "../ledger/mod.ts";
import type { GatewayContext, GatewayRequest } from "./context.ts";
import { openBeta } from "./wires/beta_headers.ts";
import { findRepeatedName } from "./wires/repeated_names.ts";
import type { ModelRequest } from "./wires/wire.ts";

/** Tokens that providers add around a request: role markers, the schema preamble, the tool-use system prompt. */
const TOKENS_AROUND_A_CALL = 1_024;

/** The attribution of the gateway's calls, and what they do beside the booking. */
export async function termsOf(
  ctx: GatewayContext,
  request: GatewayRequest,
  billing: Billing,
): Promise<CallTerms> {
  const { attribution, caller: { viewer } } = request;
  const { runId, agentId } = attribution;
  if (runId === null) {
    return new GatewayTerms(ctx, request, { ...callScopes(attribution, viewer), budget: null }, billing);
  }
  const [budget, roots] = await Promise.all([findRunBudget(ctx, agentId), readRootsOfRuns(ctx, [runId])]);
  const scopes = { ...callScopes(attribution, viewer, roots.get(runId)), budget };
  return new GatewayTerms(ctx, request, scopes, billing);
}

class GatewayTerms implements CallTerms {
  readonly source = "gateway";
  readonly tags: CallTerms["tags"];
  readonly viewer: Viewer;

  constructor(
    private readonly ctx: GatewayContext,
    { caller, attribution }: GatewayRequest,
    readonly scopes: CallScopes,
    readonly billing: Billing,
  ) {
    this.tags = attribution.tags;
    this.viewer = caller.viewer;
  }

  lastCostNanoUsd(): NanoUsd | null {
    const { sessionId } = this.scopes;
    return sessionId === null ? null : this.ctx.gateway.lastCosts.get(sessionId) ?? null;
  }

  // Clients name sessions and runs themselves: it is the key that is stopped.
  findOvershoots(at: number): Promise<readonly Refusal[]> {
    return findOvershoots(this.ctx, { scopes: this.scopes, at });
  }

  overshot({ at }: ModelCall): Promise<void> {
    return recordOvershoot(this.ctx, { scopes: this.scopes, at });
  }
}

/** A request as `openCall()` takes it. The gateway changes nothing of it: a too large output limit is refused, and the error names one that fits. */
export class GatewayCall implements CallRequest {
  readonly provider: string;
  readonly model: string;
  readonly asks: CallRequest["asks"];
  readonly isStreamed: boolean;
  readonly maxOutputTokens: number | undefined;
  readonly canShorten = false;
  readonly isSentHere = true;
  readonly settings: CallRequest["settings"];
  /** Set when it is sent. */
  paidWith: CallRequest["paidWith"];

  constructor(
    private readonly gatewayRequest: GatewayRequest,
    private readonly request: ModelRequest,
    private readonly size: { body: Uint8Array; inputBytes: number },
    readonly fallbacks: () => readonly string[],
  ) {
    this.provider = gatewayRequest.target.provider;
    this.model = request.model;
    this.asks = request.asks;
    this.isStreamed = request.isStreamed;
    this.maxOutputTokens = request.maxOutputTokens;
    this.settings = { maxOutputTokens: request.maxOutputTokens };
  }

  estimateBytes(): number {
    return this.size.inputBytes;
  }

  inputBytes(): number {
    return this.size.inputBytes;
  }

  // Tokenizers are byte-level: a token covers at least one byte of the request.
  boundInput(): InputBound {
    const { body } = this.size;
    const because = unboundedBecause(this.gatewayRequest, this.request, body);
    return because === undefined
      ? { max: body.length + TOKENS_AROUND_A_CALL }
      : { unboundedBecause: because };
  }

  get signal(): AbortSignal | undefined {
    return this.gatewayRequest.signal;
  }
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

/** Returns the reason that a request with a repeated name has no bound: the provider may read the other value. */
function openName(body: Uint8Array): string | undefined {
  const repeated = findRepeatedName(body);
  return repeated === undefined
    ? undefined
    : `it has "${repeated.slice(0, 80)}" twice, of which the provider might take the other one`;
}
