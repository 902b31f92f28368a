import type { AgentStatus } from "../contract/values.ts";
import type { TokenUsage } from "../ledger/mod.ts";

/** What a run gave, in wire form. */
export interface RunResult {
  run_id: string;
  agent_id: string;
  session_id: string;
  status: AgentStatus;
  /** The answer; null where the run ended without one. */
  output: string | null;
  steps: number;
  token_usage: TokenUsage;
  started_at: string;
  ended_at: string;
}

/** An event of a run, after its commit. */
export interface RunEvent {
  type: string;
  seq: number | null;
  at: string;
  run_id: string;
  session_id: string;
  payload: Record<string, unknown>;
}

/** What a listener hears of a run while it goes on: the text as it comes, and every committed event. */
export type RunPart =
  | { type: "text"; text: string }
  | {
    type: "event";
    event: RunEvent;
  };
