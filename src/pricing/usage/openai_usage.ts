import type { Asked } from "./asked.ts";
import { type CacheCounts, readCache, readReasoning } from "./cache_fields.ts";
import { count, type Fields, isFields, largest } from "./fields.ts";
import type { Usage, UsageDetails } from "./usage.ts";
import { CACHE_WRITE_LIFETIME } from "./usage.ts";

/** The usage of OpenAI's chat API. */
export function readChat(raw: Fields, asked?: () => Asked): Partial<Usage> | undefined {
  return read(raw, { input: count(raw, "prompt_tokens"), output: count(raw, "completion_tokens") }, asked);
}

/** The usage of OpenAI's Responses API, and of the servers that speak like it. */
export function readResponses(raw: Fields, asked?: () => Asked): Partial<Usage> | undefined {
  return read(raw, { input: count(raw, "input_tokens"), output: count(raw, "output_tokens") }, asked);
}

/**
 * The usage of a server that implements OpenAI's chat API in its own way: by other names; with the cached tokens beside
 * `prompt_tokens` (proxies of Anthropic); with the reasoning beside `completion_tokens` (xAI; Gemini's and Vertex AI's compatible
 * endpoints), where `total_tokens` minus the two is the hidden output; or as Perplexity, whose reasoning no total includes.
 */
export function readCompatible(raw: Fields, asked?: () => Asked): Partial<Usage> | undefined {
  const input = count(raw, "prompt_tokens") || count(raw, "input_tokens") || count(raw, "prompt_tokens");
  const output = count(raw, "completion_tokens") || count(raw, "output_tokens") ||
    count(raw, "completion_tokens");
  const chat = read(raw, { input, output, isCompatible: true }, asked);
  if (chat === undefined) return undefined;
  const { inputTokens = 0, outputTokens = 0 } = chat;
  const reasoningTokens = chat.reasoningTokens ?? 0;
  if (isOfPerplexity(raw)) {
    return { ...chat, outputTokens: outputTokens + (count(raw, "reasoning_tokens") ?? 0) };
  }
  const hidden = Math.max(0, (count(raw, "total_tokens") ?? 0) - inputTokens - outputTokens);
  const apart = hidden > 0 ? hidden : reasoningTokens > outputTokens ? reasoningTokens : 0;
  return {
    ...chat,
    outputTokens: outputTokens + apart,
    reasoningTokens: Math.max(reasoningTokens, apart),
  };
}

/** Perplexity's usage has fields that no other one has. https://docs.perplexity.ai/api-reference/chat-completions-post */
function isOfPerplexity(raw: Fields): boolean {
  return ["search_context_size", "citation_tokens", "num_search_queries"].some((name) => raw[name] != null);
}

function read(
  raw: Fields,
  { input, output, isCompatible = false }: {
    input: number | undefined;
    output: number | undefined;
    isCompatible?: boolean;
  },
  asked: (() => Asked) | undefined,
): Partial<Usage> | undefined {
  if (input === undefined && output === undefined) return undefined;
  const cache = readCache(raw);
  const isBeside = isCompatible && isCacheBeside(raw, cache, input ?? 0, output ?? 0);
  const inputTokens = (input ?? 0) + (isBeside ? cache.reads + cache.writes : 0);
  return {
    inputTokens,
    outputTokens: output,
    cacheReadTokens: cache.reads,
    reasoningTokens: readReasoning(raw),
    ...readWrites(
      cache,
      asked,
      merge(readMedia(raw, inputTokens - cache.reads - cache.writes), readTools(raw)),
    ),
  };
}

/**
 * Returns whether the cached tokens are beside the input tokens, not among them: where they are more, and where the total is the
 * sum of all.
 */
function isCacheBeside(raw: Fields, { reads, writes }: CacheCounts, input: number, output: number): boolean {
  const cached = reads + writes;
  return cached > 0 && (cached > input || count(raw, "total_tokens") === input + output + cached);
}

/** Returns the writes by their lifetime. Those whose lifetime the answer doesn't say live as long as the request asks. */
export function readWrites(
  { writes, writes1h, writes12h, openWrites, isDefaultKnown }: Omit<CacheCounts, "reads">,
  asked: (() => Asked) | undefined,
  details: UsageDetails | undefined,
): Partial<Usage> {
  const lifetime = openWrites === 0 || !asked
    ? "default"
    : asked().cacheLifetime ?? (isDefaultKnown ? "default" : "unknown");
  const of12h = writes12h + (lifetime === "12h" ? openWrites : 0);
  return {
    cacheWriteTokens: writes,
    cacheWrite1hTokens: writes1h + (lifetime === "1h" ? openWrites : 0),
    details: of12h > 0 ? { ...details, cache_write_12h_tokens: of12h } : details,
    others: lifetime === "unknown" ? { [CACHE_WRITE_LIFETIME]: openWrites } : undefined,
  };
}

function merge(media: UsageDetails | undefined, tools: UsageDetails | undefined): UsageDetails | undefined {
  return media && tools ? { ...media, ...tools } : media ?? tools;
}

/**
 * Reads what the APIs of OpenAI's form count beside text. Most don't say how much of the cached input was audio or images: what
 * exceeds the uncached input was.
 */
function readMedia(raw: Fields, uncachedTokens: number): UsageDetails | undefined {
  const ofInput = raw.prompt_tokens_details ?? raw.input_tokens_details;
  const ofOutput = raw.completion_tokens_details ?? raw.output_tokens_details;
  const [input, output] = [isFields(ofInput) ? ofInput : {}, isFields(ofOutput) ? ofOutput : {}];
  const audio = count(input, "audio_tokens") ?? 0;
  const image = count(input, "image_tokens") ?? 0;
  const video = count(input, "video_tokens") ?? 0;
  if (!audio && !image && !video && !MEDIA.some((name) => output[name])) return undefined;
  const cachedAudio = count(input, "cached_tokens_details", "audio_tokens") ??
    Math.max(0, audio - uncachedTokens);
  const cachedImage = count(input, "cached_tokens_details", "image_tokens") ??
    Math.max(0, audio - cachedAudio + image - uncachedTokens);
  return {
    input_audio_tokens: audio,
    cache_read_audio_tokens: cachedAudio,
    input_image_tokens: image,
    cache_read_image_tokens: cachedImage,
    // The video of a usage is the uncached one; cached video is billed as text.
    input_video_tokens: Math.max(
      0,
      Math.min(
        video,
        uncachedTokens - (audio - cachedAudio) - (image - cachedImage),
      ),
    ),
    output_audio_tokens: count(output, "audio_tokens"),
    output_image_tokens: count(output, "image_tokens"),
    output_video_tokens: count(output, "video_tokens"),
  };
}

const MEDIA = ["audio_tokens", "image_tokens", "video_tokens"];

/** The names of xAI's counts of successful calls. https://docs.x.ai/developers/tools/tool-usage-details */
const XAI_TOOLS = {
  code_executions: ["code_interpreter_calls", "code_execution_calls"],
  file_searches: ["file_search_calls", "collections_search_calls"],
  attachment_searches: ["document_search_calls", "attachment_search_calls"],
  social_posts: ["x_posts_fetched"],
  social_profiles: ["x_users_fetched"],
} as const;

/** The fields that count tools, at the top of a usage and in the details of its input. */
const TOOL_FIELDS = [
  "server_tool_use",
  "server_tool_use_details",
  "num_search_queries",
  "server_side_tool_usage_details",
  "tool_calls_details",
  "x_tools",
  "plugins",
  "web_search_usage",
  "search_context_size",
  "citation_tokens",
];
const TOOL_DETAILS = ["web_search_requests", "google_maps_grounding_requests"];

/** Reads the tools that a usage counts, and the fees that it says. */
function readTools(raw: Fields): UsageDetails | undefined {
  const { prompt_tokens_details: ofInput } = raw;
  const hasTools = TOOL_FIELDS.some((name) => raw[name] != null) ||
    (isFields(ofInput) && TOOL_DETAILS.some((name) => ofInput[name] != null));
  if (!hasTools) return undefined;
  const ofXai = isFields(raw.server_side_tool_usage_details) ? raw.server_side_tool_usage_details : {};
  const calls = isFields(raw.tool_calls_details) ? raw.tool_calls_details : {};
  const searches = [
    largest([raw.server_tool_use, raw.server_tool_use_details, raw.prompt_tokens_details], [
      "web_search_requests",
    ]),
    count(raw, "num_search_queries"),
    count(ofXai, "web_search_calls"),
    // Perplexity's Agent API, DashScope, Xiaomi
    count(calls, "web_search", "invocation"),
    count(calls, "search_web", "invocation"),
    count(raw, "x_tools", "web_search", "count"),
    count(raw, "plugins", "search", "count"),
    count(raw, "web_search_usage", "tool_usage"),
  ];
  // X is billed by the posts and profiles that were fetched, if they are counted.
  const isByPost = ofXai.x_posts_fetched !== undefined || ofXai.x_users_fetched !== undefined;
  return {
    web_searches: Math.max(...searches.map(times)),
    ...Object.fromEntries(
      Object.entries(XAI_TOOLS).map(([detail, names]) => [detail, times(largest([ofXai], names))]),
    ),
    social_searches: isByPost ? 0 : times(count(ofXai, "x_search_calls")),
    map_groundings: times(count(raw, "prompt_tokens_details", "google_maps_grounding_requests")), // LiteLLM
    citation_tokens: count(raw, "citation_tokens"),
    ...contextOf(raw.search_context_size),
  };
}

/** Returns a count of calls; 0 for a value that can't be one, so that no answer becomes unreadable by it. */
function times(value: number | undefined): number {
  return value !== undefined && Number.isSafeInteger(value) && value > 0 ? value : 0;
}

const CONTEXTS = new Set(["low", "medium", "high"]);

/** Returns the detail of a search context; undefined for an unknown context. */
export function contextOf(size: unknown): UsageDetails {
  return typeof size === "string" && CONTEXTS.has(size) ? { [`${size}_context_requests`]: 1 } : {};
}
