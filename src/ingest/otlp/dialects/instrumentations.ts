import {
  GEN_AI,
  GEN_AI_AGENT,
  GEN_AI_CALL,
  GEN_AI_COUNTS,
  GEN_AI_RULES,
  OPENINFERENCE,
  OPENINFERENCE_RULES,
  TRACELOOP,
  TRACELOOP_CALL,
} from "./conventions.ts";
import type { Counts, Dialect } from "./dialect.ts";

/* Instrumentations of SDKs and frameworks, and the SDKs' own spans. */

const USAGE = "langfuse.observation.usage_details";

const LANGFUSE_COUNTS: readonly Counts[] = [
  // The wrapper of OpenAI's SDK writes the provider's usage as it is.
  {
    input: [`${USAGE}.prompt_tokens`],
    output: [`${USAGE}.completion_tokens`],
    cacheRead: [`${USAGE}.prompt_tokens_details.cached_tokens`],
    cacheWrite: [`${USAGE}.prompt_tokens_details.cache_write_tokens`],
    reasoning: [`${USAGE}.completion_tokens_details.reasoning_tokens`],
  },
  {
    has: { [`${USAGE}.cache_read_input_tokens`]: true },
    input: [`${USAGE}.input_tokens`, `${USAGE}.input`],
    output: [`${USAGE}.output_tokens`, `${USAGE}.output`],
    cacheRead: [`${USAGE}.cache_read_input_tokens`],
    cacheWrite: [`${USAGE}.cache_creation_input_tokens`],
    cacheWrite1h: [`${USAGE}.cache_creation.ephemeral_1h_input_tokens`],
    isCacheBeside: true,
  },
  {
    input: [`${USAGE}.input_tokens`],
    output: [`${USAGE}.output_tokens`],
    cacheRead: [`${USAGE}.input_tokens_details.cached_tokens`],
    cacheWrite: [`${USAGE}.input_tokens_details.cache_write_tokens`],
    reasoning: [`${USAGE}.output_tokens_details.reasoning_tokens`],
  },
  // Langfuse's own buckets, which share no token.
  {
    input: [`${USAGE}.input`],
    output: [`${USAGE}.output`],
    cacheRead: [`${USAGE}.input_cache_read`, `${USAGE}.input_cached_tokens`],
    cacheWrite: [`${USAGE}.input_cache_creation`, `${USAGE}.cache_creation_input_tokens`],
    reasoning: [`${USAGE}.output_reasoning`, `${USAGE}.output_reasoning_tokens`],
    isCacheBeside: true,
    outputIs: "beside",
  },
];

const OBJECT = "metadata.usage_object";

export const INSTRUMENTATIONS: readonly Dialect[] = [
  {
    name: "anthropic-sdk",
    seen: "anthropic 2.14.0 (Python), 2026-11",
    shownBy: "openinference-anthropic/01-calls",
    scope: /^com\.anthropic\.sdk\./,
    rules: [GEN_AI_CALL],
    fields: GEN_AI,
    holes: [],
  },
  {
    name: "anthropic-platform",
    seen: "beta of 2026-10",
    shownBy: "https://platform.claude.com/docs/en/api/opentelemetry/spans",
    scope: /^com\.anthropic\.\w+-platform/,
    rules: [{ is: "repeat", when: { has: { "gen_ai.usage.input_tokens": true } } }],
    fields: GEN_AI,
    hint:
      "The spans of Claude's API repeat those of its clients, and are not booked: export those of the SDK",
    holes: ["Only the spans of clients are booked."],
  },
  {
    name: "openllmetry-google",
    seen: "0.21.5, 2026-11",
    shownBy: "openllmetry-google/01-calls",
    scope: /^opentelemetry\.instrumentation\.google_generativeai$/,
    rules: GEN_AI_RULES,
    fields: {
      ...GEN_AI,
      counts: [{ ...GEN_AI_COUNTS, total: ["gen_ai.usage.total_tokens"], outputIs: "rest" }],
    },
    holes: [
      "The thoughts are not told apart: the output is the total without the input.",
      "Of automatic function calling only the last call is told, and embeddings are not.",
    ],
  },
  {
    // A stream's output has message_start's placeholder, too: the SDK's own span is the better witness.
    name: "openllmetry-anthropic",
    seen: "0.62.4, 2026-11",
    shownBy: "openllmetry-anthropic/01-calls",
    scope: /^opentelemetry\.instrumentation\.anthropic$/,
    rules: [{ ...GEN_AI_CALL, quality: "derived" }, TRACELOOP_CALL],
    fields: TRACELOOP,
    holes: ["A stream's output is a few tokens too high, unless the SDK's own span is there."],
  },
  {
    // It writes 0 for the cache writes of Claude: the SDK's own span is the better witness.
    name: "openllmetry-langchain",
    seen: "0.62.4, 2026-11",
    shownBy: "langchain-openllmetry/02-sdk-instrumented-too",
    scope: /^opentelemetry\.instrumentation\.langchain$/,
    rules: [
      { ...GEN_AI_CALL, when: { name: /^ChatAnthropic/, ...GEN_AI_CALL.when }, quality: "derived" },
      ...GEN_AI_RULES,
      TRACELOOP_CALL,
    ],
    fields: TRACELOOP,
    holes: ["Reasoning tokens and the cache writes of Claude are missing."],
  },
  {
    name: "otel-google-genai",
    seen: "1.3b0, 2026-11",
    shownBy: "otel-google-genai/01-calls",
    scope: /^opentelemetry\.instrumentation\.google_genai$/,
    rules: GEN_AI_RULES,
    fields: GEN_AI,
    holes: ["Of automatic function calling only the last call is told."],
  },
  {
    name: "otel-openai-v2",
    seen: "2.4b0, 2026-11",
    shownBy: "otel-openai-v2/01-calls",
    scope: /^opentelemetry\.instrumentation\.openai_v2$/,
    rules: GEN_AI_RULES,
    fields: GEN_AI,
    holes: ["Cached and reasoning tokens are missing, and so are calls of the Responses API and of parse()."],
  },
  {
    name: "otel-genai",
    seen: "genai-openai, genai-anthropic, util-genai 1.3b0, 2026-11",
    shownBy: "otel-genai-openai/01-calls",
    scope:
      /^opentelemetry\.(?:instrumentation\.genai|util\.genai)\.|^@opentelemetry\/instrumentation-openai$/,
    rules: GEN_AI_RULES,
    fields: GEN_AI,
    holes: ["A stream without include_usage has no counts."],
  },
  {
    name: "openllmetry",
    seen: "0.62.4, 2026-11",
    shownBy: "openllmetry-openai/01-calls, langchain-openllmetry/02-sdk-instrumented-too",
    scope: /^opentelemetry\.instrumentation\.|^@traceloop\//,
    rules: [...GEN_AI_RULES, TRACELOOP_CALL],
    fields: TRACELOOP,
    holes: ["A stream without include_usage has no counts, and a streamed chat no reasoning tokens."],
  },
  {
    name: "openinference-agno",
    seen: "1.0.15 with agno 3.1.10, 2026-11",
    shownBy: "agno-openinference/01-agent",
    scope: /^openinference\.instrumentation\.agno$/,
    rules: [
      {
        is: "call",
        when: { name: /Claude\./, has: { "openinference.span.kind": ["LLM"] } },
        fields: { counts: [{ ...OPENINFERENCE.counts[0], isCacheBeside: true }] },
      },
      ...OPENINFERENCE_RULES,
    ],
    fields: OPENINFERENCE,
    holes: [],
  },
  {
    name: "openinference-langchain",
    seen: "0.1.80 (Python), 4.1.1 (JavaScript), 2026-11",
    shownBy: "langchain-openinference/01-agent",
    scope: /^(?:openinference\.instrumentation\.|@arizeai\/openinference-instrumentation-)langchain$/,
    rules: [
      // LangChain.js adds message_start's placeholder to the output of a stream.
      {
        ...OPENINFERENCE_RULES[0]!,
        when: { name: /^ChatAnthropic/, ...OPENINFERENCE_RULES[0]!.when },
        quality: "derived",
      },
      ...OPENINFERENCE_RULES,
    ],
    fields: {
      ...OPENINFERENCE,
      counts: [{
        ...OPENINFERENCE.counts[0],
        cacheWrite1h: [
          "output.value.generations.0.0.message.kwargs.usage_metadata.input_token_details.ephemeral_1h_input_tokens",
        ],
      }],
      responseId: [
        "output.value.llm_output.id",
        "output.value.generations.0.0.message.kwargs.response_metadata.id",
        "output.value.generations.0.0.message.kwargs.id",
      ],
      agent: ["agent.name", "metadata.lc_agent_name"],
    },
    texts: { "output.value": "json", metadata: "json" },
    ownIds: /^(?:lc_)?run-/,
    holes: ["Embeddings are missing.", "The output of a stream of Claude may be a few tokens too high."],
  },
  {
    name: "openinference-openai-agents",
    seen: "2.6.0 (Python), 0.2.15 (JavaScript), 2026-11",
    shownBy: "openai-agents-py/01-openinference, openai-agents-js/01-openinference",
    scope:
      /^(?:openinference\.instrumentation\.openai_agents|@arizeai\/openinference-instrumentation-openai-agents)$/,
    rules: OPENINFERENCE_RULES,
    fields: { ...OPENINFERENCE, agent: ["agent.name", "graph.node.id"] },
    texts: { "output.value": "json" },
    holes: ["A stream of chat completions has no counts, as the SDK asks for none."],
  },
  {
    name: "openinference",
    seen: "OpenAI 0.1.66, Anthropic 3.1.0, smolagents 0.1.43, LlamaIndex 4.6.1, 2026-11",
    shownBy: "openinference-openai/01-calls, openinference-anthropic/01-calls",
    scope: /^openinference\.instrumentation\.|^@arizeai\/openinference-/,
    rules: OPENINFERENCE_RULES,
    fields: OPENINFERENCE,
    texts: { "output.value": "json" },
    holes: [
      "A stream that asks for no usage has no counts.",
      "A stream that is given up tells its first output token only.",
    ],
  },
  {
    name: "langfuse",
    seen: "5.0.4 (Python), 2026-11",
    shownBy: "langfuse/01-calls",
    scope: /^langfuse/,
    rules: [
      { is: "call", when: { has: { "langfuse.observation.type": ["generation", "embedding"] } } },
      {
        is: "agent",
        when: { has: { "langfuse.observation.type": ["agent"] } },
        fields: { agent: ["@name"] },
      },
    ],
    fields: {
      counts: LANGFUSE_COUNTS,
      model: ["langfuse.observation.model.name"],
      session: ["session.id", "langfuse.session.id"],
      cost: ["langfuse.observation.cost_details.total"],
    },
    texts: { [USAGE]: "json", "langfuse.observation.cost_details": "json" },
    holes: ["A stream without include_usage has no counts."],
  },
  {
    name: "litellm",
    seen: "1.108.7, 2026-11",
    shownBy: "litellm/01-calls",
    scope: /^litellm$/,
    rules: [
      { is: "other", when: { name: /^raw_gen_ai_request$/ } },
      // An answer of LiteLLM's own cache: its id and counts again, and no call of a provider.
      { is: "other", when: { has: { "hidden_params.cache_key": true, "gen_ai.cost.total_cost": false } } },
      // LiteLLM counts the tokens itself where a stream has no usage.
      {
        ...TRACELOOP_CALL,
        when: {
          has: {
            ...TRACELOOP_CALL.when.has,
            "llm.is_streaming": ["True"],
            [`${OBJECT}.prompt_tokens_details`]: false,
          },
        },
        quality: "provisional",
      },
      TRACELOOP_CALL,
      GEN_AI_CALL,
    ],
    fields: {
      ...TRACELOOP,
      counts: [{
        input: TRACELOOP.counts[0]!.input,
        output: TRACELOOP.counts[0]!.output,
        cacheRead: [`${OBJECT}.prompt_tokens_details.cached_tokens`, `${OBJECT}.cache_read_input_tokens`],
        cacheWrite: [
          `${OBJECT}.cache_creation_input_tokens`,
          `${OBJECT}.prompt_tokens_details.cache_creation_tokens`,
        ],
        cacheWrite1h: [
          `${OBJECT}.prompt_tokens_details.cache_creation_token_details.ephemeral_1h_input_tokens`,
        ],
        reasoning: [`${OBJECT}.completion_tokens_details.reasoning_tokens`],
      }],
      cost: ["gen_ai.cost.total_cost", "litellm.cost.total"],
    },
    texts: { [OBJECT]: "python", hidden_params: "json" },
    ownIds: /^(?:chatcmpl-)?[0-9a-f]{8}-[0-9a-f]{4}-|^resp_bGl0ZWxsbT/,
    holes: ["The counts of a stream without include_usage are LiteLLM's own guess."],
  },
  {
    name: "openlit",
    seen: "1.45.0, from its source, 2026-11",
    shownBy: "openlit/semcov/__init__.py",
    scope: /^openlit\./,
    rules: [GEN_AI_CALL, GEN_AI_AGENT],
    fields: GEN_AI,
    holes: [],
  },
];
