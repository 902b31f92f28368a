import { count, type Fields, isFields } from "./fields.ts";
import { faultOfUsage, type Usage, type UsageDetails, usageOf } from "./usage.ts";

/** The APIs whose usage objects are supported. */
export type UsageApi = "openai-chat" | "openai-responses" | "anthropic" | "google" | "openai-compatible";

/** The totals of all APIs. */
const TOTALS = [
  "prompt_tokens",
  "completion_tokens",
  "input_tokens",
  "output_tokens",
  "promptTokenCount",
  "candidatesTokenCount",
  "thoughtsTokenCount",
];

/**
 * Normalizes the usage object of a provider, in the form that the provider documents. Undefined if it is missing, empty or
 * contradictory: unknown is not zero. If only one total is missing, it counts as 0; one that is
 * no number makes the usage unknown.
 */
export function usageFromRaw(api: UsageApi, raw: unknown): Usage | undefined {
  if (!isFields(raw) || TOTALS.some((name) => raw[name] != null && typeof raw[name] !== "number")) {
    return undefined;
  }
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
    details: readDetails(raw, raw.prompt_tokens_details, raw.completion_tokens_details, inputTokens),
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
    details: readDetails(raw, raw.input_tokens_details, raw.output_tokens_details, inputTokens),
  };
}

/**
 * Reads what the APIs of OpenAI's form count beside text. They don't say how much of the cached input was audio or images:
 * what exceeds the uncached input was.
 */
function readDetails(
  raw: Fields,
  input: unknown,
  output: unknown,
  inputTokens = 0,
): UsageDetails | undefined {
  const [ofInput, ofOutput] = [isFields(input) ? input : {}, isFields(output) ? output : {}];
  const searches = count(raw, "server_tool_use", "web_search_requests") ?? count(raw, "num_search_queries");
  const audio = count(ofInput, "audio_tokens") ?? 0;
  const image = count(ofInput, "image_tokens") ?? 0;
  const outputAudio = count(ofOutput, "audio_tokens");
  const outputImage = count(ofOutput, "image_tokens");
  const writes12h = count(ofInput, "cache_write_tokens_details", "ttl_12h_tokens");
  if (!audio && !image && !outputAudio && !outputImage && !writes12h && !searches) return undefined;
  const uncached = inputTokens - (count(ofInput, "cached_tokens") ?? 0) -
    (count(ofInput, "cache_write_tokens") ?? 0);
  const cachedAudio = Math.max(0, audio - uncached);
  return {
    cache_write_12h_tokens: writes12h,
    input_audio_tokens: audio,
    cache_read_audio_tokens: cachedAudio,
    input_image_tokens: image,
    cache_read_image_tokens: Math.max(0, audio - cachedAudio + image - uncached),
    output_audio_tokens: outputAudio,
    output_image_tokens: outputImage,
    web_searches: searches,
  };
}

/** Gemini counts thoughts separately from the candidates, and tool-use prompts separately from the prompt. */
function readGoogle(raw: Fields): Partial<Usage> | undefined {
  const prompt = count(raw, "promptTokenCount");
  const candidates = count(raw, "candidatesTokenCount");
  const thoughts = count(raw, "thoughtsTokenCount");
  if (prompt === undefined && candidates === undefined && thoughts === undefined) return undefined;
  const inputTokens = (prompt ?? 0) + (count(raw, "toolUsePromptTokenCount") ?? 0);
  const cacheReadTokens = count(raw, "cachedContentTokenCount");
  return {
    inputTokens,
    outputTokens: (candidates ?? 0) + (thoughts ?? 0),
    cacheReadTokens,
    reasoningTokens: thoughts,
    details: readModalities(raw, inputTokens - (cacheReadTokens ?? 0)),
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
    details: chat.details,
  };
}

/**
 * Anthropic counts neither cache reads nor cache writes in `input_tokens`. With `iterations` (compaction) the totals exclude
 * the sampling of the compaction, so the iterations of the executor are summed; those of an advisor are not, because it is
 * another model: they are counted as a part without a price. An answer of a fallback is included in the totals.
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
  // A total of 0 beside a breakdown is one that was lost on the way.
  const cacheWriteTokens = Math.max(sum("cache_creation_input_tokens") ?? 0, fiveMinutes + oneHour);
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
    details: {
      web_searches: count(raw, "server_tool_use", "web_search_requests"),
      code_executions: count(raw, "server_tool_use", "code_execution_requests"),
      advisor_calls: iterationsOf(raw).filter(({ type }) => type === "advisor_message").length,
    },
  };
}

function iterationsOf({ iterations }: Fields): Fields[] {
  return Array.isArray(iterations) ? iterations.filter(isFields) : [];
}

function executorIterations(raw: Fields): Fields[] | undefined {
  const iterations = iterationsOf(raw);
  if (iterations.some(({ type }) => type === "fallback_message")) return undefined;
  const executor = iterations.filter(({ type }) => type === "compaction" || type === "message");
  return executor.length === 0 ? undefined : executor;
}

const PROMPT = ["promptTokensDetails", "toolUsePromptTokensDetails"];
const CACHE = ["cacheTokensDetails"];
const ANSWER = ["candidatesTokensDetails"];

/**
 * Reads what a Gemini answer counts beside text. Where it doesn't say how much of a modality was cached, what exceeds the
 * uncached input was: audio, then images, then video. The video of a usage is the uncached one; cached video is billed as text.
 */
export function readModalities(raw: Fields, uncachedTokens: number): UsageDetails {
  const audio = ofModality(raw, "AUDIO", PROMPT);
  const image = ofModality(raw, "IMAGE", PROMPT);
  let cachedAudio = ofModality(raw, "AUDIO", CACHE);
  let cachedImage = ofModality(raw, "IMAGE", CACHE);
  let video = Math.max(0, ofModality(raw, "VIDEO", PROMPT) - ofModality(raw, "VIDEO", CACHE));
  let excess = Math.max(0, audio - cachedAudio + image - cachedImage + video - uncachedTokens);
  const take = (tokens: number) => {
    const taken = Math.min(excess, Math.max(0, tokens));
    excess -= taken;
    return taken;
  };
  cachedAudio += take(audio - cachedAudio);
  cachedImage += take(image - cachedImage);
  video -= take(video);
  return {
    input_audio_tokens: audio,
    cache_read_audio_tokens: cachedAudio,
    input_image_tokens: image,
    cache_read_image_tokens: cachedImage,
    input_video_tokens: video,
    output_audio_tokens: ofModality(raw, "AUDIO", ANSWER),
    output_image_tokens: ofModality(raw, "IMAGE", ANSWER),
    output_video_tokens: ofModality(raw, "VIDEO", ANSWER),
  };
}

/** Returns the tokens of one modality, over lists such as `[{modality: "TEXT", tokenCount: 5}]`. */
function ofModality(raw: Fields, modality: string, lists: readonly string[]): number {
  let tokens = 0;
  for (const list of lists) {
    for (const entry of Array.isArray(raw[list]) ? raw[list] : []) {
      if (isFields(entry) && entry.modality === modality) tokens += count(entry, "tokenCount") ?? 0;
    }
  }
  return tokens;
}
