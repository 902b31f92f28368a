import type { AgentStatus } from "../contract/values.ts";
import type { TokenUsage } from "../ledger/mod.ts";

/** The result of a run, in wire form. */
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

/** A part of a run in progress: text as it is streamed, or a committed event. */
export type RunPart =
  | { type: "text"; text: string }
  | {
    type: "event";
    event: RunEvent;
  };
