import type { Usage } from "../../src/pricing/mod.ts";
import { usageOf } from "../../src/pricing/mod.ts";
import {
  anthropicAnswer,
  geminiAnswer,
  openaiChatAnswer,
  openaiResponsesAnswer,
  type WireAnswer,
  type WireContent,
} from "../fixtures/providers/mod.ts";
import type { ProviderRequest } from "./fake_provider.ts";

/** The provider's own usage object for a usage in normal form. */
export function rawUsage(api: ProviderRequest["api"], usage: Usage): Record<string, unknown> {
  const {
    inputTokens,
    outputTokens,
    cacheReadTokens,
    cacheWriteTokens,
    cacheWrite1hTokens,
    reasoningTokens,
  } = usage;
  switch (api) {
    case "openai-chat":
      return {
        prompt_tokens: inputTokens,
        completion_tokens: outputTokens,
        total_tokens: inputTokens + outputTokens,
        prompt_tokens_details: { cached_tokens: cacheReadTokens, cache_write_tokens: cacheWriteTokens },
        completion_tokens_details: { reasoning_tokens: reasoningTokens },
      };
    case "openai-responses":
      return {
        input_tokens: inputTokens,
        input_tokens_details: { cached_tokens: cacheReadTokens, cache_write_tokens: cacheWriteTokens },
        output_tokens: outputTokens,
        output_tokens_details: { reasoning_tokens: reasoningTokens },
        total_tokens: inputTokens + outputTokens,
      };
    case "anthropic":
      return {
        input_tokens: inputTokens - cacheReadTokens - cacheWriteTokens,
        cache_creation_input_tokens: cacheWriteTokens,
        cache_read_input_tokens: cacheReadTokens,
        cache_creation: {
          ephemeral_5m_input_tokens: cacheWriteTokens - cacheWrite1hTokens,
          ephemeral_1h_input_tokens: cacheWrite1hTokens,
        },
        output_tokens: outputTokens,
        output_tokens_details: { thinking_tokens: reasoningTokens },
        service_tier: "standard",
      };
    case "google":
      return {
        promptTokenCount: inputTokens,
        cachedContentTokenCount: cacheReadTokens,
        candidatesTokenCount: outputTokens - reasoningTokens,
        thoughtsTokenCount: reasoningTokens,
        totalTokenCount: inputTokens + outputTokens,
      };
  }
}

const BUILDERS: Record<ProviderRequest["api"], (content: WireContent) => WireAnswer> = {
  "openai-chat": openaiChatAnswer,
  "openai-responses": openaiResponsesAnswer,
  "anthropic": anthropicAnswer,
  "google": geminiAnswer,
};

/** A successful response to a request in the format of its API; the usage defaults to 10 tokens in and 2 out. */
export function answerTo(
  request: Pick<ProviderRequest, "api" | "model">,
  content: Pick<WireContent, "text" | "toolCall"> & { usage?: Partial<Usage> },
): { answer: WireAnswer } {
  const usage = usageOf(content.usage ?? { inputTokens: 10, outputTokens: 2 });
  const build = BUILDERS[request.api];
  return { answer: build({ ...content, model: request.model, usage: rawUsage(request.api, usage) }) };
}
