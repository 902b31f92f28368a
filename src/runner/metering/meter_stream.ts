import type { LanguageModelV4StreamPart, LanguageModelV4Usage } from "@ai-sdk/provider";
import { trackStreamUsage, usageFromAiSdk } from "../../pricing/mod.ts";
import { errorTypeOf } from "../../telemetry/mod.ts";
import { addStreamPart, emptyAnswer } from "../answer.ts";
import { type AdmittedCall, CANCELLED } from "./meter_model.ts";

type Part = LanguageModelV4StreamPart;
type Metadata = Record<string, unknown>;

/** How a stream ended. */
interface End {
  usage?: LanguageModelV4Usage;
  metadata?: Metadata;
  errorType?: string;
}

/** What is said of an answer with status 200 that holds nothing a model could have written. */
export const NO_ANSWER = "what came is not the answer of a model";

/** Why an answer is not whole whose stream ended before it did. */
const INTERRUPTED = "interrupted";

/** Passes a stream on; books before its `finish` goes on, or, where it breaks or is left, what is known. */
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
  /** Whether anything of an answer has come. */
  let hasStarted = false;
  /** Whether the provider said in the stream that it failed; the AI SDK tells that on by itself. */
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

  /** A connection may close cleanly in the middle of an answer, which then must not pass for a whole one. */
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
      reader.cancel(error).catch(() => {}); // nobody reads on, so the provider must not go on either
      throw error;
    }
  }

  function note(part: Part): void {
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
        note(part);
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

/** The service tier that a provider says it has served, wherever in its metadata it says so. */
export function serviceTierOf(metadata: Metadata | undefined): string | undefined {
  for (const part of Object.values(metadata ?? {})) {
    const { serviceTier, service_tier } = (part ?? {}) as Metadata;
    const tier = serviceTier ?? service_tier;
    if (typeof tier === "string") return tier;
  }
  return undefined;
}
