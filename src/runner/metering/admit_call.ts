import type { LanguageModelV4CallOptions } from "@ai-sdk/provider";
import type { BookingContext } from "../../booking/mod.ts";
import { type Budget, budgetExceeded, type Grant } from "../../budgets/mod.ts";
import { messageOf, PurserError } from "../../kernel/errors.ts";
import { type ModelCall, toCostEvent } from "../../ledger/mod.ts";
import { type Usage, usageOf } from "../../pricing/mod.ts";
import { type Span, traceCall } from "../../telemetry/mod.ts";
import { type Answer, textOf } from "../answer.ts";
import { callBounds, estimateInputTokens, estimateOutputTokens } from "./call_bounds.ts";
import { overshotBudget } from "./overshoot.ts";

/** The attribution, budget and booking of a metered model's calls. */
export interface Metering {
  /** The names under which calls are priced and booked. */
  provider: string;
  modelId: string;
  agentId: string;
  sessionId: string | null;
  runId: string;
  budget: Budget | null;
  /** True for the loop of a run, whose next call follows the booking of the previous one. */
  isLoop?: boolean;
  /** Books a call that was made; resolves when it is durable. */
  book(call: ModelCall, answer: Answer, grant: Grant | undefined): Promise<void>;
  /** Called when a call has failed without a known cost. */
  failed?(error: unknown, startedAt: number): void;
  /** Returns the cost of the run's previous call, as the estimate of the next. */
  lastCostNanoUsd?(): bigint | null;
  /** Called when the provider has reported more usage than the bound of a strict call. */
  overshot?(call: ModelCall, reservedNanoUsd: bigint): void;
  /** Returns true once that has happened: the strict budget can't be kept, so no further call is made. */
  hasOvershot?(): boolean;
  /** Returns the number of the next step to book. */
  nextStep(): number;
  /** The parent span; default: the active one. */
  span?: Span;
}

/** A call that the budget has admitted: make it with `run()`, then end it with `book()` or `fail()`. */
export interface AdmittedCall {
  options: LanguageModelV4CallOptions;
  /** Makes the call inside its span. */
  run<T>(work: () => T): T;
  /** Ends a call without a known cost: frees its reservation. */
  fail(error: unknown): Promise<void>;
  /**
   * Books a call that was made; resolves when it is durable. The answer continues to the caller only then. If the process
   * dies between the provider's answer and this commit, the call is not in the ledger: see `recoverRuns()` in
   * sessions/recover_runs.ts. If the commit fails, the call is logged whole.
   */
  book(answer: Answer, report: UsageReport): Promise<void>;
}

/** The error type of an answer whose caller has cancelled the call. */
export const CANCELLED = "cancelled";

/** The usage and the metadata that a provider has reported with an answer. */
export interface UsageReport {
  /** The final counts; undefined if they never arrived. */
  counted: Usage | undefined;
  /** The counts that had arrived before a stream broke off. */
  partial?: Usage;
  serviceTier?: string;
  responseId?: string;
  responseModel?: string;
  /** Set for an incomplete answer, for telemetry. */
  errorType?: string;
}

/**
 * Admits one call: the budget gate decides (`decideCall()` in budgets/decide_call.ts) and reserves its cost.
 *
 * @throws {BudgetExceededError} the budget refuses the call; nothing was sent
 */
export async function admitCall(
  ctx: BookingContext,
  metering: Metering,
  options: LanguageModelV4CallOptions,
  { isStreamed }: { isStreamed: boolean },
): Promise<AdmittedCall> {
  const { provider, modelId, runId, budget } = metering;
  options.abortSignal?.throwIfAborted();
  let grant: Grant | undefined;
  if (budget) {
    const query = { provider, model: modelId, at: ctx.clock.now() };
    const call = callBounds(ctx.prices, query, budget, options, metering.lastCostNanoUsd?.() ?? null);
    const hasOvershot = metering.hasOvershot?.() ?? false;
    const admission = await ctx.gate.admit({
      runId,
      budget: hasOvershot ? { ...budget, limitNanoUsd: 0n } : budget,
      call,
      signal: options.abortSignal,
      hasNext: metering.isLoop,
    });
    if (!admission.go && hasOvershot) throw overshotBudget(runId, budget, admission.settledNanoUsd);
    if (!admission.go) {
      const because = "unboundedBecause" in call.inputTokens ? call.inputTokens.unboundedBecause : undefined;
      throw budgetExceeded(runId, budget, { ...admission, because });
    }
    grant = admission.grant;
    if (grant.outputLimit !== undefined) options = { ...options, maxOutputTokens: grant.outputLimit };
  }
  const at = ctx.clock.now();
  const startedAt = ctx.clock.monotonic();
  const { agentId, sessionId, span: parent } = metering;
  const facts = { agentId, sessionId, runId, provider, model: modelId, parent };
  const trace = traceCall(ctx.telemetry, { ...facts, isStreamed, settings: options });
  return {
    options,
    run: trace.run,
    async fail(error) {
      trace.failed(error);
      if (grant) await ctx.gate.release(grant);
      metering.failed?.(error, at);
    },
    async book(answer, { counted, partial, serviceTier, ...response }) {
      const usage = counted ?? estimateUsage(options, answer, partial);
      const price = ctx.prices.price({ provider, model: modelId, at, usage, serviceTier });
      const call: ModelCall = {
        callId: ctx.ids.next("call"),
        at,
        agentId: metering.agentId,
        sessionId: metering.sessionId,
        runId,
        step: metering.nextStep(),
        tools: answer.tool_calls.map((toolCall) => toolCall.tool_name),
        provider,
        model: modelId,
        usage,
        ...price,
        durationMs: ctx.clock.monotonic() - startedAt,
        isEstimated: counted === undefined,
        source: metering.isLoop ? "run" : "meter",
        serviceTier: serviceTier ?? null,
        responseId: response.responseId ?? null,
      };
      if (grant && budget?.mode === "strict") {
        const unused = grant.reservedNanoUsd - (call.costNanoUsd ?? 0n);
        if (unused < 0n) metering.overshot?.(call, grant.reservedNanoUsd);
        else if (call.isEstimated) grant.lostNanoUsd = unused;
      }
      try {
        await metering.book(call, answer, grant);
      } catch (error) {
        trace.failed(error);
        if (grant) await ctx.gate.release(grant).catch(() => {});
        // The money is spent: a call that is not in the ledger must at least be in the log.
        ctx.log.error("A model call was made and could not be booked", {
          cost_event: toCostEvent(call),
          reason: messageOf(error),
        });
        if (error instanceof PurserError) throw error;
        throw new PurserError("internal", "Cannot book a model call that was made", { cause: error });
      }
      trace.booked(call, { ...response, finishReason: answer.finish_reason });
    },
  };
}

/** Completes the partial counts of a call with estimates from its text. */
function estimateUsage(options: LanguageModelV4CallOptions, answer: Answer, known: Usage | undefined): Usage {
  const outputTokens = Math.max(known?.outputTokens ?? 0, estimateOutputTokens(textOf(answer)));
  if (known && known.inputTokens > 0) return { ...known, outputTokens };
  return usageOf({ inputTokens: estimateInputTokens(options), outputTokens });
}
