import type { Alert } from "../../contract/alerts.ts";
import type { Budget } from "../../contract/budgets.ts";
import type { Run } from "../../contract/runs.ts";

/** The messages of `GET /live`, as the views read them. */

export interface LiveSpend {
  model_calls: number;
  unpriced_calls: number;
  cost_usd: number | null;
  usd_per_minute: number;
  minutes: number[];
}

export interface LiveAgent extends LiveSpend {
  agent_id: string;
}

export interface LiveModel extends Pick<LiveSpend, "model_calls" | "unpriced_calls" | "cost_usd"> {
  provider: string;
  model: string;
}

export interface LiveRefusal {
  event_id: number;
  at: string;
  agent_id: string;
  session_id: string;
  run_id: string;
  message: string;
}

export type LiveRun = Omit<Run, "output" | "error"> & { error_code: string | null };

export interface LiveState {
  at: string;
  day: string;
  minutes_from: string;
  spend: LiveSpend;
  running: number;
  agents: LiveAgent[];
  models: LiveModel[];
  runs: LiveRun[];
  alerts: Alert[];
  refusals: LiveRefusal[];
  budgets: Budget[];
}

export type LiveDelta = Partial<LiveState> & {
  at: string;
  gone?: { agents?: string[]; models?: string[]; runs?: string[]; budgets?: string[] };
};
