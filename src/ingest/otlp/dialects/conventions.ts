import type { Counts, Fields, Rule } from "./dialect.ts";

/*
 * The vocabularies that several programs share, with both names of every attribute that was renamed. Sources and dates: OpenTelemetry
 * semantic-conventions-genai, docs/gen-ai/non-normative/migration.md (2026-06); openinference semconv/trace/__init__.py (2026-10);
 * openllmetry semconv_ai/__init__.py (2026-10); vercel/ai packages/otel/src/legacy-open-telemetry.ts (2026-10).
 */

export const GEN_AI_COUNTS: Counts = {
  input: ["gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens"],
  output: ["gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens"],
  cacheRead: [
    "gen_ai.usage.cache_read.input_tokens",
    "gen_ai.usage.cache_read_input_tokens",
    "gen_ai.usage.details.cache_read_tokens",
    "gen_ai.usage.prompt_tokens_details.cached_tokens",
    "gen_ai.usage.cached_input_tokens",
  ],
  cacheWrite: [
    "gen_ai.usage.cache_write.input_tokens",
    "gen_ai.usage.cache_creation.input_tokens",
    "gen_ai.usage.cache_write_input_tokens",
    "gen_ai.usage.cache_creation_input_tokens",
    "gen_ai.usage.details.cache_write_tokens",
    "gen_ai.usage.prompt_tokens_details.cache_creation_tokens",
  ],
  cacheWrite1h: ["anthropic.usage.cache_creation.ephemeral_1h_input_tokens"],
  reasoning: [
    "gen_ai.usage.reasoning.output_tokens",
    "gen_ai.usage.reasoning_tokens",
    "gen_ai.usage.details.reasoning_tokens",
    "gen_ai.usage.details.thoughts_tokens",
    "gen_ai.usage.completion_tokens_details.reasoning_tokens",
    "llm.usage.reasoning_tokens",
  ],
};

export const GEN_AI: Fields = {
  counts: [GEN_AI_COUNTS],
  provider: ["gen_ai.provider.name", "gen_ai.system"],
  model: ["gen_ai.response.model", "gen_ai.request.model"],
  responseId: ["gen_ai.response.id"],
  requestId: ["anthropic.request.id"],
  session: ["gen_ai.conversation.id", "session.id", "traceloop.association.properties.session_id"],
  agent: ["gen_ai.agent.name", "gen_ai.agent.id"],
  serviceTier: [
    "openai.response.service_tier",
    "gen_ai.openai.response.service_tier",
    "anthropic.response.service_tier",
  ],
  cost: ["operation.cost", "gen_ai.usage.cost"],
};

const OPERATION = "gen_ai.operation.name";

export const GEN_AI_CALL: Rule = {
  is: "call",
  when: {
    has: { [OPERATION]: ["chat", "generate_content", "text_completion", "text_completions", "embeddings"] },
  },
};

export const GEN_AI_AGENT: Rule = {
  is: "agent",
  when: { has: { [OPERATION]: ["invoke_agent", "create_agent", "invoke_workflow", "plan"] } },
};

/** The event that repeats its span with the messages; a sender without spans has it alone. */
export const GEN_AI_DETAILS: Rule = {
  is: "call",
  when: { signal: "log", name: /^gen_ai\.client\.inference\.operation\.details$/ },
  isSecond: true,
  ref: "span",
};

export const GEN_AI_RULES: readonly Rule[] = [GEN_AI_DETAILS, GEN_AI_CALL, GEN_AI_AGENT];

export const OPENINFERENCE: Fields = {
  counts: [{
    input: ["llm.token_count.prompt"],
    output: ["llm.token_count.completion"],
    cacheRead: ["llm.token_count.prompt_details.cache_read"],
    cacheWrite: ["llm.token_count.prompt_details.cache_write"],
    cacheWrite1h: ["output.value.usage.cache_creation.ephemeral_1h_input_tokens"],
    reasoning: ["llm.token_count.completion_details.reasoning"],
  }],
  provider: ["llm.provider", "llm.system"],
  model: ["llm.response.model_name", "llm.model_name", "embedding.model_name", "llm.request.model_name"],
  responseId: ["output.value.id", "output.value.response_id", "output.value.responseId"],
  session: ["session.id"],
  agent: ["agent.name"],
  serviceTier: ["output.value.service_tier", "output.value.usage.service_tier"],
  cost: ["llm.cost.total"],
};

export const OPENINFERENCE_RULES: readonly Rule[] = [
  {
    is: "call",
    when: { has: { "openinference.span.kind": ["LLM", "EMBEDDING"] } },
  },
  { is: "agent", when: { has: { "openinference.span.kind": ["AGENT"] } } },
];

/** OpenLLMetry before it took the conventions, and LiteLLM. */
export const TRACELOOP: Fields = {
  ...GEN_AI,
  counts: [{
    ...GEN_AI_COUNTS,
    input: [...GEN_AI_COUNTS.input!, "llm.usage.prompt_tokens"],
    output: [...GEN_AI_COUNTS.output!, "llm.usage.completion_tokens"],
  }],
  model: [...GEN_AI.model!, "llm.response.model", "llm.request.model"],
};

export const TRACELOOP_CALL: Rule = {
  is: "call",
  when: {
    has: { "llm.request.type": ["chat", "completion", "acompletion", "responses", "embedding", "rerank"] },
  },
};

const AI_SDK_COUNTS: Counts = {
  input: ["ai.usage.inputTokens", "ai.usage.promptTokens", "ai.usage.tokens", "gen_ai.usage.input_tokens"],
  output: ["ai.usage.outputTokens", "ai.usage.completionTokens", "gen_ai.usage.output_tokens"],
  cacheRead: ["ai.usage.inputTokenDetails.cacheReadTokens", "ai.usage.cachedInputTokens"],
  cacheWrite: [
    "ai.usage.inputTokenDetails.cacheWriteTokens",
    "ai.response.providerMetadata.anthropic.usage.cache_creation_input_tokens",
  ],
  cacheWrite1h: [
    "ai.response.providerMetadata.anthropic.usage.cache_creation.ephemeral_1h_input_tokens",
  ],
  reasoning: ["ai.usage.outputTokenDetails.reasoningTokens", "ai.usage.reasoningTokens"],
};

export const AI_SDK: Fields = {
  counts: [AI_SDK_COUNTS],
  provider: ["ai.model.provider", "gen_ai.system"],
  model: ["ai.response.model", "gen_ai.response.model", "ai.model.id"],
  responseId: ["ai.response.id", "gen_ai.response.id"],
  session: ["ai.telemetry.metadata.sessionId", "session.id"],
  agent: ["ai.telemetry.functionId"],
  serviceTier: [
    "ai.response.providerMetadata.openai.serviceTier",
    "ai.response.providerMetadata.anthropic.usage.service_tier",
  ],
};

export const AI_SDK_RULES: readonly Rule[] = [
  {
    is: "call",
    when: {
      has: {
        "ai.operationId": [
          "ai.generateText.doGenerate",
          "ai.streamText.doStream",
          "ai.generateObject.doGenerate",
          "ai.streamObject.doStream",
          "ai.embed.doEmbed",
          "ai.embedMany.doEmbed",
          "ai.rerank.doRerank",
        ],
      },
    },
  },
  {
    is: "agent",
    when: {
      has: {
        "ai.operationId": [
          "ai.generateText",
          "ai.streamText",
          "ai.generateObject",
          "ai.streamObject",
          "ai.embed",
          "ai.embedMany",
        ],
      },
    },
  },
];
