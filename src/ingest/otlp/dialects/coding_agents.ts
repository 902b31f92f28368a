import { AI_SDK, AI_SDK_RULES, GEN_AI, GEN_AI_COUNTS } from "./conventions.ts";
import type { Dialect } from "./dialect.ts";

/* Coding agents. Their sessions have the names that their logs have, so that both are witnesses of the same call. */

export const CODING_AGENTS: readonly Dialect[] = [
  {
    name: "claude-code",
    seen: "2.1.332, 2026-11",
    shownBy: "claude-code/*",
    scope: /^com\.anthropic\.claude_code/,
    agent: "claude-code",
    rules: [
      { is: "call", when: { signal: "span", name: /^claude_code\.llm_request$/ } },
      { is: "call", when: { signal: "log", name: /^(?:claude_code\.)?api_request$/ } },
    ],
    fields: {
      counts: [
        { has: { "gen_ai.usage.input_tokens": true }, ...GEN_AI_COUNTS },
        {
          input: ["input_tokens"],
          output: ["output_tokens"],
          cacheRead: ["cache_read_tokens"],
          cacheWrite: ["cache_creation_tokens"],
          cacheWrite1h: ["cache_creation_1h_tokens"],
          isCacheBeside: true,
        },
      ],
      provider: ["anthropic.provider"],
      model: ["gen_ai.response.model", "model"],
      // Its gen_ai.response.id is that of the request.
      requestId: ["request_id", "gen_ai.response.id"],
      account: ["organization.id"],
      session: ["session.id", "gen_ai.conversation.id"],
      subagent: { id: ["agent_id"], parent: ["parent_agent_id"], type: ["agent.name"] },
      speed: ["speed"],
      cost: ["cost_usd"],
      durationMs: ["duration_ms"],
    },
    // Its own API, or a gateway with that protocol.
    noProviders: /^firstParty$/,
    holes: [
      "An answer that is stopped leaves no record, and a failed one its first output tokens.",
      "The lifetime of cache writes is in the logs only, and the service tier in neither.",
    ],
  },
  {
    name: "codex",
    seen: "0.171.0, 2026-11",
    shownBy: "codex/*",
    scope: /^codex[_-]/,
    agent: "codex",
    rules: [
      {
        is: "call",
        when: {
          signal: "log",
          has: {
            "event.name": ["codex.sse_event"],
            "event.kind": ["response.completed"],
            "input_token_count": true,
          },
        },
      },
      {
        is: "spawn",
        when: { signal: "log", has: { "event.name": ["codex.agent_communication"], kind: ["spawn"] } },
      },
      {
        is: "repeat",
        when: { signal: "span", name: /^handle_responses$/, has: { "gen_ai.usage.input_tokens": true } },
      },
    ],
    fields: {
      counts: [{
        input: ["input_token_count"],
        output: ["output_token_count"],
        cacheRead: ["cached_token_count"],
        cacheWrite: ["cache_write_token_count"],
        reasoning: ["reasoning_token_count"],
      }],
      model: ["model"],
      session: ["conversation.id"],
      spawned: { child: ["receiver_thread_id"], parent: ["sender_thread_id"] },
    },
    hint: "Codex' spans don't name the model, and are not booked: export its logs, too ([otel] exporter)",
    holes: ["Answers that are cut off are missing.", "The ids of answers and the service tier are missing."],
  },
  {
    name: "gemini-cli",
    seen: "0.61.0, 2026-11",
    shownBy: "gemini-cli/*",
    scope: /^gemini-cli$/,
    agent: "gemini-cli",
    rules: [
      {
        is: "call",
        when: { signal: "log", name: /^gemini_cli\.api_response$/ },
        joinedBy: ["session.id", "input_token_count", "output_token_count"],
      },
      // It has the id of the answer, and leaves the thoughts out.
      {
        is: "call",
        when: { signal: "log", name: /^gen_ai\.client\.inference\.operation\.details$/ },
        fields: { ...GEN_AI, session: ["session.id"] },
        quality: "provisional",
        isSecond: true,
        joinedBy: ["session.id", "gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens"],
      },
      { is: "repeat", when: { signal: "span", has: { "gen_ai.operation.name": ["llm_call"] } } },
    ],
    fields: {
      counts: [{
        input: ["input_token_count"],
        output: ["output_token_count"],
        cacheRead: ["cached_content_token_count"],
        reasoning: ["thoughts_token_count"],
        toolInput: ["tool_token_count"],
        outputIs: "beside",
      }],
      model: ["model"],
      session: ["session.id"],
      durationMs: ["duration_ms"],
    },
    hint: "Gemini CLI's spans leave the thoughts out, and are not booked: export its logs, too",
    holes: ["An answer that is cut off has no counts."],
  },
  {
    name: "qwen-code",
    seen: "0.24.4, 2026-11",
    shownBy: "qwen-code/01-tools",
    scope: /^qwen-code$/,
    agent: "qwen-code",
    rules: [
      { is: "call", when: { signal: "span", name: /^qwen-code\.llm_request$/ } },
      { is: "call", when: { signal: "log", name: /^qwen-code\.api_response$/ } },
    ],
    fields: {
      counts: [
        {
          input: ["gen_ai.usage.input_tokens"],
          output: ["gen_ai.usage.output_tokens"],
          cacheRead: ["gen_ai.usage.cache_read.input_tokens"],
          reasoning: ["thoughts_token_count"],
        },
        {
          input: ["input_token_count"],
          output: ["output_token_count"],
          cacheRead: ["cached_content_token_count"],
          reasoning: ["thoughts_token_count"],
          toolInput: ["tool_token_count"],
          total: ["total_token_count"],
          outputIs: "by_total",
        },
      ],
      model: ["gen_ai.response.model", "model"],
      responseId: ["gen_ai.response.id", "response_id"],
      session: ["session.id"],
      subagent: {
        id: ["prompt_id", "qwen-code.prompt_id"],
        idPattern: /#([^#]+)#\d+$/,
        type: ["subagent_name"],
      },
      durationMs: ["duration_ms"],
    },
    holes: [
      "An answer that is cut off has no counts.",
      "Its provider is the protocol, not the one who bills.",
    ],
  },
  {
    name: "opencode",
    seen: "1.18.33, 2026-11",
    shownBy: "opencode/*",
    scope: /^opencode$/,
    agent: "opencode",
    rules: AI_SDK_RULES,
    fields: { ...AI_SDK, session: ["session.id", "ai.telemetry.metadata.sessionId"] },
    texts: { "ai.response.providerMetadata": "json" },
    isFoundByCounts: true,
    holes: ["The last call is lost when `opencode run` exits.", "Sub-agents are sessions of their own."],
  },
];
