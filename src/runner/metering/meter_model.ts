import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4FinishReason,
  LanguageModelV4GenerateResult,
  LanguageModelV4StreamPart,
  LanguageModelV4StreamResult,
  LanguageModelV4Usage,
} from "@ai-sdk/provider";
import { Buffer } from "node:buffer";
import type { Grant } from "../../budgets/reservations/mod.ts";
import { fieldsOf } from "../../kernel/header_fields.ts";
import { idsIn, type ModelCall } from "../../ledger/mod.ts";
import {
  type AnswerFacts,
  type BookCall,
  type CallContext,
  type CallRequest,
  type CallTerms,
  CANCELLED,
  contentOf,
  type OpenCall,
  openCall,
  type UsageReport,
} from "../../calls/mod.ts";
import {
  type AnswerUsage,
  askedIn,
  isFields,
  readAsked,
  type Statement,
  trackAnswerUsage,
  usageFromAiSdk,
} from "../../pricing/usage/mod.ts";
import { answersOf } from "../models/answered_requests.ts";
import { abortable } from "../abortable.ts";
import { addStreamPart, type Answer, answerOf, emptyAnswer, textOf } from "../answer.ts";
import { boundInput, inputBytesOf } from "./bound_input.ts";
import { estimateInput } from "./estimate_input.ts";
import { readFailedAnswer } from "./failed_answer.ts";
import { errorTypeOf } from "../../telemetry/mod.ts";

/** The caller of a metered model's calls, and how they are booked. */
export interface Metering {
  /** The names under which calls are priced and booked. */
  provider: string;
  modelId: string;
  paidWith?: CallRequest["paidWith"];
  terms: CallTerms;
  /** Books a call that was made, or spools it; resolves when it is durable. */
  book(call: ModelCall, answer: Answer, grant: Grant | undefined): Promise<void>;
}

/** A call of a metered model that is made now. */
interface MeteredCall {
  open: OpenCall;
  options: LanguageModelV4CallOptions;
  book(answer: Answer): BookCall;
}

/**
 * Wraps a model so that every call passes the budget before it is made, and is in the ledger before its answer is
 * returned. Each retry of the AI SDK is a separate call.
 */
export function meterModel(ctx: CallContext, model: LanguageModelV4, metering: Metering): LanguageModelV4 {
  async function make<T>(
    options: LanguageModelV4CallOptions,
    isStreamed: boolean,
    send: (options: LanguageModelV4CallOptions) => PromiseLike<T>,
    end: (result: T, call: MeteredCall) => T | Promise<T>,
  ): Promise<T> {
    ctx.callSpool.prepare();
    return await openCall(ctx, metering.terms, requestOf(metering, options, isStreamed), async (open) => {
      const { outputLimit } = open;
      const limited = outputLimit === undefined ? options : { ...options, maxOutputTokens: outputLimit };
      const book: MeteredCall["book"] = (answer) => (made, grant) => metering.book(made, answer, grant);
      const call: MeteredCall = { open, options: limited, book };
      const answered = answersOf(model);
      let result: T;
      try {
        result = await open.run(() => send(limited));
      } catch (error) {
        await settleUnanswered(call, model, error, { hasAnswered: answersOf(model) > answered });
        throw error;
      }
      return await end(result, call);
    });
  }
  return {
    specificationVersion: "v4",
    provider: model.provider,
    modelId: model.modelId,
    get supportedUrls() {
      return model.supportedUrls;
    },
    doGenerate: (options) =>
      make(options, false, (limited) => model.doGenerate(limited), async (result, call) => {
        const { answer, report } = readResult(model, result, call.options);
        await call.open.settle(report, factsOf(answer), call.book(answer));
        if (report.failure !== undefined) throw report.failure;
        return result;
      }),
    // Raw chunks have counts that the SDK gives only at the end of a stream, which may never arrive.
    doStream: (options) =>
      make(
        options,
        true,
        (limited) => openStream(model, { ...limited, includeRawChunks: true }),
        (result, call) => ({ ...result, stream: meterStream(result, call, model, options) }),
      ),
  };
}

function requestOf(
  { provider, modelId, paidWith }: Metering,
  options: LanguageModelV4CallOptions,
  isStreamed: boolean,
): CallRequest {
  return {
    provider,
    model: modelId,
    asks: Object.values(options.providerOptions ?? {}).map(askedIn).find(Boolean),
    paidWith,
    isStreamed,
    settings: options,
    canShorten: true,
    maxOutputTokens: options.maxOutputTokens,
    estimateBytes: () => estimateInput(options),
    inputBytes: () => inputBytesOf(options),
    boundInput: () => boundInput(options),
    signal: options.abortSignal,
  };
}

function factsOf(answer: Answer): AnswerFacts {
  return {
    tools: answer.tool_calls.map(({ tool_name }) => tool_name),
    outputBytes: () => Buffer.byteLength(textOf(answer)),
    finishReason: answer.finish_reason,
  };
}

/** Opens a stream, or rejects as soon as the call is cancelled: the model may ignore its signal. */
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

/** Ends a call without an answer: the usage may be in its error. */
async function settleUnanswered(
  { open, options, book }: MeteredCall,
  { provider }: LanguageModelV4,
  error: unknown,
  { hasAnswered }: { hasAnswered: boolean },
): Promise<void> {
  const report = readFailedAnswer(provider, error, () => readAsked([options]));
  const finish_reason = options.abortSignal?.aborted ? "unknown" : "error";
  await open.fail(error, { report, hasAnswered, book: book({ ...emptyAnswer(), finish_reason }) });
}

/** Reads the result of a model. Without an answer, it has a failure: the model of a library user may return anything. */
function readResult(
  model: LanguageModelV4,
  result: LanguageModelV4GenerateResult,
  options: LanguageModelV4CallOptions,
): { answer: Answer; report: UsageReport } {
  try {
    const asked = () => readAsked([result.request?.body, options]);
    const counted = usageFromAiSdk(model.provider, result.usage, asked);
    if (counted === undefined && result.content.length === 0 && isUnfinished(result.finishReason)) {
      return noAnswer(result.response?.body);
    }
    const seen = trackAnswerUsage(model.provider, asked);
    seen.take(result.response?.body);
    seen.end();
    const serviceTier = serviceTierOf(result.providerMetadata) ?? seen.served().serviceTier;
    const { id: responseId, modelId: responseModel, headers: sent } = result.response ?? {};
    const headers = sent && fieldsOf(sent);
    return {
      answer: answerOf(result.content, result.finishReason),
      report: {
        counted: counted && seen.withTools(counted),
        raw: result.usage.raw,
        served: { ...seen.served(), serviceTier },
        statement: statementOf(seen, {
          usage: result.usage,
          metadata: result.providerMetadata,
          headers,
        }),
        ...(headers && { ids: idsIn(headers) }),
        responseId,
        responseModel,
      },
    };
  } catch {
    return noAnswer();
  }
}

function noAnswer(body?: unknown): { answer: Answer; report: UsageReport } {
  const failure = new Error(NO_ANSWER);
  const unreadText = body === undefined ? undefined : contentOf(body);
  const report = { counted: undefined, unreadText, errorType: errorTypeOf(failure), failure };
  return { answer: { ...emptyAnswer(), finish_reason: "error" }, report };
}

/** Returns true if the provider never reported the end of its answer. */
function isUnfinished({ unified, raw }: LanguageModelV4FinishReason): boolean {
  return unified === "interrupted" || (unified === "other" && raw === undefined);
}

type Part = LanguageModelV4StreamPart;
type Metadata = Record<string, unknown>;

/** The end of a stream. */
interface End {
  usage?: LanguageModelV4Usage;
  metadata?: Metadata;
  errorType?: string;
  /** The error that ended it. */
  brokenBy?: unknown;
}

/** The error for an answer with status 200 whose body is not that of a model. */
const NO_ANSWER = "the response is not the answer of a model";

/** The error type of an answer whose stream broke off. */
const INTERRUPTED = "interrupted";

/**
 * Forwards a stream, and books the call before its `finish` is forwarded. A stream that breaks off or is cancelled is booked
 * with the counts that have arrived.
 */
function meterStream(
  { stream: source, request, response: { headers: sent } = {} }: LanguageModelV4StreamResult,
  call: MeteredCall,
  model: LanguageModelV4,
  { abortSignal: signal, includeRawChunks }: LanguageModelV4CallOptions,
): ReadableStream<Part> {
  const { provider } = model;
  const headers = sent && fieldsOf(sent);
  const reader = source.getReader();
  const answer = emptyAnswer();
  const asked = () => readAsked([request?.body, call.options]);
  const seen = trackAnswerUsage(provider, asked);
  let isSettled = false;
  /** True once a part of an answer has arrived. */
  let hasStarted = false;
  /** The error that the stream has reported, which the AI SDK forwards itself. */
  let reported: { error: unknown } | undefined;
  let response: { responseId?: string; responseModel?: string } = {};

  async function book(end: End = {}): Promise<void> {
    if (isSettled) return;
    isSettled = true;
    const { usage, metadata, errorType, brokenBy } = end;
    const atEnd = usage && usageFromAiSdk(provider, usage, asked);
    const soFar = seen.usage();
    // After an error, the end of the stream has only the counts that had arrived before.
    const counted = (reported ? undefined : atEnd) ?? (seen.isFinal() ? soFar : undefined);
    const report: UsageReport = {
      counted: counted && seen.withTools(counted),
      partial: soFar ?? atEnd,
      raw: usage?.raw,
      served: { ...seen.served(), serviceTier: serviceTierOf(metadata) ?? seen.served().serviceTier },
      statement: counted || seen.isFinal()
        ? { ...statementOf(seen, { usage, metadata, headers }), isStreamed: true }
        : undefined,
      ...(headers && { ids: idsIn(headers) }),
      ...response,
      errorType: errorType ?? (reported ? INTERRUPTED : undefined),
      brokenBy: brokenBy ?? reported?.error,
    };
    await call.open.settle(report, factsOf(answer), call.book(answer));
  }

  /** Ends a call of whose answer nothing has arrived. */
  async function refuse(error: unknown): Promise<void> {
    if (isSettled) return;
    isSettled = true;
    await settleUnanswered(call, model, error, { hasAnswered: true });
  }

  const isEmpty = () => !hasStarted && seen.usage() === undefined;

  /** A connection may close cleanly in the middle of an answer, which must not count as complete. */
  async function breakOff(): Promise<void> {
    const error = new Error(isEmpty() ? NO_ANSWER : "its answer broke off");
    if (isEmpty()) await refuse(reported?.error ?? error);
    else if (seen.isFinal()) return await book();
    else await book({ errorType: INTERRUPTED, brokenBy: reported?.error ?? error });
    if (!reported) throw error;
  }

  async function fail(error: unknown): Promise<void> {
    if (isEmpty()) await refuse(error);
    else if (signal?.aborted) await book({ errorType: CANCELLED });
    else await book({ errorType: errorTypeOf(error), brokenBy: error });
  }

  async function finish(part: Part & { type: "finish" }): Promise<void> {
    const { unified } = part.finishReason;
    try {
      if (unified === "interrupted" || (unified === "error" && !hasStarted)) await breakOff();
      else await book({ usage: part.usage, metadata: part.providerMetadata });
    } catch (error) {
      reader.cancel(error).catch(() => {}); // the rest is not read, so the provider must stop too
      throw error;
    }
  }

  function track(part: Part): void {
    addStreamPart(answer, part);
    if (part.type === "raw") seen.take(part.rawValue);
    if (part.type === "error") reported ??= { error: part.error };
    if (part.type === "response-metadata") response = { responseId: part.id, responseModel: part.modelId };
    hasStarted ||= part.type.endsWith("-delta") || part.type === "tool-call" ||
      (part.type === "raw" && part.rawValue !== undefined);
  }

  return new ReadableStream<Part>({
    async pull(controller) {
      for (;;) {
        let next: ReadableStreamReadResult<Part>;
        try {
          next = await reader.read();
        } catch (error) {
          await fail(error);
          throw error;
        }
        if (next.done) {
          if (!isSettled) await breakOff();
          controller.close();
          return;
        }
        const part = next.value;
        track(part);
        if (part.type === "finish") await finish(part);
        if (part.type === "raw" && !includeRawChunks) continue;
        controller.enqueue(part);
        return;
      }
    },
    async cancel(reason) {
      try {
        await book({ errorType: CANCELLED });
      } finally {
        await reader.cancel(reason);
      }
    },
  }, { highWaterMark: 0 });
}

/**
 * Collects what an answer states about its cost: by its body or chunks, where the model passes these on, else by what the AI SDK
 * has kept. Vercel's provider of the AI SDK has its gateway's part in the metadata.
 */
function statementOf(
  seen: AnswerUsage,
  { usage: { raw } = {}, metadata, headers }: {
    usage?: Pick<LanguageModelV4Usage, "raw">;
    metadata: Metadata | undefined;
    headers: Pick<Headers, "get"> | undefined;
  },
): Statement {
  const { usage = raw, gateway = metadata?.gateway } = seen.statement();
  return {
    usage,
    ...(isFields(gateway) && { gateway }),
    ...(headers && { headers }),
  };
}

/** Finds the service tier in the metadata of a provider. */
function serviceTierOf(metadata: Metadata | undefined): string | undefined {
  for (const part of Object.values(metadata ?? {})) {
    const { serviceTier, service_tier } = (part ?? {}) as Metadata;
    const tier = serviceTier ?? service_tier;
    if (typeof tier === "string") return tier;
  }
  return undefined;
}
