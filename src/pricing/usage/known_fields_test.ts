import assert from "node:assert/strict";
import fc from "#dev/fast_check.ts";
import { KNOWN_FIELDS, unknownCounts } from "./known_fields.ts";
import { USAGE_APIS, type UsageApi } from "./usage_from_raw.ts";

type Fields = Record<string, unknown>;

const modalities = (...names: string[]) => names.map((modality) => ({ modality, tokenCount: 3 }));
const ANTHROPIC_COUNTS = {
  input_tokens: 1,
  output_tokens: 2,
  cache_creation_input_tokens: 3,
  cache_read_input_tokens: 4,
  cache_creation: { ephemeral_5m_input_tokens: 1, ephemeral_1h_input_tokens: 2 },
};

/** The usage objects of the packages' types of 2026-11-26, with every field that can hold a number; and what has no price. */
const objects: [type: string, api: UsageApi, usage: Fields, unpriced?: Record<string, number>][] = [
  ["openai@6.49.0 CompletionUsage", "openai-chat", {
    prompt_tokens: 9,
    completion_tokens: 8,
    total_tokens: 17,
    prompt_tokens_details: { audio_tokens: 1, cache_write_tokens: 2, cached_tokens: 3 },
    completion_tokens_details: {
      accepted_prediction_tokens: 1,
      audio_tokens: 2,
      reasoning_tokens: 3,
      rejected_prediction_tokens: 1,
    },
  }],
  ["openai@6.49.0 ResponseUsage", "openai-responses", {
    input_tokens: 9,
    input_tokens_details: { cache_write_tokens: 1, cached_tokens: 2 },
    output_tokens: 8,
    output_tokens_details: { reasoning_tokens: 3 },
    total_tokens: 17,
  }],
  ["tool_usage of a response", "openai-responses", {
    tool_usage: {
      web_search: { num_requests: 2 },
      image_gen: {
        input_tokens: 3,
        input_tokens_details: { image_tokens: 1, text_tokens: 2 },
        output_tokens: 4,
        output_tokens_details: { image_tokens: 3, text_tokens: 1 },
        total_tokens: 7,
      },
    },
  }],
  ["@anthropic-ai/sdk@1.14.0 BetaUsage", "anthropic", {
    ...ANTHROPIC_COUNTS,
    fallback_credit: { status: { type: "redeemed" } },
    inference_geo: "us",
    iterations: ["message", "compaction", "advisor_message", "fallback_message"].map((type) => ({
      ...ANTHROPIC_COUNTS,
      type,
      model: "claude-opus-5",
    })),
    output_tokens_details: { thinking_tokens: 1 },
    server_tool_use: { web_fetch_requests: 1, web_search_requests: 2 },
    service_tier: "standard",
    speed: "standard",
  }],
  ["@google/genai@2.32.0 GenerateContentResponseUsageMetadata", "google", {
    cacheTokensDetails: modalities("TEXT", "IMAGE", "VIDEO", "AUDIO", "DOCUMENT", "MODALITY_UNSPECIFIED"),
    cachedContentTokenCount: 1,
    candidatesTokenCount: 2,
    candidatesTokensDetails: modalities("TEXT", "IMAGE", "VIDEO", "AUDIO"),
    promptTokenCount: 3,
    promptTokensDetails: modalities("TEXT", "IMAGE", "VIDEO", "AUDIO", "DOCUMENT", "MODALITY_UNSPECIFIED"),
    thoughtsTokenCount: 4,
    toolUsePromptTokenCount: 5,
    toolUsePromptTokensDetails: modalities("TEXT", "DOCUMENT"),
    totalTokenCount: 14,
    trafficType: "ON_DEMAND",
    initialPromptTokenCount: 3,
  }],
  ["groq-sdk@1.6.0 CompletionUsage", "openai-compatible", {
    prompt_tokens: 9,
    completion_tokens: 8,
    total_tokens: 17,
    completion_time: 0.1,
    prompt_time: 0.2,
    queue_time: 0.3,
    total_time: 0.6,
    completion_tokens_details: { reasoning_tokens: 1 },
    prompt_tokens_details: { cached_tokens: 2 },
    dram_cached_tokens: 1,
    sram_cached_tokens: 1,
  }],
  ["@perplexity-ai/perplexity_ai@0.38.5 UsageInfo", "openai-compatible", {
    prompt_tokens: 9,
    completion_tokens: 8,
    total_tokens: 17,
    citation_tokens: 1,
    num_search_queries: 2,
    reasoning_tokens: 3,
    search_context_size: "low",
    cost: {
      citation_tokens_cost: 0.1,
      input_tokens_cost: 0.1,
      output_tokens_cost: 0.1,
      reasoning_tokens_cost: 0.1,
      request_cost: 0.1,
      search_queries_cost: 0.1,
      total_cost: 0.6,
    },
  }],
  ["@perplexity-ai/perplexity_ai@0.38.5 ResponsesUsage", "openai-responses", {
    input_tokens: 9,
    output_tokens: 8,
    total_tokens: 17,
    input_tokens_details: { cache_creation_input_tokens: 1, cache_read_input_tokens: 2 },
    tool_calls_details: { web_search: { invocation: 2 }, fetch_url: { invocation: 3 } },
    cost: { currency: "USD", input_cost: 0.1, output_cost: 0.1, tool_calls_cost: 0.1, total_cost: 0.3 },
  }, { "tool_calls_details.fetch_url.invocation": 3 }],
  ["@mistralai/mistralai@2.7.0 UsageInfo, ConversationUsageInfo", "openai-compatible", {
    prompt_tokens: 9,
    completion_tokens: 8,
    total_tokens: 17,
    prompt_audio_seconds: 4,
    connector_tokens: 2,
    connectors: { web_search: 1 },
  }, { prompt_audio_seconds: 4, "connectors.web_search": 1 }],
  ["@openrouter/sdk@1.3.19 ChatUsage, ImageGenerationUsage", "openai-compatible", {
    prompt_tokens: 9,
    completion_tokens: 8,
    total_tokens: 17,
    completion_tokens_details: {
      accepted_prediction_tokens: 1,
      audio_tokens: 1,
      image_tokens: 1,
      reasoning_tokens: 1,
      rejected_prediction_tokens: 1,
    },
    prompt_tokens_details: {
      audio_tokens: 1,
      cache_write_tokens: 1,
      cached_tokens: 1,
      file_tokens: 1,
      video_tokens: 1,
    },
    cost: 0.1,
    cost_details: {
      server_tool_cost: 0.1,
      upstream_inference_completions_cost: 0.1,
      upstream_inference_cost: 0.1,
      upstream_inference_prompt_cost: 0.1,
    },
    is_byok: true,
    cache_creation: { ephemeral_5m_input_tokens: 1 },
    iterations: [{ ...ANTHROPIC_COUNTS, type: "message" }],
    server_tool_use: { tool_calls_executed: 1, tool_calls_requested: 1, web_search_requests: 1 },
    server_tool_use_details: { tool_calls_executed: 1, tool_calls_requested: 1, web_search_requests: 1 },
  }],
  ["@cerebras/cerebras_cloud_sdk@1.91.0 Usage", "openai-compatible", {
    prompt_tokens: 9,
    completion_tokens: 8,
    total_tokens: 17,
    image_tokens: 2,
    completion_tokens_details: {
      accepted_prediction_tokens: 1,
      reasoning_tokens: 1,
      rejected_prediction_tokens: 1,
    },
    prompt_tokens_details: { cached_tokens: 1 },
  }],
  ["together-ai@0.52.0 ChatCompletionUsage", "openai-compatible", {
    prompt_tokens: 9,
    completion_tokens: 8,
    total_tokens: 17,
    cached_tokens: 3,
  }],
  ["docs.x.ai, a response of 2026-11", "openai-responses", {
    input_tokens: 7_583,
    input_tokens_details: { cached_tokens: 3_072 },
    output_tokens: 3_192,
    output_tokens_details: { reasoning_tokens: 1 },
    total_tokens: 10_775,
    num_sources_used: 4,
    num_server_side_tools_used: 9,
    cost_in_usd_ticks: 292_331_500,
    server_side_tool_usage_details: {
      web_search_calls: 1,
      x_search_calls: 3,
      x_posts_fetched: 5,
      x_users_fetched: 6,
      code_interpreter_calls: 1,
      file_search_calls: 1,
      mcp_calls: 1,
      document_search_calls: 1,
      image_generation_calls: 2,
    },
    context_details: { input_tokens: 5_993, output_tokens: 2_995 },
  }, { "server_side_tool_usage_details.image_generation_calls": 2 }],
  ["litellm 1.109.1 Usage", "openai-compatible", {
    prompt_tokens: 9,
    completion_tokens: 8,
    total_tokens: 17,
    cost: 0.1,
    cache_creation_input_tokens: 1,
    cache_read_input_tokens: 1,
    completion_tokens_details: { text_tokens: 1, image_tokens: 1, video_tokens: 1, reasoning_tokens: 1 },
    prompt_tokens_details: {
      text_tokens: 1,
      image_tokens: 1,
      video_tokens: 1,
      web_search_requests: 1,
      google_maps_grounding_requests: 1,
      tool_use_tokens: 1,
      initial_prompt_tokens: 1,
      character_count: 1,
      cache_write_tokens: 1,
      cache_creation_tokens: 1,
      cache_creation_token_details: {
        ephemeral_5m_input_tokens: 1,
        ephemeral_30m_input_tokens: 1,
        ephemeral_1h_input_tokens: 1,
        ephemeral_12h_input_tokens: 1,
      },
      cached_tokens_details: { audio_tokens: 1, image_tokens: 1, text_tokens: 1 },
      image_count: 2,
      video_length_seconds: 1.6,
    },
    server_tool_use: { web_search_requests: 1, tool_search_requests: 1, browser_open_requests: 4 },
  }, {
    "prompt_tokens_details.image_count": 2,
    "prompt_tokens_details.video_length_seconds": 2,
    "server_tool_use.browser_open_requests": 4,
  }],
];

for (const [type, api, usage, unpriced] of objects) {
  Deno.test(`every field of ${type} is priced, counted elsewhere, free, or named as unpriced`, () => {
    assert.deepEqual(unknownCounts(api, usage), unpriced);
  });
}

/** Sets the number at a path. */
function set(fields: Fields, path: readonly string[], value: number): Fields {
  const [name = "", ...rest] = path;
  return { ...fields, [name]: rest.length === 0 ? value : set((fields[name] ?? {}) as Fields, rest, value) };
}

Deno.test("of each known field its meaning holds, and the table names its source and its version or date", () => {
  for (const { source, apis, fields } of KNOWN_FIELDS) {
    assert.ok(source.length > 10);
    for (const [meaning, paths] of Object.entries(fields)) {
      for (const path of paths.split(" ")) {
        for (const api of apis) {
          const found = unknownCounts(api, set({}, path.split("."), 7));
          // A field that is billed with one server may be priced with another.
          if (meaning === "unpriced") assert.ok(found === undefined || found[path] === 7, path);
          else assert.equal(found, undefined, `${api} ${path}`);
        }
      }
    }
  }
});

const HARMLESS = [
  "queue_time",
  "latency",
  "decode_ms",
  "total_duration",
  "total_tokens",
  "tokens.per_second",
];

Deno.test("a count that nobody knows is named with its path, at any depth, unless it is a time, a speed or a sum", () => {
  const paths = fc.array(fc.constantFrom("alpha", "beta", "gamma_units", "delta_requests"), {
    minLength: 1,
    maxLength: 4,
  });
  fc.assert(
    fc.property(fc.constantFrom(...USAGE_APIS), paths, fc.integer({ min: 1, max: 999 }), (api, path, n) => {
      assert.deepEqual(unknownCounts(api, set({}, path, n)), { [path.join(".")]: n });
      assert.equal(unknownCounts(api, set({}, path, 0)), undefined);
    }),
  );
  for (const name of HARMLESS) {
    assert.equal(unknownCounts("openai-chat", set({}, name.split("."), 3)), undefined, name);
  }
  for (const name of ["audio_duration", "video_seconds", "total_images"]) {
    assert.deepEqual(unknownCounts("openai-chat", { [name]: 3 }), { [name]: 3 });
  }
});

Deno.test("a usage object of any size and form is read in bounds", () => {
  const many = Object.fromEntries(Array.from({ length: 5_000 }, (_, i) => [`name_${i}`.padEnd(300, "x"), i]));
  const found = unknownCounts("anthropic", many)!;
  assert.equal(Object.keys(found).length, 20);
  assert.ok(Object.keys(found).every((name) => name.length <= 100));
  let deep: Fields = { tokens: 1 };
  for (let i = 0; i < 1_000; i++) deep = { deep };
  assert.deepEqual(unknownCounts("google", deep), { [Array(11).fill("deep").join(".")]: 1 });
  assert.deepEqual(unknownCounts("google", { list: [1, [2], { type: "a", n: 3 }, null, "4", true] }), {
    list: 3,
    "list.a.n": 3,
  });
  const odd = unknownCounts("google", JSON.parse('{"__proto__": 2, "a\\u001b[31m\\ud800": 3}'))!;
  assert.deepEqual(Object.entries(odd), [["__proto__", 2], ["a?[31m?", 3]]);
});
