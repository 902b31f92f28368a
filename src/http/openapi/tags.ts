/** The tags of operations, in the document's order. */
export const TAGS = {
  agents: "Agent definitions: model, tools, and the budget of a run",
  runs: "Running agents, and the results",
  sessions: "Sessions: their state and their event logs",
  snapshots: "Exporting a whole session as one portable document, and restoring it",
  costs: "The ledger: the cost of calls, and calls made elsewhere",
  alerts: "Alert rules on spend, and the alerts that they fired",
  channels: "The channels that deliver alerts",
  events: "A live stream of events",
  keys: "API keys and their scopes",
  service: "The service itself: health, metrics and documents",
} as const;

export type Tag = keyof typeof TAGS;
