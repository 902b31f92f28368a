import type { Attributes } from "./telemetry.ts";

/** Normalized token counts: input includes cache reads and writes, output includes the reasoning. */
export interface TokenCounts {
  inputTokens: number;
  outputTokens: number;
  cacheReadTokens: number;
  cacheWriteTokens: number;
  reasoningTokens: number;
}

/** Providers that have another name in the conventions. */
const PROVIDERS: Readonly<Record<string, string>> = { google: "gcp.gemini" };

/** Returns the name of a provider in the conventions; providers of the config keep their own. */
export function providerName(provider: string): string {
  return PROVIDERS[provider] ?? provider;
}

/** Returns the attributes of the agent, session and run of a span. The id of an agent is its name. */
export function agentAttributes(
  { agentId, sessionId, runId }: { agentId: string; sessionId: string | null; runId: string },
): Attributes {
  return {
    "gen_ai.agent.id": agentId,
    "gen_ai.agent.name": agentId,
    "gen_ai.conversation.id": sessionId ?? undefined,
    "purser.run.id": runId,
  };
}

/** Returns the attributes of the token usage; parts that are 0 are omitted. */
export function usageAttributes(usage: TokenCounts): Attributes {
  return {
    "gen_ai.usage.input_tokens": usage.inputTokens,
    "gen_ai.usage.output_tokens": usage.outputTokens,
    "gen_ai.usage.cache_read.input_tokens": usage.cacheReadTokens || undefined,
    "gen_ai.usage.cache_creation.input_tokens": usage.cacheWriteTokens || undefined,
    "gen_ai.usage.reasoning.output_tokens": usage.reasoningTokens || undefined,
  };
}
