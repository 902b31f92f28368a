import { Buffer } from "node:buffer";
import type { LanguageModelV4CallOptions } from "@ai-sdk/provider";
import type { Tags } from "../../contract/tags/tags.ts";
import {
  type AdmittedTerms,
  type CallContext,
  CANCELLED,
  logRefusal,
  overshotBudget,
  pricesNow,
  refusedCall,
  requireLedger,
  sendAdmitted,
  settleUsage,
  type UsageReport,
  usageText,
} from "../../calls/mod.ts";
import type { Budget, Grant, RunAbove } from "../../budgets/mod.ts";
import { type BudgetExceededError, PurserError } from "../../kernel/errors.ts";
import type { ModelCall } from "../../ledger/mod.ts";
import { type Span, traceCall } from "../../telemetry/mod.ts";
import { type Answer, textOf } from "../answer.ts";
import type { Log } from "../../kernel/log.ts";
import { formatUsd } from "../../kernel/money.ts";
import { callBounds, inputBytesOf, type PromptCounter } from "./call_bounds.ts";
import type { Secrets } from "../../redaction/values/mod.ts";
import { modelErrorText, redactSecrets } from "../models/model_error.ts";

/** The attribution, budget and booking of a metered model's calls. */
export interface Metering {
  /** The names under which calls are priced and booked. */
  provider: string;
  modelId: string;
  agentId: string;
  sessionId: string | null;
  runId: string;
  /** The API key of the caller. */
  keyId?: string;
  /** The only agent whose amounts the caller may see. */
  onlyAgentId?: string;
  /** The budget of the run itself; others count its calls too. */
  budget: Budget | null;
  /** The runs above it. */
  above?: readonly RunAbove[];
  tags?: Tags;
  /** True for the loop of a run, whose next call follows the booking of the previous one. */
  isLoop?: boolean;
  /** Counts the prompts of a loop; without it, each is counted whole. */
  prompts?: PromptCounter;
  /** Books a call that was made, or spools it; resolves when it is durable. */
  book(call: ModelCall, answer: Answer, grant: Grant | undefined): Promise<void>;
  /** Called when a call has failed, whether it is booked or not. */
  failed?(error: unknown, startedAt: number): void;
  /** Returns the cost of the run's previous call: the next one is estimated no lower. */
  lastCostNanoUsd?(): bigint | null;
  /** Called when a budget has refused a call; without it, the refusal is logged by itself. */
  refused?(error: BudgetExceededError): void;
  /** Called when the provider has reported more usage than the bound of a strict call. */
  overshot?(call: ModelCall, reservedNanoUsd: bigint): void;
  /**
   * Returns true once that has happened, or a call was partly priced: the strict budget can't be kept, so no further call is made.
   */
  hasOvershot?(): boolean | Promise<boolean>;
  /** Returns the number of the next step to book. */
  nextStep(): number;
  /** The parent span; default: the active one. */
  span?: Span;
}

/** A call that the budget has admitted, and that is sent now: make it with `run()`, then end it with `book()` or `fail()`. */
export interface AdmittedCall {
  options: LanguageModelV4CallOptions;
  /** Makes the call inside its span. */
  run<T>(work: () => T): T;
  /** Ends a call without a cost: frees its reservation, unless `isHeld` by a strict budget, since it was sent in part. */
  fail(error: unknown, options?: { isHeld?: boolean }): Promise<void>;
  /**
   * Books a call that was made; resolves when it is durable. The answer continues to the caller only then. If the process
   * dies between the provider's answer and this commit, the call is not in the ledger: see `recoverRuns()` in
   * sessions/recover_runs.ts. If the commit fails, the call waits in the spool: see `keepCall()` in calls/keep_call.ts.
   */
  book(answer: Answer, report: UsageReport): Promise<void>;
}

/**
 * Admits one call and sends it: the budget gate decides (`decideCall()` in budgets/decide_call.ts) and reserves its cost. See
 * `sendAdmitted()`.
 *
 * @throws {BudgetExceededError} the budget refuses the call; nothing was sent
 * @throws {PurserError} `unavailable` while the ledger is known to take no writes
 */
export async function admitCall<T>(
  ctx: CallContext,
  metering: Metering,
  options: LanguageModelV4CallOptions,
  { isStreamed, send }: { isStreamed: boolean; send: (call: AdmittedCall) => Promise<T> },
): Promise<T> {
  options.abortSignal?.throwIfAborted();
  await requireLedger(ctx);
  ctx.callSpool.prepare();
  return await sendAdmitted(
    ctx,
    { provider: metering.provider, model: metering.modelId },
    () => reserveCall(ctx, metering, options),
    (terms) => {
      const { grant } = terms;
      const limited = grant?.outputLimit === undefined
        ? options
        : { ...options, maxOutputTokens: grant.outputLimit };
      return send(beginCall(ctx, metering, limited, { isStreamed, terms }));
    },
  );
}

function beginCall(
  ctx: CallContext,
  metering: Metering,
  options: LanguageModelV4CallOptions,
  { isStreamed, terms: { at, grant, prices } }: { isStreamed: boolean; terms: AdmittedTerms },
): AdmittedCall {
  const { provider, modelId } = metering;
  const startedAt = ctx.clock.monotonic();
  const { agentId, sessionId, runId, span: parent } = metering;
  const facts = { agentId, sessionId, runId, provider, model: modelId, parent };
  const trace = traceCall(ctx.telemetry, { ...facts, isStreamed, settings: options });
  return {
    options,
    run: trace.run,
    async fail(error, { isHeld = false } = {}) {
      ctx.secrets.scrubError(error);
      trace.failed(error);
      if (grant) await (isHeld ? ctx.gate.hold(grant) : ctx.gate.release(grant));
      metering.failed?.(error, at);
    },
    async book(answer, report) {
      const { served = {}, responseId, responseModel, errorType, failure, brokenBy } = report;
      for (const error of [failure, brokenBy]) ctx.secrets.scrubError(error);
      const { model = modelId } = served;
      const query = prices.located({ ...served, provider, model, at });
      const { serviceTier, speed, inferenceGeo } = query;
      const { usage, price, estimatedBecause } = settleUsage(
        report,
        {
          inputBytes: () => inputBytesOf(options),
          outputBytes: () => Buffer.byteLength(textOf(answer)),
          maxOutputTokens: options.maxOutputTokens,
        },
        (usage, statement) => prices.price({ ...query, usage, statement }),
      );
      const call: ModelCall = {
        callId: ctx.ids.next("call"),
        at,
        agentId: metering.agentId,
        sessionId: metering.sessionId,
        runId,
        step: metering.nextStep(),
        tools: answer.tool_calls.map((toolCall) => toolCall.tool_name),
        provider,
        model,
        usage,
        ...price,
        durationMs: ctx.clock.monotonic() - startedAt,
        isEstimated: estimatedBecause !== undefined,
        source: metering.isLoop ? "run" : "meter",
        serviceTier: serviceTier ?? null,
        ...(speed && { speed }),
        ...(inferenceGeo && { inferenceGeo }),
        responseId: responseId ?? null,
        ...(metering.keyId && { keyId: metering.keyId }),
        ...(metering.tags && Object.keys(metering.tags).length > 0 && { tags: metering.tags }),
      };
      if (estimatedBecause !== undefined) warnOfEstimate(ctx, call, report, estimatedBecause);
      if (failure !== undefined) metering.failed?.(failure, at);
      if (grant?.isStrict) {
        const boundNanoUsd = grant.amounts.worstNanoUsd!;
        const unused = boundNanoUsd - (call.costNanoUsd ?? 0n);
        if (unused < 0n || call.unpricedParts) metering.overshot?.(call, boundNanoUsd);
        else if (call.isEstimated) grant.lostNanoUsd = unused;
      }
      try {
        await metering.book(call, answer, grant);
      } catch (error) {
        trace.failed(error);
        if (error instanceof PurserError) throw error;
        throw new PurserError("internal", "Cannot book a model call that was made", { cause: error });
      }
      trace.booked(call, { responseId, responseModel, errorType, finishReason: answer.finish_reason });
    },
  };
}

/** Reserves the cost of a call, or throws. */
async function reserveCall(
  ctx: CallContext,
  metering: Metering,
  options: LanguageModelV4CallOptions,
): Promise<AdmittedTerms> {
  const prices = pricesNow(ctx);
  const { provider, modelId: model, agentId, sessionId, runId, budget } = metering;
  const scopes = { agentId, sessionId, runId, keyId: metering.keyId ?? null, budget, above: metering.above };
  const refused = { scopes, provider, model, onlyAgentId: metering.onlyAgentId };
  if (await metering.hasOvershot?.()) throw await overshotBudget(ctx, refused);
  let because: string | undefined;
  const admission = await ctx.gate.admit({
    ...scopes,
    bound(at, withWorst) {
      const lastCostNanoUsd = metering.lastCostNanoUsd?.() ?? null;
      const bounds = callBounds(prices, prices.located({ provider, model, at }), options, {
        withWorst,
        lastCostNanoUsd,
        counter: metering.prompts,
      });
      const input = bounds.worst && "inputTokens" in bounds.worst ? bounds.worst.inputTokens : undefined;
      because = input && "unboundedBecause" in input ? input.unboundedBecause : undefined;
      return bounds;
    },
    signal: options.abortSignal,
    hasNext: metering.isLoop,
  });
  if (admission.go) return { ...admission, prices };
  const error = await refusedCall(ctx, refused, { refusals: admission.refusals, because });
  if (!metering.refused) await logRefusal(ctx, scopes, error);
  else if (error.details.refused_by) metering.refused(error);
  throw error;
}

/** Logs a strict call that cost more than its bound, and returns the payload for the event log. */
export function warnOfOvershoot(
  { log }: { log: Log },
  call: ModelCall,
  reservedNanoUsd: bigint,
): Record<string, unknown> {
  const payload = {
    call_id: call.callId,
    bound_usd: formatUsd(reservedNanoUsd),
    cost_usd: formatUsd(call.costNanoUsd ?? 0n),
    ...(call.unpricedParts && { unpriced_parts: call.unpricedParts }),
  };
  log.warn(
    call.unpricedParts
      ? "A part of a strict call has no known price, so that its cost has no bound"
      : "A provider reported more than a strict call was bounded to",
    payload,
  );
  return payload;
}

/**
 * Logs a call that is booked as an estimate, with the reason and the usage as the provider has sent it. Not for a call that its
 * caller has cancelled, whose usage isn't expected.
 */
function warnOfEstimate(
  { log, secrets }: { log: Log; secrets: Pick<Secrets, "scrub"> },
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
