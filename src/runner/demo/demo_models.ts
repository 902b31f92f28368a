import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4Content,
  LanguageModelV4FinishReason,
  LanguageModelV4StreamPart,
  LanguageModelV4Usage,
} from "@ai-sdk/provider";
import { chooseEchoAnswer, chooseLoopAnswer, type DemoAnswer } from "./demo_answers.ts";
import { countTokens, cutToTokens, measurePrompt, nextToolCallNumber } from "./demo_prompt.ts";

/** The built-in models of the provider `demo`: offline, deterministic, without delays. */
export const DEMO_MODELS = ["echo", "loop", "fail"] as const;

/**
 * Creates a demo model, or undefined for an unknown name. `echo` repeats the user's text, and uses `calculator` and
 * `current_time` where the text needs them; `loop` calls a tool again and again, or N times if the text says "N times"; `fail`
 * fails every call with an error that is not retried.
 *
 * Tokens are a quarter of the UTF-8 bytes, rounded up, of the texts, tool names and JSON values of the
 * prompt and of the answer. What the previous call had already sent counts as a cache read.
 */
export function createDemoModel(modelId: string): LanguageModelV4 | undefined {
  switch (modelId) {
    case "echo":
      return demoModel(modelId, chooseEchoAnswer);
    case "loop":
      return demoModel(modelId, chooseLoopAnswer);
    case "fail":
      return demoModel(modelId, failCall);
    default:
      return undefined;
  }
}

type Choose = (call: LanguageModelV4CallOptions) => DemoAnswer | Promise<DemoAnswer>;

function demoModel(modelId: string, choose: Choose): LanguageModelV4 {
  const answer = async (call: LanguageModelV4CallOptions) => {
    call.abortSignal?.throwIfAborted();
    return finishAnswer(await choose(call), call);
  };
  return {
    specificationVersion: "v4",
    provider: "demo",
    modelId,
    supportedUrls: {},
    async doGenerate(call) {
      return { ...await answer(call), response: { modelId }, warnings: [] };
    },
    async doStream(call) {
      return { stream: streamParts(toParts(await answer(call), modelId), call.abortSignal) };
    },
  };
}

async function failCall(): Promise<never> {
  const { APICallError } = await import("@ai-sdk/provider");
  throw new APICallError({
    message: "demo:fail fails every call",
    url: "demo:fail",
    requestBodyValues: {},
    statusCode: 400,
    isRetryable: false,
  });
}

interface FinishedAnswer {
  content: LanguageModelV4Content[];
  finishReason: LanguageModelV4FinishReason;
  usage: LanguageModelV4Usage;
}

/** Adds ids and usage to the answer, and cuts it off at `maxOutputTokens` as a provider does. */
function finishAnswer(answer: DemoAnswer, call: LanguageModelV4CallOptions): FinishedAnswer {
  const limit = call.maxOutputTokens ?? Infinity;
  const firstNumber = nextToolCallNumber(call.prompt);
  const toolCalls = answer.toolCalls.map(({ toolName, input }, index) => ({
    type: "tool-call" as const,
    toolCallId: `demo_${firstNumber + index}`,
    toolName,
    input: JSON.stringify(input),
  }));
  const outputText = answer.text + toolCalls.map(({ toolName, input }) => toolName + input).join("");
  const outputTokens = countTokens(outputText);
  const isCut = outputTokens > limit;
  const text = isCut ? cutToTokens(answer.text, limit) : answer.text;
  const content: LanguageModelV4Content[] = text === "" ? [] : [{ type: "text", text }];
  // A tool call that was cut off is not JSON: providers end such an answer without it.
  if (!isCut) content.push(...toolCalls);
  const reason = isCut ? "length" : toolCalls.length > 0 ? "tool-calls" : "stop";
  return {
    content,
    finishReason: { unified: reason, raw: reason },
    usage: toUsage(measurePrompt(call.prompt), Math.min(outputTokens, limit)),
  };
}

function toUsage(prompt: { total: number; cacheRead: number }, output: number): LanguageModelV4Usage {
  return {
    inputTokens: {
      total: prompt.total,
      noCache: prompt.total - prompt.cacheRead,
      cacheRead: prompt.cacheRead,
      cacheWrite: 0,
    },
    outputTokens: { total: output, text: output, reasoning: 0 },
    raw: { input_tokens: prompt.total, cache_read_tokens: prompt.cacheRead, output_tokens: output },
  };
}

function toParts(answer: FinishedAnswer, modelId: string): LanguageModelV4StreamPart[] {
  const parts: LanguageModelV4StreamPart[] = [
    { type: "stream-start", warnings: [] },
    { type: "response-metadata", modelId },
  ];
  for (const content of answer.content) {
    if (content.type === "text") {
      parts.push({ type: "text-start", id: "0" });
      // One delta per word, with the blank before it.
      for (const [delta] of content.text.matchAll(/\s*\S+|\s+$/g)) {
        parts.push({ type: "text-delta", id: "0", delta });
      }
      parts.push({ type: "text-end", id: "0" });
    } else if (content.type === "tool-call") {
      const { toolCallId: id, toolName, input } = content;
      parts.push(
        { type: "tool-input-start", id, toolName },
        { type: "tool-input-delta", id, delta: input },
        { type: "tool-input-end", id },
        content,
      );
    }
  }
  parts.push({ type: "finish", finishReason: answer.finishReason, usage: answer.usage });
  return parts;
}

/** Streams one part per read, so that an abort between two reads ends the stream there. */
function streamParts(
  parts: LanguageModelV4StreamPart[],
  signal: AbortSignal | undefined,
): ReadableStream<LanguageModelV4StreamPart> {
  let next = 0;
  return new ReadableStream({
    pull(controller) {
      if (signal?.aborted) return controller.error(signal.reason);
      const part = parts[next++];
      if (part === undefined) controller.close();
      else controller.enqueue(part);
    },
  }, { highWaterMark: 0 });
}
