/** What the operations are about, in the order in which the document has them. */
export const TAGS = {
  agents: "The definitions: which model, which tools, and what a run may cost",
  runs: "Running an agent, and what came of it",
  sessions: "What was said: sessions, their messages' count and their event logs",
  snapshots: "A whole session as one portable document, and back",
  costs: "The ledger: what calls have cost, and calls made elsewhere",
  alerts: "The lines that spending should not cross, and what was told when it did",
  channels: "Where alerts go",
  events: "What happens, as it happens",
  keys: "API keys: who may do what",
  service: "The service itself: its health, and its documents",
} as const;

export type Tag = keyof typeof TAGS;
