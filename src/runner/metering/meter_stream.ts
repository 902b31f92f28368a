import type { LanguageModelV4StreamPart, LanguageModelV4Usage } from "@ai-sdk/provider";
import { trackStreamUsage, usageFromAiSdk } from "../../pricing/mod.ts";
import { errorTypeOf } from "../../telemetry/mod.ts";
import { addStreamPart, emptyAnswer } from "../answer.ts";
import { type AdmittedCall, CANCELLED } from "./admit_call.ts";

type Part = LanguageModelV4StreamPart;
type Metadata = Record<string, unknown>;

/** The end of a stream. */
interface End {
  usage?: LanguageModelV4Usage;
  metadata?: Metadata;
  errorType?: string;
}

/** The error for an answer with status 200 whose body is not that of a model. */
export const NO_ANSWER = "the response is not the answer of a model";

/** The error type of an answer whose stream broke off. */
const INTERRUPTED = "interrupted";

/**
 * Forwards a stream, and books the call before its `finish` is forwarded. A stream that breaks off or is cancelled is booked
 * with the counts that have arrived.
 */
export function meterStream(
  source: ReadableStream<Part>,
  call: AdmittedCall,
  provider: string,
  wantsRawChunks: boolean,
): ReadableStream<Part> {
  const reader = source.getReader();
  const answer = emptyAnswer();
  const seen = trackStreamUsage(provider);
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
      counted,
      partial: seen.usage(),
      serviceTier: serviceTierOf(metadata) ?? seen.serviceTier(),
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
export function serviceTierOf(metadata: Metadata | undefined): string | undefined {
  for (const part of Object.values(metadata ?? {})) {
    const { serviceTier, service_tier } = (part ?? {}) as Metadata;
    const tier = serviceTier ?? service_tier;
    if (typeof tier === "string") return tier;
  }
  return undefined;
}
