import type { LanguageModelV4Usage } from "@ai-sdk/provider";
import { faultOfUsage, type Usage, usageOf } from "./usage.ts";
import { type UsageApi, usageFromRaw } from "./usage_from_raw.ts";

/**
 * Brings the usage of an AI SDK model call to the normal form. `provider` is the model's own `.provider`,
 * such as `openai.responses` or `anthropic.messages`.
 *
 * Prefers the provider's raw object where its API is recognisable, for the SDK's form has no place for the
 * lifetime of a cache write and turns an empty object into zeros. Undefined where neither total is known or
 * the counts contradict each other.
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

/** The API behind a provider's name; a name that says nothing is judged by the shape of the raw usage. */
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
 * In a stream the SDK lays `message_delta`'s raw usage over `message_start`'s, nulls included, while its own
 * form keeps the numbers of the start. Where the raw object has lost a count, the SDK's is put back.
 */
function withStartOfStream({ raw, inputTokens }: LanguageModelV4Usage): Record<string, unknown> {
  return {
    ...raw,
    input_tokens: raw?.input_tokens ?? inputTokens.noCache,
    cache_read_input_tokens: raw?.cache_read_input_tokens ?? inputTokens.cacheRead,
    cache_creation_input_tokens: raw?.cache_creation_input_tokens ?? inputTokens.cacheWrite,
  };
}
