import {
  AI_SDK,
  AI_SDK_RULES,
  GEN_AI,
  GEN_AI_AGENT,
  GEN_AI_CALL,
  GEN_AI_COUNTS,
  GEN_AI_RULES,
} from "./conventions.ts";
import type { Dialect } from "./dialect.ts";

/* Frameworks with telemetry of their own. */

export const FRAMEWORKS: readonly Dialect[] = [
  {
    name: "ai-sdk",
    seen: "7.0.173 with @ai-sdk/otel 1.0.173, 2026-11",
    shownBy: "ai-sdk/01-v7",
    scope: /^(?:gen_ai|@ai-sdk\/otel)$/,
    rules: [...GEN_AI_RULES, ...AI_SDK_RULES.map((rule) => ({ ...rule, fields: AI_SDK }))],
    fields: GEN_AI,
    texts: { "ai.response.providerMetadata": "json" },
    holes: ["Reasoning tokens and the lifetime of cache writes are missing."],
  },
  {
    name: "ai-sdk-legacy",
    seen: "6.0.326, and LegacyOpenTelemetry of 7.0.173, 2026-11",
    shownBy: "ai-sdk/03-v6",
    scope: /^ai$/,
    rules: AI_SDK_RULES,
    fields: AI_SDK,
    texts: { "ai.response.providerMetadata": "json" },
    holes: ["generateObject tells neither cached nor reasoning tokens."],
  },
  {
    name: "pydantic-ai",
    seen: "2.62.0, formats 2 and 5, and logfire 5.4.0, 2026-11",
    shownBy: "pydantic-ai/01-agent",
    scope: /^pydantic-ai$/,
    rules: [
      GEN_AI_CALL,
      { ...GEN_AI_AGENT, fields: PYDANTIC_SUMS() },
      { is: "agent", when: { name: /^agent run$/ }, fields: PYDANTIC_SUMS() },
    ],
    fields: GEN_AI,
    holes: ["Embeddings are not instrumented by default.", "The sum of an agent leaves its delegates out."],
  },
  {
    name: "strands",
    seen: "1.62.0, 2026-11",
    shownBy: "strands/01-agent",
    scope: /^strands\.telemetry/,
    rules: GEN_AI_RULES,
    fields: GEN_AI,
    noProviders: /^strands/,
    holes: ["Reasoning tokens and ids are missing.", "The sums of an agent are those of its whole life."],
  },
  {
    name: "google-adk",
    seen: "2.13.0, 2026-11",
    shownBy: "google-adk/01-agent",
    scope: /^gcp\.vertex\.agent$/,
    rules: GEN_AI_RULES,
    fields: GEN_AI,
    holes: ["Cache writes and ids are missing."],
  },
  {
    name: "agent-framework",
    seen: "1.23.0, 2026-11",
    shownBy: "agent-framework/01-agent",
    scope: /^agent_framework/,
    rules: GEN_AI_RULES,
    fields: GEN_AI,
    noProviders: /^microsoft\./,
    holes: [],
  },
  {
    name: "mastra",
    seen: "core 1.71.0 with @mastra/otel-exporter 1.4.0, 2026-11",
    shownBy: "mastra/01-agent",
    scope: /^@mastra\//,
    rules: GEN_AI_RULES,
    fields: {
      ...GEN_AI,
      session: ["gen_ai.conversation.id", "mastra.metadata.sessionId", "mastra.metadata.threadId"],
    },
    holes: ["Ids and the lifetime of cache writes are missing."],
  },
  {
    name: "semantic-kernel",
    seen: "1.45.0, from its source, 2026-11",
    shownBy: "semantic_kernel/utils/telemetry/model_diagnostics/decorators.py",
    scope: /^semantic_kernel\./,
    rules: [GEN_AI_CALL, GEN_AI_AGENT],
    fields: GEN_AI,
    holes: ["Cached and reasoning tokens are missing."],
  },
  {
    name: "voltagent",
    seen: "2.10.0, from its source, 2026-11",
    shownBy: "@voltagent/core/dist/index.js",
    scope: /^@voltagent\//,
    rules: [
      {
        is: "call",
        when: { has: { "llm.operation": true } },
        fields: {
          counts: [{
            input: ["llm.usage.prompt_tokens"],
            output: ["llm.usage.completion_tokens"],
            cacheRead: ["llm.usage.cached_tokens"],
            reasoning: ["llm.usage.reasoning_tokens"],
          }],
        },
      },
      {
        is: "agent",
        when: { has: { "entity.type": ["agent"], "agent.state": true, "span.type": false } },
        fields: {
          counts: [{
            input: ["usage.prompt_tokens"],
            output: ["usage.completion_tokens"],
            cacheRead: ["usage.cached_tokens"],
            reasoning: ["usage.reasoning_tokens"],
          }],
        },
      },
    ],
    fields: {
      counts: [],
      provider: ["llm.provider", "ai.model.provider"],
      model: ["llm.model", "ai.model.name"],
      session: ["conversation.id"],
      agent: ["subagent.name", "entity.name"],
    },
    isIncomplete: true,
    holes: [
      "Of a loop of tools only the last call is told; the others are booked as the difference to the agent's sum.",
    ],
  },
];

/** The sums of an agent under their name since format 5; before it they had the names of a call's counts. */
function PYDANTIC_SUMS() {
  const sums = Object.fromEntries(
    Object.entries(GEN_AI_COUNTS).map(([field, names]) => [
      field,
      (names as string[]).flatMap((
        name,
      ) => [name.replace("gen_ai.usage.", "gen_ai.aggregated_usage."), name]),
    ]),
  );
  return { counts: [sums], agent: ["gen_ai.agent.name", "agent_name"] };
}
