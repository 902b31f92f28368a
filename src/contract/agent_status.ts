/** The statuses of an agent's session and of a run. */
export const AGENT_STATUSES = [
  "idle",
  "running",
  "completed",
  "failed",
  "budget_exceeded",
  "cancelled",
  "interrupted",
] as const;
export type AgentStatus = typeof AGENT_STATUSES[number];
