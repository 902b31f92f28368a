import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4FinishReason,
  LanguageModelV4GenerateResult,
  LanguageModelV4StreamResult,
} from "@ai-sdk/provider";
import type { BookingContext } from "../../booking/mod.ts";
import { usageFromAiSdk } from "../../pricing/mod.ts";
import { abortable } from "../abortable.ts";
import { type Answer, answerOf, emptyAnswer } from "../answer.ts";
import { admitCall, type AdmittedCall, CANCELLED, type Metering, type UsageReport } from "./admit_call.ts";
import { meterStream, NO_ANSWER, serviceTierOf } from "./meter_stream.ts";

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

/** Returns true if the provider never reported the end of its answer. */
function isUnfinished({ unified, raw }: LanguageModelV4FinishReason): boolean {
  return unified === "interrupted" || (unified === "other" && raw === undefined);
}
