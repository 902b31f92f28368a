import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4FinishReason,
  LanguageModelV4GenerateResult,
  LanguageModelV4StreamPart,
  LanguageModelV4StreamResult,
  LanguageModelV4Usage,
} from "@ai-sdk/provider";
import type { BookingContext } from "../../booking/mod.ts";
import { trackAnswerUsage, usageFromAiSdk } from "../../pricing/mod.ts";
import { abortable } from "../abortable.ts";
import { addStreamPart, type Answer, answerOf, emptyAnswer } from "../answer.ts";
import { admitCall, type AdmittedCall, CANCELLED, type Metering, type UsageReport } from "./admit_call.ts";
import { errorTypeOf } from "../../telemetry/mod.ts";

/**
 * Wraps a model so that every call passes the budget before it is made, and is in the ledger before its answer is
 * returned. Each retry of the AI SDK is a separate call.
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
      const call = await admitCall(ctx, metering, options, { isStreamed: false });
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
      const call = await admitCall(ctx, metering, options, { isStreamed: true });
      let result: LanguageModelV4StreamResult;
      try {
        // Raw chunks have counts that the SDK gives only at the end of a stream, which may never arrive.
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

/** Ends a call without an answer. If it was cancelled, the provider has read the prompt and charges for it. */
async function settleUnanswered(
  call: AdmittedCall,
  { abortSignal }: LanguageModelV4CallOptions,
  error: unknown,
): Promise<void> {
  if (abortSignal?.aborted) await call.book(emptyAnswer(), { counted: undefined, errorType: CANCELLED });
  else await call.fail(error);
}

/** Reads the result of a model; undefined if it is no answer: the model of a library user may return anything. */
function readResult(
  model: LanguageModelV4,
  result: LanguageModelV4GenerateResult,
): { answer: Answer; report: UsageReport } | undefined {
  try {
    const counted = usageFromAiSdk(model.provider, result.usage);
    if (counted === undefined && result.content.length === 0 && isUnfinished(result.finishReason)) {
      return undefined;
    }
    const seen = trackAnswerUsage(model.provider);
    seen.take(result.response?.body);
    const serviceTier = serviceTierOf(result.providerMetadata) ?? seen.served().serviceTier;
    const { id: responseId, modelId: responseModel } = result.response ?? {};
    return {
      answer: answerOf(result.content, result.finishReason),
      report: {
        counted: counted && seen.withTools(counted),
        served: { ...seen.served(), serviceTier },
        statedNanoUsd: seen.statedNanoUsd(),
        responseId,
        responseModel,
      },
    };
  } catch {
    return undefined;
  }
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
  source: ReadableStream<Part>,
  call: AdmittedCall,
  provider: string,
  wantsRawChunks: boolean,
): ReadableStream<Part> {
  const reader = source.getReader();
  const answer = emptyAnswer();
  const seen = trackAnswerUsage(provider);
  let isSettled = false;
  /** True once a part of an answer has arrived. */
  let hasStarted = false;
  /** True once the stream has reported an error of the provider, which the AI SDK forwards itself. */
  let hasFailed = false;
  let response: { responseId?: string; responseModel?: string } = {};

  async function book(end: End = {}): Promise<void> {
    if (isSettled) return;
    isSettled = true;
    const { usage, metadata, errorType } = end;
    const counted = (usage && usageFromAiSdk(provider, usage)) ?? (seen.isFinal() ? seen.usage() : undefined);
    await call.book(answer, {
      counted: counted && seen.withTools(counted),
      partial: seen.usage(),
      served: { ...seen.served(), serviceTier: serviceTierOf(metadata) ?? seen.served().serviceTier },
      statedNanoUsd: seen.isFinal() ? seen.statedNanoUsd() : undefined,
      ...response,
      errorType: errorType ?? (hasFailed ? INTERRUPTED : undefined),
    });
  }

  async function refuse(): Promise<void> {
    if (isSettled) return;
    isSettled = true;
    const error = new Error(NO_ANSWER);
    await call.fail(error);
    if (!hasFailed) throw error;
  }

  /** A connection may close cleanly in the middle of an answer, which must not count as complete. */
  async function breakOff(): Promise<void> {
    if (!hasStarted && seen.usage() === undefined) return await refuse();
    await book({ errorType: seen.isFinal() ? undefined : INTERRUPTED });
    if (!seen.isFinal() && !hasFailed) throw new Error("its answer broke off");
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
    if (part.type === "error") hasFailed = true;
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
          await book({ errorType: errorTypeOf(error) });
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
        if (part.type === "raw" && !wantsRawChunks) continue;
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

/** Finds the service tier in the metadata of a provider. */
function serviceTierOf(metadata: Metadata | undefined): string | undefined {
  for (const part of Object.values(metadata ?? {})) {
    const { serviceTier, service_tier } = (part ?? {}) as Metadata;
    const tier = serviceTier ?? service_tier;
    if (typeof tier === "string") return tier;
  }
  return undefined;
}
