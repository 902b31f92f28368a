import type { Attributes } from "./telemetry.ts";

/** Tokens in the normal form: input includes what a cache gave or took, output includes the reasoning. */
export interface TokenCounts {
  inputTokens: number;
  outputTokens: number;
  cacheReadTokens: number;
  cacheWriteTokens: number;
  reasoningTokens: number;
}

/** Purser's names of providers that the conventions call otherwise. */
const PROVIDERS: Readonly<Record<string, string>> = { google: "gcp.gemini" };

/** The name of a provider in the conventions; one of the config keeps its own. */
export function providerName(provider: string): string {
  return PROVIDERS[provider] ?? provider;
}

/** Whose a span is. An agent's id is its name. */
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

/** What was used; parts that are 0 are left out. */
export function usageAttributes(usage: TokenCounts): Attributes {
  return {
    "gen_ai.usage.input_tokens": usage.inputTokens,
    "gen_ai.usage.output_tokens": usage.outputTokens,
    "gen_ai.usage.cache_read.input_tokens": usage.cacheReadTokens || undefined,
    "gen_ai.usage.cache_creation.input_tokens": usage.cacheWriteTokens || undefined,
    "gen_ai.usage.reasoning.output_tokens": usage.reasoningTokens || undefined,
  };
}
