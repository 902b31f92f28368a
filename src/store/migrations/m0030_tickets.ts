/** Tickets, by which budgets whose action is ask ask a person for more. */
export const statements: readonly string[] = [
  // scope: the counter. state: waiting, approved, denied or expired; one that waits has expired from expires_at on. asked: what
  // the call lacks; cost: what it may cost. agent_id to tags: of the call that asked first. decided_by: the name of the key then.
  `CREATE TABLE budget_tickets (
  ticket_id TEXT PRIMARY KEY NOT NULL,
  budget_id TEXT NOT NULL,
  scope TEXT NOT NULL,
  state TEXT NOT NULL,
  asked_nano_usd INTEGER NOT NULL,
  cost_nano_usd INTEGER NOT NULL,
  agent_id TEXT NOT NULL,
  session_id TEXT,
  run_id TEXT,
  key_id TEXT,
  provider TEXT,
  model TEXT,
  tags TEXT,
  asked_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  decided_at INTEGER,
  decided_by TEXT,
  decided_key_id TEXT,
  reason TEXT,
  raise_id TEXT
) WITHOUT ROWID`,
  // However many calls and instances ask, a counter has one ticket at a time.
  "CREATE UNIQUE INDEX budget_tickets_waiting ON budget_tickets (budget_id, scope) WHERE state = 'waiting'",
  "CREATE INDEX budget_tickets_of ON budget_tickets (budget_id, scope, asked_at)",
  "CREATE INDEX budget_tickets_latest ON budget_tickets (asked_at, ticket_id)",
  // Whose calls have waited for a ticket: '' without a key or a run. None of these keys may approve it.
  `CREATE TABLE ticket_askers (
  ticket_id TEXT NOT NULL,
  key_id TEXT NOT NULL,
  run_id TEXT NOT NULL,
  PRIMARY KEY (ticket_id, key_id, run_id)
) WITHOUT ROWID`,
  "CREATE INDEX ticket_askers_of_run ON ticket_askers (run_id) WHERE run_id <> ''",
];
