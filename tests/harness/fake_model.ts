import { setImmediate } from "node:timers";
import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4StreamPart,
} from "@ai-sdk/provider";

/** A fake provider's response: the tokens it has counted. */
export interface FakeAnswer {
  inputTokens: number;
  outputTokens: number;
}

/** A model `local:priced` whose calls are answered by the test; it counts them. */
export interface FakeModel {
  model: LanguageModelV4;
  calls: () => number;
}

/** Answers a call by its number, from 0. An error that it throws is the provider's. */
export type AnswerCall = (options: LanguageModelV4CallOptions, number: number) => Promise<FakeAnswer>;

/** The parts of a streamed response; an error that it throws breaks the stream. */
export type StreamAnswer = (options: LanguageModelV4CallOptions) => AsyncIterable<LanguageModelV4StreamPart>;

/** The parts of a response of some texts, without its end. */
export function* textParts(...texts: string[]): Generator<LanguageModelV4StreamPart> {
  yield { type: "stream-start", warnings: [] };
  yield { type: "text-start", id: "0" };
  for (const delta of texts) yield { type: "text-delta", id: "0", delta };
}

/** The end of a streamed response. */
export function* endParts({ inputTokens, outputTokens }: FakeAnswer): Generator<LanguageModelV4StreamPart> {
  yield { type: "text-end", id: "0" };
  yield {
    type: "finish",
    finishReason: { unified: "stop", raw: "stop" },
    usage: {
      inputTokens: { total: inputTokens, noCache: inputTokens, cacheRead: 0, cacheWrite: 0 },
      outputTokens: { total: outputTokens, text: outputTokens, reasoning: 0 },
    },
  };
}

export function fakeModel(answer: AnswerCall, stream?: StreamAnswer): FakeModel {
  let calls = 0;
  const model: LanguageModelV4 = {
    specificationVersion: "v4",
    provider: "local.chat",
    modelId: "priced",
    supportedUrls: {},
    async doGenerate(options) {
      const { inputTokens, outputTokens } = await answer(options, calls++);
      return {
        // A text for which nothing is counted would be estimated.
        content: inputTokens + outputTokens === 0 ? [] : [{ type: "text", text: "hello" }],
        finishReason: { unified: "stop", raw: "stop" },
        usage: {
          inputTokens: { total: inputTokens, noCache: inputTokens, cacheRead: 0, cacheWrite: 0 },
          outputTokens: { total: outputTokens, text: outputTokens, reasoning: 0 },
        },
        warnings: [],
      };
    },
    doStream(options) {
      if (!stream) return Promise.reject(new Error("this model does not stream"));
      calls++;
      return Promise.resolve({ stream: ReadableStream.from(stream(options)) });
    },
  };
  return { model, calls: () => calls };
}

/** A call of one user message. */
export function callOptions(
  text: string,
  options: Pick<LanguageModelV4CallOptions, "maxOutputTokens" | "abortSignal"> = {},
): LanguageModelV4CallOptions {
  return { prompt: [{ role: "user", content: [{ type: "text", text }] }], ...options };
}

/** Lets pending tasks proceed for so many turns of the event loop; ends early when the signal aborts. */
export async function turns(count: number, signal?: AbortSignal): Promise<void> {
  for (let i = 0; i < count; i++) {
    signal?.throwIfAborted();
    await new Promise<void>((resolve) => setImmediate(resolve));
  }
  signal?.throwIfAborted();
}
