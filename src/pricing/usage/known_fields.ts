import { MAX_CALL_TOKENS } from "../../contract/limits.ts";
import { type Fields, isFields } from "./fields.ts";
import type { UsageApi } from "./usage_from_raw.ts";

/**
 * The meaning of a number in a usage object: it is priced; it is counted elsewhere, such as a sum, a part of another count or a
 * cost; it is free; or it is billed and has no rule here, so that it makes a call partly priced.
 */
export type FieldMeaning = "priced" | "elsewhere" | "free" | "unpriced";

/** The fields of one usage object, as space-separated paths without the indexes of lists. A path stands for all below it. */
export interface KnownFields {
  /** The package and its version, or the page, and the type. */
  source: string;
  apis: readonly UsageApi[];
  fields: Readonly<Partial<Record<FieldMeaning, string>>>;
}

const CHAT: readonly UsageApi[] = ["openai-chat", "openai-compatible"];
const RESPONSES: readonly UsageApi[] = ["openai-responses"];
const ALL_OPENAI: readonly UsageApi[] = [...CHAT, ...RESPONSES];
const ALL: readonly UsageApi[] = [...ALL_OPENAI, "anthropic", "google"];

/** Every field that holds a number in the usage objects of the five APIs, as of 2026-11-26, by the source of each. */
export const KNOWN_FIELDS: readonly KnownFields[] = [
  {
    source: "openai@6.49.0: CompletionUsage",
    apis: CHAT,
    fields: {
      priced: "prompt_tokens completion_tokens prompt_tokens_details.cached_tokens " +
        "prompt_tokens_details.cache_write_tokens prompt_tokens_details.audio_tokens " +
        "completion_tokens_details.reasoning_tokens completion_tokens_details.audio_tokens",
      // Rejected predictions are billed as the output that they are a part of.
      elsewhere: "total_tokens completion_tokens_details.accepted_prediction_tokens " +
        "completion_tokens_details.rejected_prediction_tokens",
    },
  },
  {
    source:
      "openai@6.49.0: ResponseUsage; tool_usage of a response, which its types leave out; ImagesResponse.Usage",
    apis: RESPONSES,
    fields: {
      priced:
        "input_tokens output_tokens input_tokens_details.cached_tokens input_tokens_details.cache_write_tokens " +
        "output_tokens_details.reasoning_tokens tool_usage.web_search.num_requests tool_usage.image_gen.input_tokens " +
        "tool_usage.image_gen.output_tokens tool_usage.image_gen.input_tokens_details.image_tokens " +
        "tool_usage.image_gen.output_tokens_details.image_tokens",
      elsewhere: "total_tokens tool_usage.image_gen.total_tokens " +
        "tool_usage.image_gen.input_tokens_details.text_tokens tool_usage.image_gen.output_tokens_details.text_tokens",
    },
  },
  {
    source:
      "OpenAI's API, with the lifetimes of GPT-6: cache_write_tokens_details; image tokens of chat and responses",
    apis: ALL_OPENAI,
    fields: {
      priced: both(
        "cached_tokens cache_write_tokens cache_write_tokens_details cached_tokens_details.audio_tokens cached_tokens_details.image_tokens " +
          "audio_tokens image_tokens video_tokens",
      ) + " " +
        bothOut(
          "audio_tokens image_tokens video_tokens reasoning_tokens thinking_tokens reasoning_output_tokens",
        ),
      elsewhere: both("text_tokens file_tokens cached_tokens_details.text_tokens") + " " +
        bothOut("text_tokens"),
    },
  },
  {
    source: "@anthropic-ai/sdk@1.14.0: BetaUsage, BetaMessageDeltaUsage",
    apis: ["anthropic"],
    fields: {
      priced:
        "input_tokens output_tokens cache_creation_input_tokens cache_read_input_tokens cache_creation " +
        "server_tool_use.web_search_requests server_tool_use.code_execution_requests output_tokens_details.thinking_tokens",
      free: "server_tool_use.web_fetch_requests server_tool_use.tool_search_requests",
    },
  },
  {
    source: "@anthropic-ai/sdk@1.14.0: BetaMessageIterationUsage, BetaCompactionIterationUsage, " +
      "BetaAdvisorMessageIterationUsage, BetaFallbackMessageIterationUsage; other types of iterations are not known",
    apis: ["anthropic"],
    fields: {
      priced: iteration(
        "input_tokens output_tokens cache_creation_input_tokens cache_read_input_tokens cache_creation",
      ),
      elsewhere: iteration("output_tokens_details server_tool_use"),
    },
  },
  {
    source:
      "@google/genai@2.32.0: GenerateContentResponseUsageMetadata, ModalityTokenCount; other modalities are not known",
    apis: ["google"],
    fields: {
      priced:
        "promptTokenCount candidatesTokenCount thoughtsTokenCount toolUsePromptTokenCount cachedContentTokenCount " +
        modalities("AUDIO IMAGE VIDEO"),
      elsewhere: "totalTokenCount initialPromptTokenCount " +
        modalities("TEXT DOCUMENT MODALITY_UNSPECIFIED"),
    },
  },
  {
    source: "groq-sdk@1.6.0: CompletionUsage, XGroq.Usage",
    apis: CHAT,
    fields: {
      priced: "dram_cached_tokens sram_cached_tokens",
      free: "queue_time prompt_time completion_time total_time",
    },
  },
  {
    source: "@perplexity-ai/perplexity_ai@0.38.5: UsageInfo, ResponsesUsage, EmbeddingsUsage",
    apis: ALL_OPENAI,
    fields: {
      priced:
        "citation_tokens num_search_queries reasoning_tokens tool_calls_details.web_search.invocation " +
        "tool_calls_details.search_web.invocation " +
        both("cache_creation_input_tokens cache_read_input_tokens"),
      unpriced: "tool_calls_details",
    },
  },
  {
    source: "@mistralai/mistralai@2.7.0: UsageInfo, ConversationUsageInfo",
    apis: CHAT,
    fields: {
      elsewhere: "connector_tokens",
      unpriced: "prompt_audio_seconds connectors",
    },
  },
  {
    source: "@openrouter/sdk@1.3.19: ChatUsage, ImageGenerationUsage, CostDetails",
    apis: ALL_OPENAI,
    fields: {
      priced:
        "server_tool_use.web_search_requests server_tool_use_details.web_search_requests cache_creation",
      elsewhere: "iterations server_tool_use.tool_calls_executed server_tool_use.tool_calls_requested " +
        "server_tool_use_details.tool_calls_executed server_tool_use_details.tool_calls_requested",
    },
  },
  {
    source: "@cerebras/cerebras_cloud_sdk@1.91.0, together-ai@0.52.0: ChatCompletionUsage",
    apis: CHAT,
    fields: { priced: "cached_tokens", elsewhere: "image_tokens" },
  },
  {
    source: "https://docs.x.ai/developers/tools/tool-usage-details, /developers/cost-tracking",
    apis: ALL_OPENAI,
    fields: {
      priced: xai(
        "web_search_calls x_search_calls x_posts_fetched x_users_fetched code_interpreter_calls " +
          "code_execution_calls file_search_calls collections_search_calls document_search_calls attachment_search_calls",
      ),
      elsewhere:
        "cost_in_usd_ticks num_server_side_tools_used context_details prompt_text_tokens prompt_image_tokens",
      free: "num_sources_used " + xai("mcp_calls view_image_calls view_x_video_calls"),
      unpriced: xai("image_generation_calls"),
    },
  },
  {
    source:
      "litellm 1.109.1: Usage, PromptTokensDetailsWrapper, CompletionTokensDetailsWrapper, ServerToolUse",
    apis: ALL_OPENAI,
    fields: {
      priced: "cache_read_input_tokens cache_creation_input_tokens " +
        both(
          "cache_creation_tokens cache_creation_token_details web_search_requests google_maps_grounding_requests",
        ),
      elsewhere: both("tool_use_tokens initial_prompt_tokens character_count"),
      free: "server_tool_use.tool_search_requests",
      unpriced: both("video_length_seconds audio_length_seconds image_count query_count"),
    },
  },
  {
    source: "DeepSeek, Moonshot, Zhipu, MiniMax, DashScope, Xiaomi, GigaChat, Doubao: their references",
    apis: ALL_OPENAI,
    fields: {
      priced:
        "prompt_cache_hit_tokens precached_prompt_tokens plugins.search.count x_tools.web_search.count " +
        "web_search_usage.tool_usage " + both("cache_creation cached_creation_tokens"),
      elsewhere: "prompt_cache_miss_tokens x_details total_characters web_search_usage.page_usage " +
        both("provisioned_tokens") + " " + bothOut("provisioned_tokens"),
    },
  },
  {
    source: "Costs that gateways state beside the counts: OpenRouter, LiteLLM, Vercel, Requesty",
    apis: ALL,
    fields: {
      elsewhere:
        "cost cost_details cost_usd estimated_cost total_cost upstream_cost market_cost cache_discount",
    },
  },
  {
    source:
      "Servers and proxies: vLLM, SGLang, new-api, one-hub, Requesty, Databricks, proxies of Bedrock and Gemini, DeepInfra",
    apis: ALL_OPENAI,
    fields: {
      priced:
        "cached_prompt_text_tokens num_cached_tokens cache_read_tokens cached_input_tokens cache_write_tokens " +
        "cacheReadInputTokens cacheReadInputTokenCount cacheWriteInputTokens cacheWriteInputTokenCount " +
        "cachedContentTokenCount cache_write_input_tokens claude_cache_creation_5_m_tokens " +
        "claude_cache_creation_1_h_tokens claude_cache_creation_5m_tokens claude_cache_creation_1h_tokens " +
        "cache_write_1h_tokens thinking_tokens cache_creation_token_details " +
        both(
          "caching_tokens created_cache_tokens num_cached_tokens cached_input_tokens cache_read_tokens " +
            "cache_write_input_tokens cache_write_1h_tokens",
        ),
      elsewhere:
        "input_tokens output_tokens prompt_tokens completion_tokens billed_units.input_tokens billed_units.output_tokens " +
        both("multimodal_tokens"),
      // SambaNova's and Cerebras' times.
      free: "time_to_first_token time_to_first_token_ms stop_reason acceptance_rate start_time end_time " +
        "completion_tokens_after_first_per_sec completion_tokens_after_first_per_sec_first_ten " +
        "completion_tokens_per_sec total_tokens_per_sec total_latency model_execution_time",
    },
  },
];

/** Paths in the details of the input of chat and of responses. */
function both(names: string): string {
  return under(names, "prompt_tokens_details", "input_tokens_details");
}

function bothOut(names: string): string {
  return under(names, "completion_tokens_details", "output_tokens_details");
}

function xai(names: string): string {
  return under(names, "server_side_tool_usage_details");
}

function iteration(names: string): string {
  return under(
    names,
    ...["message", "compaction", "advisor_message", "fallback_message"].map((type) => `iterations.${type}`),
  );
}

function modalities(names: string): string {
  const lists = [
    "promptTokensDetails",
    "cacheTokensDetails",
    "candidatesTokensDetails",
    "toolUsePromptTokensDetails",
  ];
  return under(names, ...lists);
}

function under(names: string, ...homes: readonly string[]): string {
  return homes.flatMap((home) => names.split(" ").map((name) => `${home}.${name}`)).join(" ");
}

/** Counts of no API that cost nothing whatever they stand for: times, speeds and sums of tokens. */
const HARMLESS =
  /^(?!.*(?:audio|video|image)).*(?:(?:^|[._])(?:time|latency|duration|timestamp|created|ms|ttft|tps|per_sec(?:ond)?|rate)$|(?:^|\.)total(?:_tokens|TokenCount)$)/;

/** The known fields of an object, by their names: the meaning of each, or those of the fields below it. */
interface Known {
  meaning?: FieldMeaning;
  below?: Map<string, Known>;
}

let trees: Map<UsageApi, Known> | undefined;

function knownTo(api: UsageApi): Known {
  if (!trees) {
    trees = new Map();
    for (const { apis, fields } of KNOWN_FIELDS) {
      for (const one of apis) {
        const root = trees.get(one) ?? {};
        trees.set(one, root);
        for (const [meaning, paths] of Object.entries(fields)) {
          for (const path of paths.split(" ")) addPath(root, path.split("."), meaning as FieldMeaning);
        }
      }
    }
  }
  return trees.get(api)!;
}

function addPath(root: Known, path: readonly string[], meaning: FieldMeaning): void {
  let at = root;
  for (const name of path) {
    at.below ??= new Map();
    const next = at.below.get(name) ?? {};
    at.below.set(name, next);
    at = next;
  }
  at.meaning = meaning;
}

/** The most names of one call; a usage object of any form could have as many as a body has. */
const MAX_NAMES = 20;
const MAX_NAME_LENGTH = 100;
const MAX_DEPTH = 10;
const MAX_FIELDS = 1_000;

/** Returns the name of a count that a provider has named: printable and of bounded length. */
export function nameOfCount(path: string): string {
  return path.slice(0, MAX_NAME_LENGTH).replace(/\p{C}/gu, "?");
}

/**
 * Returns the counts of a usage object that no rule prices and that may be billed, by their paths; undefined without any. What
 * no one knows is never free in silence.
 */
export function unknownCounts(api: UsageApi, raw: Fields): Record<string, number> | undefined {
  let found: Map<string, number> | undefined;
  let fields = 0;
  const add = (path: string, value: number, isNamed: boolean) => {
    if (value === 0 || (!isNamed && HARMLESS.test(path))) return;
    const name = nameOfCount(path);
    found ??= new Map();
    if (found.size >= MAX_NAMES && !found.has(name)) return;
    const quantity = Math.max(1, Math.round(Math.abs(value)));
    found.set(name, Math.min(MAX_CALL_TOKENS, (found.get(name) ?? 0) + quantity));
  };
  /** `isNamed` is true below a field that is known to be billed. */
  const walk = (
    fieldsOf: Fields,
    known: Known | undefined,
    path: string,
    depth: number,
    isNamed: boolean,
  ) => {
    for (const name in fieldsOf) {
      const value = fieldsOf[name];
      if (typeof value !== "number" && (typeof value !== "object" || value === null)) continue;
      if (value === 0 || fields++ > MAX_FIELDS) continue;
      const own = known?.below?.get(name);
      if (own?.meaning !== undefined && own.meaning !== "unpriced") continue;
      look(value, own, path === "" ? name : `${path}.${name}`, depth, isNamed || own?.meaning === "unpriced");
    }
  };
  const look = (
    value: unknown,
    known: Known | undefined,
    path: string,
    depth: number,
    isNamed: boolean,
  ): void => {
    if (typeof value === "number") return add(path, value, isNamed);
    if (typeof value !== "object" || value === null) return;
    if (depth >= MAX_DEPTH) return add(path, 1, true);
    if (!Array.isArray(value)) return walk(value as Fields, known, path, depth + 1, isNamed);
    for (const entry of value) {
      // Lists have entries of a type or a modality, which is a part of the path.
      const kind = isFields(entry) ? entry.type ?? entry.modality : undefined;
      if (typeof kind !== "string") look(entry, known, path, depth + 1, isNamed);
      else {
        const own = known?.below?.get(kind);
        const isFree = own?.meaning !== undefined && own.meaning !== "unpriced";
        if (!isFree) look(entry, own, `${path}.${kind}`, depth + 1, isNamed || own?.meaning === "unpriced");
      }
    }
  };
  walk(raw, knownTo(api), "", 0, false);
  return found && Object.fromEntries(found);
}
