import type { NanoUsd } from "../kernel/money.ts";
import type { Usage } from "../pricing/mod.ts";
import type { CallSource } from "../store/mod.ts";

/** How far ahead of this process's clock a call may be that was made elsewhere. */
export const MAX_AHEAD_MS = 5 * 60_000;

/** One call of a model, as the ledger keeps it. Times in milliseconds since the epoch. */
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
  /** Null, never 0, where no price is known. */
  costNanoUsd: NanoUsd | null;
  /** `config`, `genai-prices@…`, `demo`, `reported` or `none`. */
  priceSource: string;
  durationMs: number | null;
  /** Whether the tokens are an estimate, because the provider's count never arrived. */
  isEstimated: boolean;
  source?: CallSource;
  /** The tier that the provider served it at. */
  serviceTier?: string | null;
  /** The provider's own id of its answer. */
  responseId?: string | null;
  /** The API key that it was made with. */
  keyId?: string | null;
}
