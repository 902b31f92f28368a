import type { LanguageModelV4CallOptions } from "@ai-sdk/provider";
import type { BookingContext } from "../../booking/mod.ts";
import { type Budget, budgetExceeded, type CallBounds, type Grant } from "../../budgets/mod.ts";
import { BudgetExceededError, messageOf, PurserError } from "../../kernel/errors.ts";
import { type ModelCall, toCostEvent } from "../../ledger/mod.ts";
import { type PriceBook, type PriceQuery, type Served, type Usage, usageOf } from "../../pricing/mod.ts";
import { type Span, traceCall } from "../../telemetry/mod.ts";
import { type Answer, textOf } from "../answer.ts";
import type { Log } from "../../kernel/log.ts";
import { formatUsd, type NanoUsd, toUsd } from "../../kernel/money.ts";

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
  served?: Served;
  /** The cost that the provider states. */
  statedNanoUsd?: NanoUsd;
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
  // Bounded and billed by one book, so that an update of the prices meanwhile breaks no bound.
  const prices = ctx.prices.current?.() ?? ctx.prices;
  let grant: Grant | undefined;
  if (budget) {
    const query = { provider, model: modelId, at: ctx.clock.now() };
    const call = callBounds(prices, query, budget, options, metering.lastCostNanoUsd?.() ?? null);
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
    async book(answer, { counted, partial, served = {}, statedNanoUsd, ...response }) {
      const usage = counted ?? estimateUsage(options, answer, partial);
      const { serviceTier, speed, inferenceGeo } = served;
      const query = { provider, model: modelId, at, serviceTier, speed, inferenceGeo };
      const price = prices.price({ ...query, usage, statedNanoUsd });
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
        ...(speed && { speed }),
        ...(inferenceGeo && { inferenceGeo }),
        responseId: response.responseId ?? null,
      };
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

/**
 * Tokens that providers add around a message, a tool and a request: role markers, the schema preamble, the tool-use system
 * prompt (Anthropic's is the longest, about 350 tokens). Generous, since `strict` relies on them.
 */
const TOKENS_AROUND_A_PART = 16;
const TOKENS_AROUND_A_CALL = 1_024;

/** An upper bound of a call's input tokens, or the reason that there is none. */
export type InputBound = { max: number } | { unboundedBecause: string };

/** The parts of a call that become input tokens. */
type Input = Pick<
  LanguageModelV4CallOptions,
  "prompt" | "tools" | "toolChoice" | "responseFormat" | "stopSequences" | "providerOptions" | "reasoning"
>;

/**
 * The provider options that add no tokens beyond the output limit. All others may: cached content, an earlier answer, a
 * remote tool, a thinking budget on top of the limit.
 */
const HARMLESS_OPTIONS: Readonly<Record<string, ReadonlySet<string>>> = {
  openai: new Set([
    "store",
    "user",
    "safetyIdentifier",
    "metadata",
    "strictJsonSchema",
    "parallelToolCalls",
    "textVerbosity",
    "reasoningEffort",
  ]),
};

/**
 * Bounds the input of a call. Tokenizers of the providers are byte-level: a token covers at least one byte of UTF-8, so the
 * number of bytes sent to the provider, as JSON, is a bound. Not bounded are media, which are counted by dimensions or
 * duration, tools that the provider runs, and most provider options, which add input of their own.
 */
export function boundInput(options: Input): InputBound {
  const open = findOpenOption(options);
  if (open) return { unboundedBecause: open };
  let parts = 0;
  for (const message of options.prompt) {
    parts++;
    if (typeof message.content === "string") continue;
    for (const part of message.content) {
      parts++;
      if (part.type === "file" || part.type === "reasoning-file") {
        return { unboundedBecause: `its prompt holds a file (${part.mediaType})` };
      }
      if (part.type === "tool-result" && part.output.type === "content") {
        const media = part.output.value.find((item) => item.type !== "text");
        if (media) return { unboundedBecause: `a result of the tool ${part.toolName} holds more than text` };
      }
    }
  }
  for (const tool of options.tools ?? []) {
    parts++;
    if (tool.type !== "function") return { unboundedBecause: `the provider runs the tool ${tool.name}` };
  }
  return { max: byteLength(options) + parts * TOKENS_AROUND_A_PART + TOKENS_AROUND_A_CALL };
}

function findOpenOption({ providerOptions = {}, reasoning = "none" }: Input): string | undefined {
  if (reasoning !== "none" && reasoning !== "provider-default") {
    return "a reasoning effort may come on top of its output limit";
  }
  for (const [provider, options] of Object.entries(providerOptions)) {
    const name = Object.keys(options).find((key) => !HARMLESS_OPTIONS[provider]?.has(key));
    if (name !== undefined) return `the provider option ${provider}.${name} may add tokens`;
  }
  return undefined;
}

/** Estimates the input tokens of a call without a count of the provider: four bytes per token. */
function estimateInputTokens(options: Input): number {
  return Math.ceil(byteLength(options) / 4);
}

/** Estimates output tokens: four bytes per token. */
function estimateOutputTokens(text: string): number {
  return Math.ceil(utf8Length(text) / 4);
}

function byteLength(options: Input): number {
  const { prompt, tools, toolChoice, responseFormat, stopSequences, providerOptions } = options;
  return utf8Length(
    JSON.stringify([prompt, tools, toolChoice, responseFormat, stopSequences, providerOptions]),
  );
}

function utf8Length(text: string): number {
  return new TextEncoder().encode(text).length;
}

/** The output limit of a strict call whose agent sets none; every current model accepts it. */
const STRICT_OUTPUT_TOKENS = 4_096;

/** The estimated output of the first call of a run. */
const ESTIMATED_OUTPUT_TOKENS = 256;

/** Returns the bounds of the next call, on which the budget decides. */
function callBounds(
  prices: PriceBook,
  query: PriceQuery,
  budget: Budget,
  options: LanguageModelV4CallOptions,
  lastCostNanoUsd: bigint | null,
): CallBounds {
  if (budget.mode === "strict") {
    const inputTokens = boundInput(options);
    return {
      inputTokens,
      outputTokens: options.maxOutputTokens ?? STRICT_OUTPUT_TOKENS,
      rates: "max" in inputTokens ? prices.worstCaseRates({ ...query, inputTokens: inputTokens.max }) : null,
      estimateNanoUsd: 0n,
    };
  }
  return {
    inputTokens: { unboundedBecause: "a budget that stops needs no bound" },
    outputTokens: 0,
    rates: null,
    estimateNanoUsd: lastCostNanoUsd ??
      prices.worstCase({
        ...query,
        inputTokens: estimateInputTokens(options),
        outputTokens: ESTIMATED_OUTPUT_TOKENS,
      }) ?? 0n,
  };
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
  };
  log.warn("A provider reported more than a strict call was bounded to", payload);
  return payload;
}

/** Returns the error for the next call after an overshoot: the bound that the budget relied on was wrong. */
function overshotBudget(
  runId: string,
  budget: Budget,
  settledNanoUsd: NanoUsd,
): BudgetExceededError {
  return new BudgetExceededError(
    `Cannot make the next model call of run ${runId}: a call cost more than its bound, so that its strict ` +
      `budget of $${formatUsd(budget.limitNanoUsd)} can't be kept; it has cost $${formatUsd(settledNanoUsd)}`,
    { cost_usd_so_far: toUsd(settledNanoUsd), budget_usd: toUsd(budget.limitNanoUsd) },
  );
}
