import type { LanguageModelV4Usage } from "@ai-sdk/provider";
import { faultOfUsage, type Usage, usageOf } from "./usage.ts";
import { type UsageApi, usageFromRaw } from "./usage_from_raw.ts";

/**
 * Normalizes the usage of an AI SDK model call. `provider` is the model's own `.provider`, such as `openai.responses` or
 * `anthropic.messages`.
 *
 * Prefers the provider's raw object if its API is recognized: the SDK's form has no field for the lifetime of a cache write and
 * turns an empty object into zeros. Undefined if neither total is known or the counts contradict each other.
 */
export function usageFromAiSdk(provider: string, usage: LanguageModelV4Usage): Usage | undefined {
  const api = usage.raw === undefined ? undefined : apiOf(provider, usage.raw);
  if (api === "anthropic") return usageFromRaw(api, withStartOfStream(usage));
  if (api !== undefined) return usageFromRaw(api, usage.raw);
  const { inputTokens: input, outputTokens: output } = usage;
  if (input.total === undefined && output.total === undefined) return undefined;
  const normal = usageOf({
    inputTokens: input.total,
    outputTokens: output.total,
    cacheReadTokens: input.cacheRead,
    cacheWriteTokens: input.cacheWrite,
    reasoningTokens: output.reasoning,
  });
  return faultOfUsage(normal) ? undefined : normal;
}

/** Returns the API of a provider by its name, else by the form of the raw usage. */
function apiOf(provider: string, raw: Record<string, unknown>): UsageApi | undefined {
  if (provider.endsWith(".responses")) return "openai-responses";
  if (provider.endsWith(".messages") || provider === "anthropic") return "anthropic";
  if (provider.endsWith(".generative-ai")) return "google";
  if (provider === "openai.chat" || provider === "openai.completion") return "openai-chat";
  if ("promptTokenCount" in raw) return "google";
  if ("prompt_tokens" in raw || "completion_tokens" in raw) return "openai-compatible";
  if ("cache_creation_input_tokens" in raw) return "anthropic";
  if ("input_tokens_details" in raw || "output_tokens_details" in raw) return "openai-responses";
  if (provider.endsWith(".chat") || provider.endsWith(".completion")) return "openai-compatible";
  return undefined;
}

/**
 * Restores counts that the raw usage of a stream has lost: the SDK overwrites the usage of `message_start` with that of
 * `message_delta`, nulls included, while its own form keeps the counts of the start.
 */
function withStartOfStream({ raw, inputTokens }: LanguageModelV4Usage): Record<string, unknown> {
  return {
    ...raw,
    input_tokens: raw?.input_tokens ?? inputTokens.noCache,
    cache_read_input_tokens: raw?.cache_read_input_tokens ?? inputTokens.cacheRead,
    cache_creation_input_tokens: raw?.cache_creation_input_tokens ?? inputTokens.cacheWrite,
  };
}
