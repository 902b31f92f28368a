import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4FinishReason,
  LanguageModelV4GenerateResult,
  LanguageModelV4StreamResult,
} from "@ai-sdk/provider";
import type { BookingContext } from "../../booking/mod.ts";
import { type Budget, budgetExceeded, type Grant } from "../../budgets/mod.ts";
import { messageOf, PurserError } from "../../kernel/errors.ts";
import { type ModelCall, toCostEvent } from "../../ledger/mod.ts";
import { type Usage, usageFromAiSdk, usageOf } from "../../pricing/mod.ts";
import { type Span, traceCall } from "../../telemetry/mod.ts";
import { type Answer, answerOf, emptyAnswer, textOf } from "../answer.ts";
import { callBounds, estimateInputTokens, estimateOutputTokens } from "./call_bounds.ts";
import { abortable } from "../abortable.ts";
import { meterStream, NO_ANSWER, serviceTierOf } from "./meter_stream.ts";
import { overshotBudget } from "./overshoot.ts";

/** Whose calls a metered model makes, and what becomes of them. */
export interface Metering {
  /** The names under which calls are priced and booked. */
  provider: string;
  modelId: string;
  agentId: string;
  sessionId: string | null;
  runId: string;
  budget: Budget | null;
  /** Whether the calls are those of one loop, which tells the gate when it ends. */
  isLoop?: boolean;
  /** Books a call that was made; resolves when it is durable. */
  book(call: ModelCall, answer: Answer, grant: Grant | undefined): Promise<void>;
  /** A call failed without having cost anything that is known. */
  failed?(error: unknown, startedAt: number): void;
  /** What the run's previous call cost, as the guess at its next. */
  lastCostNanoUsd?(): bigint | null;
  /** A strict call was reported to have used more than its bound. */
  overshot?(call: ModelCall, reservedNanoUsd: bigint): void;
  /** Whether that has happened: the run's strict budget can't be kept, so no further call is made. */
  hasOvershot?(): boolean;
  /** The number of the next step that is booked. */
  nextStep(): number;
  /** The span of the run; without it, calls are told beneath whatever is being worked on. */
  span?: Span;
}

/**
 * Wraps a model so that every call passes the budget before it is made and is in the ledger before its
 * answer goes on. Each retry of the AI SDK is a call of its own here.
 */
export function meterModel(ctx: BookingContext, model: LanguageModelV4, metering: Metering): LanguageModelV4 {
  return {
    specificationVersion: "v4",
    provider: model.provider,
    modelId: model.modelId,
    get supportedUrls() {
      return model.supportedUrls;
    },
    async doGenerate(options) {
      const call = await admit(ctx, metering, options, { isStreamed: false });
      let result: LanguageModelV4GenerateResult;
      try {
        result = await call.run(() => model.doGenerate(call.options));
      } catch (error) {
        await settleUnanswered(call, options, error);
        throw error;
      }
      const read = readResult(model, result);
      if (read === undefined) {
        const error = new Error(NO_ANSWER);
        await call.fail(error);
        throw error;
      }
      await call.book(read.answer, read.report);
      return result;
    },
    async doStream(options) {
      const call = await admit(ctx, metering, options, { isStreamed: true });
      let result: LanguageModelV4StreamResult;
      try {
        // Raw chunks carry counts that the SDK would only give at the end of a stream that may never come.
        result = await call.run(() => openStream(model, { ...call.options, includeRawChunks: true }));
      } catch (error) {
        await settleUnanswered(call, options, error);
        throw error;
      }
      return {
        ...result,
        stream: meterStream(result.stream, call, model.provider, options.includeRawChunks === true),
      };
    },
  };
}

/** Once it is cancelled, a stream is not waited for: the model may not heed its signal. */
async function openStream(
  model: LanguageModelV4,
  options: LanguageModelV4CallOptions,
): Promise<LanguageModelV4StreamResult> {
  const opening = Promise.resolve(model.doStream(options));
  if (!options.abortSignal) return await opening;
  try {
    return await abortable(opening, options.abortSignal);
  } catch (error) {
    opening.then(({ stream }) => stream.cancel(error), () => {}).catch(() => {});
    throw error;
  }
}

/** Cancelled after it was sent: the provider has read the prompt, and will charge for it. Else it has failed. */
async function settleUnanswered(
  call: AdmittedCall,
  { abortSignal }: LanguageModelV4CallOptions,
  error: unknown,
): Promise<void> {
  if (abortSignal?.aborted) await call.book(emptyAnswer(), { counted: undefined, errorType: CANCELLED });
  else await call.fail(error);
}

/** What a model gave, or undefined where that is no answer: a model of a library user may give anything. */
function readResult(
  model: LanguageModelV4,
  result: LanguageModelV4GenerateResult,
): { answer: Answer; report: UsageReport } | undefined {
  try {
    const counted = usageFromAiSdk(model.provider, result.usage);
    if (counted === undefined && result.content.length === 0 && isUnfinished(result.finishReason)) {
      return undefined;
    }
    const body = { body: result.response?.body };
    const serviceTier = serviceTierOf(result.providerMetadata) ?? serviceTierOf(body);
    const { id: responseId, modelId: responseModel } = result.response ?? {};
    return {
      answer: answerOf(result.content, result.finishReason),
      report: { counted, serviceTier, responseId, responseModel },
    };
  } catch {
    return undefined;
  }
}

/** One call that the budget has let through. */
export interface AdmittedCall {
  options: LanguageModelV4CallOptions;
  /** Makes the call, whose own requests are told beneath it. */
  run<T>(work: () => T): T;
  fail(error: unknown): Promise<void>;
  book(answer: Answer, report: UsageReport): Promise<void>;
}

/** Why an answer is not whole that nobody waited for any more. */
export const CANCELLED = "cancelled";

/** What a provider has said of a call's usage, and of its answer beside the answer. */
export interface UsageReport {
  /** Its last word. */
  counted: Usage | undefined;
  /** What had come before a stream broke. */
  partial?: Usage;
  serviceTier?: string;
  responseId?: string;
  responseModel?: string;
  /** Why there was no whole answer, for telemetry. */
  errorType?: string;
}

async function admit(
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
  const place = { agentId, sessionId, runId, provider, model: modelId, parent };
  const trace = traceCall(ctx.telemetry, { ...place, isStreamed, settings: options });
  return {
    options,
    run: trace.run,
    async fail(error) {
      trace.failed(error);
      if (grant) await ctx.gate.release(grant);
      metering.failed?.(error, at);
    },
    async book(answer, { counted, partial, serviceTier, ...response }) {
      const usage = counted ?? guess(options, answer, partial);
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
        // The money is spent: what the ledger could not take has to be findable somewhere.
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

/** What is known of a call whose count never arrived, the rest guessed from its text. */
function guess(options: LanguageModelV4CallOptions, answer: Answer, known: Usage | undefined): Usage {
  const outputTokens = Math.max(known?.outputTokens ?? 0, estimateOutputTokens(textOf(answer)));
  if (known && known.inputTokens > 0) return { ...known, outputTokens };
  return usageOf({ inputTokens: estimateInputTokens(options), outputTokens });
}

/** Whether the provider never said that its answer had ended: it broke off, or was none. */
function isUnfinished({ unified, raw }: LanguageModelV4FinishReason): boolean {
  return unified === "interrupted" || (unified === "other" && raw === undefined);
}
