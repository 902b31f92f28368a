import { faultOfUsage, type Usage, usageOf } from "./usage.ts";

/** The APIs whose usage objects are supported. */
export type UsageApi = "openai-chat" | "openai-responses" | "anthropic" | "google" | "openai-compatible";

type Fields = Record<string, unknown>;

/**
 * Normalizes the usage object of a provider, in the form that the provider documents. Undefined if it is missing, empty or
 * contradictory: unknown is not zero. If only one total is missing, it counts as 0.
 */
export function usageFromRaw(api: UsageApi, raw: unknown): Usage | undefined {
  if (!isFields(raw)) return undefined;
  const counts = READERS[api](raw);
  if (counts === undefined) return undefined;
  const usage = usageOf(counts);
  return faultOfUsage(usage) ? undefined : usage;
}

const READERS = {
  "openai-chat": readChat,
  "openai-responses": readResponses,
  "anthropic": readAnthropic,
  "google": readGoogle,
  "openai-compatible": readCompatible,
} satisfies Record<UsageApi, (raw: Fields) => Partial<Usage> | undefined>;

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Returns the number at a path, if there is one. */
function count(fields: Fields, ...path: string[]): number | undefined {
  let value: unknown = fields;
  for (const key of path) value = isFields(value) ? value[key] : undefined;
  return typeof value === "number" ? value : undefined;
}

function readChat(raw: Fields): Partial<Usage> | undefined {
  const inputTokens = count(raw, "prompt_tokens");
  const outputTokens = count(raw, "completion_tokens");
  if (inputTokens === undefined && outputTokens === undefined) return undefined;
  return {
    inputTokens,
    outputTokens,
    cacheReadTokens: count(raw, "prompt_tokens_details", "cached_tokens"),
    cacheWriteTokens: count(raw, "prompt_tokens_details", "cache_write_tokens"),
    reasoningTokens: count(raw, "completion_tokens_details", "reasoning_tokens"),
  };
}

function readResponses(raw: Fields): Partial<Usage> | undefined {
  const inputTokens = count(raw, "input_tokens");
  const outputTokens = count(raw, "output_tokens");
  if (inputTokens === undefined && outputTokens === undefined) return undefined;
  return {
    inputTokens,
    outputTokens,
    cacheReadTokens: count(raw, "input_tokens_details", "cached_tokens"),
    cacheWriteTokens: count(raw, "input_tokens_details", "cache_write_tokens"),
    reasoningTokens: count(raw, "output_tokens_details", "reasoning_tokens"),
  };
}

/** Gemini counts thoughts separately from the candidates, and tool-use prompts separately from the prompt. */
function readGoogle(raw: Fields): Partial<Usage> | undefined {
  const prompt = count(raw, "promptTokenCount");
  const candidates = count(raw, "candidatesTokenCount");
  const thoughts = count(raw, "thoughtsTokenCount");
  if (prompt === undefined && candidates === undefined && thoughts === undefined) return undefined;
  return {
    inputTokens: (prompt ?? 0) + (count(raw, "toolUsePromptTokenCount") ?? 0),
    outputTokens: (candidates ?? 0) + (thoughts ?? 0),
    cacheReadTokens: count(raw, "cachedContentTokenCount"),
    reasoningTokens: thoughts,
  };
}

/**
 * Servers that implement OpenAI's chat API have their own names for cache reads (DeepSeek `prompt_cache_hit_tokens`, Moonshot
 * `cached_tokens`), and some exclude the reasoning from `completion_tokens` (xAI; Gemini's and Vertex AI's compatible
 * endpoints). There, `total_tokens` minus the two is the hidden output.
 */
function readCompatible(raw: Fields): Partial<Usage> | undefined {
  const chat = readChat(raw);
  if (chat === undefined) return undefined;
  const { inputTokens = 0, outputTokens = 0 } = chat;
  const reasoningTokens = chat.reasoningTokens ?? 0;
  const hidden = Math.max(0, (count(raw, "total_tokens") ?? 0) - inputTokens - outputTokens);
  const apart = hidden > 0 ? hidden : reasoningTokens > outputTokens ? reasoningTokens : 0;
  return {
    inputTokens,
    outputTokens: outputTokens + apart,
    cacheReadTokens: chat.cacheReadTokens ?? count(raw, "prompt_cache_hit_tokens") ??
      count(raw, "cached_tokens"),
    cacheWriteTokens: chat.cacheWriteTokens,
    reasoningTokens: Math.max(reasoningTokens, apart),
  };
}

/**
 * Anthropic counts neither cache reads nor cache writes in `input_tokens`. With `iterations` (compaction) the totals exclude
 * the sampling of the compaction, so the iterations of the executor are summed; those of an advisor are not, because it is
 * another model. An answer of a fallback is included in the totals.
 */
function readAnthropic(raw: Fields): Partial<Usage> | undefined {
  const totals = executorIterations(raw) ?? [raw];
  const sum = (key: string): number | undefined => {
    const counts = totals.flatMap((fields) => count(fields, key) ?? []);
    return counts.length === 0 ? count(raw, key) : counts.reduce((a, b) => a + b, 0);
  };
  const input = sum("input_tokens");
  const outputTokens = sum("output_tokens");
  if (input === undefined && outputTokens === undefined) return undefined;
  const cacheReadTokens = sum("cache_read_input_tokens") ?? 0;
  const fiveMinutes = count(raw, "cache_creation", "ephemeral_5m_input_tokens") ?? 0;
  const oneHour = count(raw, "cache_creation", "ephemeral_1h_input_tokens") ?? 0;
  const cacheWriteTokens = sum("cache_creation_input_tokens") ?? fiveMinutes + oneHour;
  return {
    inputTokens: (input ?? 0) + cacheReadTokens + cacheWriteTokens,
    outputTokens,
    cacheReadTokens,
    cacheWriteTokens,
    // Writes missing from the breakdown, which may be older than the total in a stream, count for the only lifetime that it
    // has.
    cacheWrite1hTokens: oneHour > 0 && fiveMinutes === 0
      ? cacheWriteTokens
      : Math.min(oneHour, cacheWriteTokens),
    reasoningTokens: count(raw, "output_tokens_details", "thinking_tokens"),
  };
}

function executorIterations(raw: Fields): Fields[] | undefined {
  const iterations = Array.isArray(raw.iterations) ? raw.iterations.filter(isFields) : [];
  if (iterations.some(({ type }) => type === "fallback_message")) return undefined;
  const executor = iterations.filter(({ type }) => type === "compaction" || type === "message");
  return executor.length === 0 ? undefined : executor;
}

/** The usage that the chunks of one stream have reported so far. */
export interface StreamUsage {
  /** Reads the next chunk as sent by the provider: the `rawValue` of the AI SDK's `raw` stream parts. */
  take(chunk: unknown): void;
  /** Returns the usage so far; undefined before the first report. */
  usage(): Usage | undefined;
  /** Returns true once the final usage has been reported, so that no estimate is needed. */
  isFinal(): boolean;
  /** Returns the service tier that the provider reports. */
  serviceTier(): string | undefined;
}

/**
 * Tracks the usage in a stream chunk by chunk. The AI SDK reports usage in its `finish` part, which a stream that breaks off
 * never reaches, even if its usage had already arrived. `provider` is the AI SDK model's `.provider`; the chunks have the
 * provider's own form.
 */
export function trackStreamUsage(provider: string): StreamUsage {
  let api: UsageApi | undefined;
  let raw: Fields | undefined;
  let isFinal = false;
  let serviceTier: string | undefined;

  function record(seenApi: UsageApi, usage: unknown, isLast: boolean): void {
    if (!isFields(usage)) return;
    api = seenApi;
    raw = usage;
    isFinal ||= isLast;
    recordTier(usage.service_tier ?? usage.serviceTier);
  }

  function recordTier(tier: unknown): void {
    if (typeof tier === "string") serviceTier = tier;
  }

  return {
    take(chunk) {
      if (!isFields(chunk)) return;
      if (chunk.type === "message_start" && isFields(chunk.message)) {
        record("anthropic", chunk.message.usage, false);
      } else if (chunk.type === "message_delta" && isFields(chunk.usage)) {
        // Its counts replace those of the start, which stay for counts that are null or missing here.
        const counts = Object.entries(chunk.usage).filter(([, count]) => count !== null);
        record("anthropic", { ...raw, ...Object.fromEntries(counts) }, true);
      } else if (isFields(chunk.response)) {
        recordTier(chunk.response.service_tier);
        record("openai-responses", chunk.response.usage, true);
      } else if (isFields(chunk.usageMetadata)) {
        record("google", chunk.usageMetadata, hasFinished(chunk.candidates) && !isFields(chunk.error));
      } else if (Array.isArray(chunk.choices)) {
        recordTier(chunk.service_tier);
        // Most providers send it once, at the end; some send the usage so far with every chunk.
        // One with an error interrupts the answer.
        const isLast = (chunk.choices.length === 0 || hasFinished(chunk.choices)) && !isFields(chunk.error);
        record(provider.startsWith("openai.") ? "openai-chat" : "openai-compatible", chunk.usage, isLast);
      }
    },
    usage: () => api && usageFromRaw(api, raw),
    isFinal: () => isFinal,
    serviceTier: () => serviceTier,
  };
}

function hasFinished(choices: unknown): boolean {
  return Array.isArray(choices) && choices.some((choice) => choice?.finish_reason ?? choice?.finishReason);
}
