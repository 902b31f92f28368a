import { type Fields, isFields } from "./fields.ts";

/*
 * The names under which OpenAI's APIs and the servers that speak like them report cached input and reasoning. They stand at the
 * top of the usage or in the details of its input or output; a server may report one thing under several names, of which the
 * others are 0, so the largest counts. As of 2026-11-26; each name has an example with its source in
 * tests/fixtures/usage_dialects.ts.
 */

/** Tokens that were read from a cache. */
const READS = [
  "cached_tokens", // OpenAI and most others; at the top: Moonshot, Together, Cohere
  "cache_read_input_tokens", // LiteLLM, Databricks, Perplexity's Agent API, proxies of Bedrock and Vertex AI
  "prompt_cache_hit_tokens", // DeepSeek, SiliconFlow
  "cache_read_tokens",
  "cached_input_tokens",
  "cached_prompt_text_tokens", // xAI, formerly
  "precached_prompt_tokens", // GigaChat
  "num_cached_tokens", // vLLM's and Mistral's own name
  "cacheReadInputTokens", // proxies of Bedrock that pass on the names of its Converse API
  "cacheReadInputTokenCount",
  "cachedContentTokenCount", // proxies of Gemini
];

/** Tokens that were written to a cache, by the API that documents how long they live. */
const WRITES_OF_KNOWN_LIFETIME = [
  "cache_write_tokens", // OpenAI: 30 minutes; OpenRouter and Perplexity: as the request asks, by default 5 minutes
  "created_cache_tokens", // vLLM, whose cache is its own
];

/** Tokens that were written to a cache, for a time that depends on the request. */
const WRITES = [
  "cache_creation_input_tokens", // LiteLLM, Databricks, DashScope, Venice, proxies of Bedrock and Vertex AI
  "cache_creation_tokens", // LiteLLM
  "cached_creation_tokens", // new-api, one-hub
  "caching_tokens", // Requesty
  "cache_write_input_tokens",
  "cacheWriteInputTokens", // proxies of Bedrock
  "cacheWriteInputTokenCount",
];

/** The parts of the written tokens by their lifetime, at the top or in one of {@link BREAKDOWNS}. */
const SHORT_WRITES = [
  "ttl_30m_tokens", // OpenAI
  "ephemeral_5m_input_tokens",
  "ephemeral_30m_input_tokens", // LiteLLM
  "claude_cache_creation_5_m_tokens", // new-api
  "claude_cache_creation_5m_tokens",
];
const ONE_HOUR_WRITES = [
  "ephemeral_1h_input_tokens",
  "claude_cache_creation_1_h_tokens",
  "claude_cache_creation_1h_tokens",
  "cache_write_1h_tokens",
];
const TWELVE_HOUR_WRITES = ["ttl_12h_tokens", "ephemeral_12h_input_tokens"];

const BREAKDOWNS = [
  "cache_creation", // Anthropic, OpenRouter, DashScope
  "cache_creation_token_details", // LiteLLM
  "cache_write_tokens_details", // OpenAI
];

/** Tokens of reasoning. */
const REASONING = new Set(["reasoning_tokens", "thinking_tokens", "reasoning_output_tokens"]);

type Kind = "reads" | "known" | "writes" | "short" | "writes1h" | "writes12h" | "groq" | "breakdown";

const KINDS = new Map<string, Kind>(
  ([
    ["reads", READS],
    ["known", WRITES_OF_KNOWN_LIFETIME],
    ["writes", WRITES],
    ["short", SHORT_WRITES],
    ["writes1h", ONE_HOUR_WRITES],
    ["writes12h", TWELVE_HOUR_WRITES],
    // Groq counts the tiers of its cache beside the tokens that it bills as cached.
    ["groq", ["dram_cached_tokens", "sram_cached_tokens"]],
    ["breakdown", BREAKDOWNS],
  ] as const).flatMap(([kind, names]) => names.map((name) => [name, kind] as const)),
);

/** The cached part of some input. */
export interface CacheCounts {
  reads: number;
  writes: number;
  writes1h: number;
  writes12h: number;
  /** Those of the writes whose lifetime the answer doesn't say, and for which the request counts. */
  openWrites: number;
  /** True if the lifetime of the open ones is the shortest of the API, unless the request asks for another. */
  isDefaultKnown: boolean;
}

/** Reads the cached part of the input of an API of OpenAI's form. */
export function readCache(raw: Fields): CacheCounts {
  const most = { reads: 0, known: 0, writes: 0, short: 0, writes1h: 0, writes12h: 0, groq: 0 };
  const read = (home: unknown) => {
    if (!isFields(home)) return;
    for (const name in home) {
      const value = home[name];
      const kind = value ? KINDS.get(name) : undefined;
      if (kind === undefined) continue;
      if (kind === "breakdown") read(value);
      else if (typeof value === "number") {
        most[kind] = kind === "groq" ? most.groq + value : Math.max(most[kind], value);
      }
    }
  };
  read(raw);
  read(raw.prompt_tokens_details);
  read(raw.input_tokens_details);
  const { known, short, writes1h, writes12h } = most;
  const writes = Math.max(known, most.writes, short + writes1h + writes12h);
  return {
    reads: Math.max(most.reads, most.groq),
    writes,
    writes1h,
    writes12h,
    openWrites: writes - short - writes1h - writes12h,
    isDefaultKnown: known >= writes,
  };
}

/** Returns the tokens of reasoning; 0 without a count of them. */
export function readReasoning(raw: Fields): number {
  let most = 0;
  for (const home of [raw.completion_tokens_details, raw.output_tokens_details, raw]) {
    if (!isFields(home)) continue;
    for (const name in home) {
      const value = home[name];
      if (value && typeof value === "number" && value > most && REASONING.has(name)) most = value;
    }
  }
  return most;
}
