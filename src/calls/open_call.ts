import type { CallBounds } from "../budgets/mod.ts";
import type { Grant } from "../budgets/reservations/mod.ts";
import { PurserError } from "../kernel/errors.ts";
import { formatUsd } from "../kernel/money.ts";
import type { ModelCall } from "../ledger/mod.ts";
import { type PriceBook, type PriceQuery, type Served, unboundedModel } from "../pricing/mod.ts";
import { errorTypeOf, traceCall } from "../telemetry/mod.ts";
import type { CallRequest, CallTerms, InputBound, OpenCall } from "./call_terms.ts";
import { chargeEvidence } from "./charge_evidence.ts";
import type { CallContext } from "./context.ts";
import { modelErrorText, redactSecrets } from "./error_text.ts";
import { estimateCost } from "./estimate_cost.ts";
import { bookMadeCall, requireLedger } from "./keep_call.ts";
import { makeCall, payByPlan } from "./make_call.ts";
import {
  logAsked,
  logCallEvent,
  overshotBudget,
  refusalEvent,
  type Refused,
  refusedCall,
} from "./refused_call.ts";
import { type AdmittedTerms, pricesNow, sendAdmitted } from "./send_admitted.ts";
import {
  type CallSize,
  CANCELLED,
  outcomeOf,
  settleUsage,
  type UsageReport,
  usageText,
} from "./settle_usage.ts";

/*
 * The life of a model call, which is the same for every caller: it is admitted by its budgets, sent at the price of that moment,
 * and booked once its answer is known; or ended by what its error says about a charge.
 */

/**
 * Admits a call and makes it: budgets decide (`decideCall()` in budgets/decide_call.ts) and reserve its cost, then `send` has to
 * send it in the same turn of the event loop. See `sendAdmitted()`.
 *
 * @throws {BudgetExceededError} a budget refuses the call; nothing was sent
 * @throws {PurserError} `unavailable` while the ledger is known to take no writes
 */
export async function openCall<T>(
  ctx: CallContext,
  terms: CallTerms,
  request: CallRequest,
  send: (call: OpenCall) => Promise<T>,
): Promise<T> {
  request.signal?.throwIfAborted();
  await requireLedger(ctx);
  return await sendAdmitted(
    ctx,
    request,
    () => reserve(ctx, terms, request),
    (admitted) => send(begin(ctx, terms, request, admitted)),
  );
}

/** Reserves the cost of a call, or throws. */
async function reserve(
  ctx: CallContext,
  terms: CallTerms,
  request: CallRequest,
): Promise<AdmittedTerms> {
  const { provider, model } = request;
  const { scopes, viewer } = terms;
  const prices = pricesNow(ctx);
  const refused: Refused = { scopes, provider, model, viewer };
  const { billing = "billed", source, tags } = terms;
  const subjects = { model, provider, source, billing, ...(tags && { tags }) };
  const { runId } = scopes;
  if (runId !== null && await terms.hasOvershot?.()) {
    throw await overshotBudget(ctx, { scopes: { ...scopes, runId } });
  }
  let because: string | undefined;
  // The last model that is bounded is the one that is refused.
  const boundOf = (model: string) => (at: number, withWorst: boolean) => {
    refused.model = model;
    const bounds = boundsOf(prices, at, terms, { request, model }, withWorst);
    because = bounds.because;
    return bounds;
  };
  const admission = await ctx.gate.admit({
    ...scopes,
    subjects,
    bound: boundOf(model),
    others: () =>
      request.fallbacks?.().map((other) => ({
        subjects: { ...subjects, model: other },
        bound: boundOf(other),
      })) ?? [],
    signal: request.signal,
    waitsLong: terms.source !== "gateway",
    asks: (refusals) => logAsked(ctx, scopes, refusals),
  });
  const refusals = admission.go
    ? admission.grant?.isStrict ? await terms.findOvershoots?.(ctx.clock.now()) ?? [] : []
    : admission.refusals;
  if (admission.go && refusals.length === 0) return { at: admission.at, grant: admission.grant, prices };
  if (admission.go) await ctx.gate.release(admission.grant!);
  const error = await refusedCall(ctx, refused, { refusals, because });
  if (!terms.addEvent) await logCallEvent(ctx, scopes, refusalEvent(error));
  else terms.addEvent(refusalEvent(error));
  throw error;
}

/** The output limit of a strict call whose caller sets none; every current model accepts it. */
const STRICT_OUTPUT_TOKENS = 4_096;

/**
 * Returns the amounts on which budgets decide about a call: its estimate, and with `withWorst` its bound. A bound takes time to
 * compute, and only strict budgets need it.
 */
function boundsOf(
  prices: PriceBook,
  at: number,
  terms: Pick<CallTerms, "lastCostNanoUsd">,
  { request, model }: { request: CallRequest; model: string },
  withWorst: boolean,
): CallBounds & { because?: string } {
  const { maxOutputTokens, canShorten } = request;
  const query = prices.located({ provider: request.provider, model, at, ...request.asks });
  const isUnpriced = prices.rates(query) === null;
  const estimateNanoUsd = isUnpriced ? 0n : estimateCost(prices, query, {
    inputBytes: request.estimateBytes(),
    maxOutputTokens,
    lastCostNanoUsd: terms.lastCostNanoUsd?.() ?? null,
  });
  if (!withWorst) return { estimateNanoUsd, isUnpriced };
  const inputTokens = boundInput(prices, query, request);
  // Without a bound on the input, the price tier is unknown.
  const isBounded = "max" in inputTokens;
  const rates = isBounded ? prices.worstCaseRates({ ...query, inputTokens: inputTokens.max }) : null;
  return {
    estimateNanoUsd,
    isUnpriced: isUnpriced || (isBounded && rates === null),
    worst: {
      inputTokens,
      outputTokens: maxOutputTokens ?? (canShorten ? STRICT_OUTPUT_TOKENS : 0),
      ...(!canShorten && { isFixed: true }),
      rates,
    },
    ...(!isBounded && { because: inputTokens.unboundedBecause }),
  };
}

function boundInput(prices: PriceBook, query: PriceQuery & Served, request: CallRequest): InputBound {
  const bound = request.boundInput();
  if (!("max" in bound)) return bound;
  const unknown = prices.rates(query)?.unknown;
  const because = unboundedModel(query) ??
    (unknown?.length ? `no price is known for the ${unknown.join(" and ")} that it asks for` : undefined);
  return because === undefined ? bound : { unboundedBecause: because };
}

function begin(
  ctx: CallContext,
  terms: CallTerms,
  request: CallRequest,
  { at, grant, prices }: AdmittedTerms,
): OpenCall {
  const { provider } = request;
  const { agentId, sessionId, runId } = terms.scopes;
  const id = ctx.ids.next("call");
  const startedAt = ctx.clock.monotonic();
  const trace = traceCall(ctx.telemetry, {
    agentId,
    sessionId,
    runId,
    provider,
    model: request.model,
    isStreamed: request.isStreamed,
    settings: grant?.outputLimit === undefined
      ? request.settings
      : { ...request.settings, maxOutputTokens: grant.outputLimit },
    parent: terms.parent,
  });
  const open: OpenCall = {
    id,
    at,
    outputLimit: grant?.outputLimit,
    run: trace.run,
    async settle(report, answer, book = (call, grant) => bookMadeCall(ctx, call, grant)) {
      const { served = {}, responseModel, failure, brokenBy, ids = {} } = report;
      const scrubbed = (id: string | undefined) => id === undefined ? undefined : ctx.secrets.scrub(id);
      const responseId = scrubbed(report.responseId);
      for (const error of [failure, brokenBy]) ctx.secrets.scrubError(error);
      const { model = request.model } = served;
      const asked = request.asks?.serviceTier;
      const query = prices.located({ ...served, provider, model, at });
      const size: CallSize = {
        ...answer,
        inputBytes: () => request.inputBytes(),
        maxOutputTokens: open.outputLimit ?? request.maxOutputTokens,
      };
      const { usage, price, estimatedBecause } = settleUsage(
        report,
        size,
        (usage, statement) => prices.price({ ...query, usage, statement }),
      );
      const call = makeCall(terms, {
        ...query,
        callId: id,
        usage,
        isEstimated: estimatedBecause !== undefined,
        step: terms.nextStep?.() ?? null,
        tools: answer.tools ?? [],
        durationMs: ctx.clock.monotonic() - startedAt,
        responseId,
        requestId: scrubbed(ids.requestId),
        // A provider may repeat a credential in any header.
        upstream: {
          ...request.paidWith,
          ...(ids.account && { account: scrubbed(ids.account) }),
          ...(ids.project && { project: scrubbed(ids.project) }),
        },
        ...(asked !== undefined && asked !== served.serviceTier && { requestedTier: asked }),
        ...outcomeOf(report),
      }, report.isPlan ? payByPlan(price) : price);
      if (estimatedBecause !== undefined) warnOfEstimate(ctx, call, report, estimatedBecause);
      if (failure !== undefined) addFailure(failure);
      const overshoot = grant?.isStrict ? keepBound(call, grant) : undefined;
      if (overshoot) {
        ctx.log.warn(overshoot.message, overshoot.payload);
        terms.addEvent?.({ type: "budget.overshot", payload: overshoot.payload });
      }
      try {
        await book(call, grant);
      } catch (error) {
        trace.failed(error);
        if (error instanceof PurserError) throw error;
        throw new PurserError("internal", "Cannot book a model call that was made", { cause: error });
      }
      const errorType = report.errorType ?? (brokenBy === undefined ? undefined : errorTypeOf(brokenBy));
      trace.booked(call, { responseId, responseModel, errorType, finishReason: answer.finishReason });
      if (overshoot) {
        const event = { type: "budget.overshot" as const, payload: overshoot.payload };
        if (!terms.addEvent) await logCallEvent(ctx, terms.scopes, event);
        await terms.overshot?.(call);
      }
      return call;
    },
    async fail(error, { report = { counted: undefined }, hasAnswered = false, book } = {}) {
      const isCancelled = request.signal?.aborted === true;
      const evidence = isCancelled && error === request.signal!.reason ? "possible" : chargeEvidence(error);
      // If an error says nothing about a charge, the call is booked only if it was cancelled or answered: a model may have failed
      // before it sent a request.
      const isCharged = evidence === "possible" || hasTokens(report) ||
        (evidence === "unknown" && (isCancelled || hasAnswered));
      if (isCharged) {
        const ended = isCancelled
          ? { ...report, errorType: CANCELLED }
          : { ...report, errorType: errorTypeOf(error), failure: error };
        const finishReason = isCancelled ? "unknown" : "error";
        return await open.settle(ended, { outputBytes: () => 0, finishReason }, book);
      }
      await end(error, evidence === "partial" || (evidence === "unknown" && request.isSentHere === true));
      return undefined;
    },
    refuse: (reason) => end(reason, false),
  };

  /** Ends the call without a cost: frees its reservation, unless `isHeld`. */
  async function end(error: unknown, isHeld: boolean): Promise<void> {
    ctx.secrets.scrubError(error);
    trace.failed(error);
    if (grant) await (isHeld ? ctx.gate.hold(grant) : ctx.gate.release(grant));
    addFailure(error);
  }

  function addFailure(error: unknown): void {
    if (!terms.addEvent) return;
    const payload = { step: terms.nextStep?.(), error: modelErrorText(error) };
    terms.addEvent({ type: "model.failed", payload }, at);
  }

  return open;
}

/** Returns true for usage that a provider charges. Gateways send zeros with a refusal. */
function hasTokens({ counted, partial }: UsageReport): boolean {
  const usage = counted ?? partial;
  return usage !== undefined && usage.inputTokens + usage.outputTokens > 0;
}

/**
 * Compares the cost of a strict call with its bound. Returns what to log if it has cost more, or if a part has no price, and so no
 * bound. For an estimate, the grant keeps the unused rest of the bound, since the call may have cost that too.
 */
function keepBound(
  call: ModelCall,
  grant: Grant,
): { message: string; payload: Record<string, unknown> } | undefined {
  const boundNanoUsd = grant.amounts.worstNanoUsd!;
  const unused = boundNanoUsd - (call.costNanoUsd ?? 0n);
  if (unused >= 0n && !call.unpricedParts) {
    if (call.isEstimated) grant.lostNanoUsd = unused;
    return undefined;
  }
  return {
    message: call.unpricedParts
      ? "A part of a strict call has no known price, so its cost has no bound"
      : "A strict call has cost more than its bound",
    payload: {
      call_id: call.callId,
      bound_usd: formatUsd(boundNanoUsd),
      cost_usd: formatUsd(call.costNanoUsd ?? 0n),
      ...(call.unpricedParts && { unpriced_parts: call.unpricedParts }),
    },
  };
}

/**
 * Warns of a call that is booked as an estimate, with the reason and the usage as the provider has sent it; but not of one that
 * its caller has cancelled, of which no usage is expected.
 */
function warnOfEstimate(
  { log, secrets }: Pick<CallContext, "log" | "secrets">,
  call: ModelCall,
  { counted, raw, errorType, failure, brokenBy }: UsageReport,
  because: string,
): void {
  if (errorType === CANCELLED && !counted) return;
  const error = counted ? undefined : failure ?? brokenBy;
  const usage = raw ?? counted;
  log.warn("A model call is booked as an estimate", {
    call_id: call.callId,
    provider: call.provider,
    model: call.model,
    reason: error === undefined ? because : modelErrorText(error),
    ...(usage !== undefined &&
      { usage: usageText(usage, (text) => redactSecrets(secrets.scrub(text))) }),
  });
}
