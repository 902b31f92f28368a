import type { NanoUsd } from "../kernel/money.ts";
import type { Usage } from "../pricing/mod.ts";
import type { CallSource } from "../store/mod.ts";

/** The tolerance for calls made elsewhere with a time ahead of this process's clock. */
export const MAX_AHEAD_MS = 5 * 60_000;

/** One model call of the ledger. Times in milliseconds since the epoch. */
export interface ModelCall {
  callId: string;
  at: number;
  agentId: string;
  sessionId: string | null;
  runId: string | null;
  /** The step of the run, from 1. */
  step: number | null;
  /** The names of the tools that the answer called. */
  tools: readonly string[];
  provider: string;
  model: string;
  usage: Usage;
  /** Null, never 0, if no price is known. */
  costNanoUsd: NanoUsd | null;
  /** `config`, `genai-prices@…`, `demo`, `reported` or `none`. */
  priceSource: string;
  durationMs: number | null;
  /** True if the tokens are an estimate, because the provider's count never arrived. */
  isEstimated: boolean;
  source?: CallSource;
  /** The service tier that the provider used. */
  serviceTier?: string | null;
  /** The provider's id of the answer. */
  responseId?: string | null;
  /** The API key of the report or run. */
  keyId?: string | null;
}
