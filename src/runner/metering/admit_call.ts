import type { LanguageModelV4CallOptions } from "@ai-sdk/provider";
import type { BookingContext } from "../../booking/mod.ts";
import { type Budget, budgetExceeded, type Grant } from "../../budgets/mod.ts";
import { BudgetExceededError, messageOf, PurserError } from "../../kernel/errors.ts";
import { type ModelCall, toCostEvent } from "../../ledger/mod.ts";
import { type Span, traceCall } from "../../telemetry/mod.ts";
import type { Answer } from "../answer.ts";
import type { Log } from "../../kernel/log.ts";
import { formatUsd, type NanoUsd, toUsd } from "../../kernel/money.ts";
import type { PriceBook } from "../../pricing/mod.ts";
import { callBounds, isCovered, type PromptCounter } from "./call_bounds.ts";
import { settleUsage, type UsageReport } from "./settle_usage.ts";
import { warnOfEstimate } from "./settle_usage.ts";

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
  /** Counts the prompts of a loop for a strict budget; without it, each is counted whole. */
  prompts?: PromptCounter;
  /** Books a call that was made; resolves when it is durable. */
  book(call: ModelCall, answer: Answer, grant: Grant | undefined): Promise<void>;
  /** Called when a call has failed, whether it is booked or not. */
  failed?(error: unknown, startedAt: number): void;
  /** Returns the cost of the run's previous call, as the estimate of the next. */
  lastCostNanoUsd?(): bigint | null;
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
  // Bounded and billed by one book, so that an update of the prices meanwhile breaks no bound.
  const prices = ctx.prices.current?.() ?? ctx.prices;
  let grant: Grant | undefined;
  let at = ctx.clock.now();
  if (budget) {
    ({ grant, at } = await reserveCall(ctx, prices, metering, budget, options, at));
    if (grant.outputLimit !== undefined) options = { ...options, maxOutputTokens: grant.outputLimit };
  }
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
    async book(answer, report) {
      const { served = {}, responseId, responseModel, errorType, failure } = report;
      const { serviceTier, speed, inferenceGeo } = served;
      const query = { provider, model: modelId, at, serviceTier, speed, inferenceGeo };
      const { usage, price, estimatedBecause } = settleUsage(
        report,
        answer,
        options,
        (usage, statedNanoUsd) => prices.price({ ...query, usage, statedNanoUsd }),
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
        model: modelId,
        usage,
        ...price,
        durationMs: ctx.clock.monotonic() - startedAt,
        isEstimated: estimatedBecause !== undefined,
        source: metering.isLoop ? "run" : "meter",
        serviceTier: serviceTier ?? null,
        ...(speed && { speed }),
        ...(inferenceGeo && { inferenceGeo }),
        responseId: responseId ?? null,
      };
      if (estimatedBecause !== undefined) warnOfEstimate(ctx, call, report, estimatedBecause);
      if (failure !== undefined) metering.failed?.(failure, at);
      if (grant && budget?.mode === "strict") {
        const unused = grant.reservedNanoUsd - (call.costNanoUsd ?? 0n);
        if (unused < 0n || call.unpricedParts) metering.overshot?.(call, grant.reservedNanoUsd);
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
      trace.booked(call, { responseId, responseModel, errorType, finishReason: answer.finish_reason });
    },
  };
}

/**
 * Reserves the cost of a call, or throws. A strict call may have waited for room while its price rose: it is sent, and priced,
 * at a time for whose prices the reservation suffices.
 */
async function reserveCall(
  ctx: BookingContext,
  prices: PriceBook,
  metering: Metering,
  budget: Budget,
  options: LanguageModelV4CallOptions,
  at: number,
): Promise<{ grant: Grant; at: number }> {
  const { provider, modelId: model, runId } = metering;
  for (;;) {
    const call = callBounds(
      prices,
      { provider, model, at },
      budget,
      options,
      metering.lastCostNanoUsd?.() ?? null,
      metering.prompts,
    );
    const hasOvershot = await metering.hasOvershot?.() ?? false;
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
    const { grant } = admission;
    const boundAt = at;
    at = ctx.clock.now();
    if (budget.mode === "stop" || at === boundAt) return { grant, at };
    if (isCovered(prices, { provider, model, at }, budget, call, grant)) return { grant, at };
    await ctx.gate.release(grant);
  }
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

/** Returns the error for the next call after an overshoot: the bound that the budget relied on was wrong. */
function overshotBudget(
  runId: string,
  budget: Budget,
  settledNanoUsd: NanoUsd,
): BudgetExceededError {
  return new BudgetExceededError(
    `Cannot make the next model call of run ${runId}: a call cost more than its bound, or has a part without a known price, so that its strict ` +
      `budget of $${formatUsd(budget.limitNanoUsd)} can't be kept; it has cost $${formatUsd(settledNanoUsd)}`,
    { cost_usd_so_far: toUsd(settledNanoUsd), budget_usd: toUsd(budget.limitNanoUsd) },
  );
}
