/**
 * Agents, sessions, runs, the ledger and its rollups, the event log.
 *
 * Amounts are INTEGER nano-USD, times INTEGER milliseconds since the epoch. The counters of
 * every rollup (by run, session, agent and model, day, hour) are the same columns in the same order. SQLite
 * turns a sum past 64 bits into a REAL; the check refuses it, as a sum of money is exact or is none.
 */
const COUNTERS = `
  model_calls INTEGER NOT NULL DEFAULT 0,
  unpriced_calls INTEGER NOT NULL DEFAULT 0,
  input_tokens INTEGER NOT NULL DEFAULT 0,
  output_tokens INTEGER NOT NULL DEFAULT 0,
  cache_read_tokens INTEGER NOT NULL DEFAULT 0,
  cache_write_tokens INTEGER NOT NULL DEFAULT 0,
  reasoning_tokens INTEGER NOT NULL DEFAULT 0,
  total_tokens INTEGER NOT NULL DEFAULT 0,
  cost_nano_usd INTEGER NOT NULL DEFAULT 0 CHECK (typeof(cost_nano_usd) = 'integer')`;

export const statements: readonly string[] = [
  `CREATE TABLE agents (
  agent_id TEXT PRIMARY KEY NOT NULL,
  model TEXT NOT NULL,
  system_prompt TEXT NOT NULL,
  cost_budget_nano_usd INTEGER,
  budget_mode TEXT NOT NULL,
  allow_unpriced INTEGER NOT NULL,
  max_steps INTEGER NOT NULL,
  max_output_tokens INTEGER,
  tools TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
) WITHOUT ROWID`,

  `CREATE TABLE sessions (
  session_id TEXT PRIMARY KEY NOT NULL,
  agent_id TEXT NOT NULL,
  status TEXT NOT NULL,
  generation INTEGER NOT NULL DEFAULT 1,
  message_count INTEGER NOT NULL DEFAULT 0,
  event_count INTEGER NOT NULL DEFAULT 0,
  active_run_id TEXT,
  tags TEXT NOT NULL DEFAULT '{}',
  restored_from TEXT,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
)`,
  `CREATE INDEX sessions_latest ON sessions (updated_at DESC, session_id DESC)`,
  `CREATE INDEX sessions_of_agent ON sessions (agent_id, updated_at DESC, session_id DESC)`,

  `CREATE TABLE runs (
  run_id TEXT PRIMARY KEY NOT NULL,
  session_id TEXT NOT NULL,
  agent_id TEXT NOT NULL,
  model TEXT NOT NULL,
  status TEXT NOT NULL,
  cost_budget_nano_usd INTEGER,
  budget_mode TEXT NOT NULL,
  steps INTEGER NOT NULL DEFAULT 0,
  output TEXT,
  error TEXT,
  cancel_requested INTEGER NOT NULL DEFAULT 0,
  instance_id TEXT NOT NULL,
  lease_until INTEGER NOT NULL,
  started_at INTEGER NOT NULL,
  ended_at INTEGER
)`,
  `CREATE INDEX runs_unfinished ON runs (lease_until) WHERE status = 'running'`,
  `CREATE INDEX runs_of_session ON runs (session_id, started_at)`,
  `CREATE INDEX runs_of_agent ON runs (agent_id, started_at)`,
  `CREATE INDEX runs_latest ON runs (started_at)`,

  `CREATE TABLE messages (
  session_id TEXT NOT NULL,
  generation INTEGER NOT NULL,
  position INTEGER NOT NULL,
  message_id TEXT NOT NULL,
  run_id TEXT,
  created_at INTEGER NOT NULL,
  content TEXT NOT NULL
)`,
  `CREATE UNIQUE INDEX messages_in_order ON messages (session_id, generation, position)`,

  `CREATE TABLE calls (
  call_id TEXT PRIMARY KEY NOT NULL,
  at INTEGER NOT NULL,
  agent_id TEXT NOT NULL,
  session_id TEXT,
  run_id TEXT,
  step INTEGER,
  tools TEXT NOT NULL,
  provider TEXT NOT NULL,
  model TEXT NOT NULL,
  input_tokens INTEGER NOT NULL,
  output_tokens INTEGER NOT NULL,
  cache_read_tokens INTEGER NOT NULL,
  cache_write_tokens INTEGER NOT NULL,
  cache_write_1h_tokens INTEGER NOT NULL,
  reasoning_tokens INTEGER NOT NULL,
  total_tokens INTEGER NOT NULL,
  cost_nano_usd INTEGER,
  price_source TEXT NOT NULL,
  duration_ms INTEGER,
  estimated INTEGER NOT NULL
)`,
  `CREATE INDEX calls_at ON calls (at)`,
  `CREATE INDEX calls_of_session ON calls (session_id, at) WHERE session_id IS NOT NULL`,
  `CREATE INDEX calls_of_run ON calls (run_id, at) WHERE run_id IS NOT NULL AND session_id IS NULL`,

  `CREATE TABLE spend_runs (
  run_id TEXT PRIMARY KEY NOT NULL,
  session_id TEXT,
  agent_id TEXT NOT NULL,
  model TEXT NOT NULL,
  first_at INTEGER NOT NULL,
  last_at INTEGER NOT NULL,${COUNTERS}
) WITHOUT ROWID`,
  `CREATE INDEX spend_runs_latest ON spend_runs (first_at DESC, run_id DESC)`,
  `CREATE TABLE spend_sessions (
  session_id TEXT PRIMARY KEY NOT NULL,
  agent_id TEXT NOT NULL,
  model TEXT NOT NULL,
  first_at INTEGER NOT NULL,
  last_at INTEGER NOT NULL,${COUNTERS}
) WITHOUT ROWID`,
  `CREATE INDEX spend_sessions_latest ON spend_sessions (first_at DESC, session_id DESC)`,
  `CREATE TABLE spend_totals (
  agent_id TEXT NOT NULL,
  provider TEXT NOT NULL,
  model TEXT NOT NULL,${COUNTERS},
  PRIMARY KEY (agent_id, provider, model)
) WITHOUT ROWID`,
  `CREATE TABLE spend_days (
  day INTEGER NOT NULL,
  agent_id TEXT NOT NULL,
  provider TEXT NOT NULL,
  model TEXT NOT NULL,${COUNTERS},
  PRIMARY KEY (day, agent_id, provider, model)
) WITHOUT ROWID`,
  `CREATE TABLE spend_hours (
  hour INTEGER NOT NULL,
  agent_id TEXT NOT NULL,
  provider TEXT NOT NULL,
  model TEXT NOT NULL,${COUNTERS},
  PRIMARY KEY (hour, agent_id, provider, model)
) WITHOUT ROWID`,

  `CREATE TABLE events (
  event_id INTEGER PRIMARY KEY,
  session_id TEXT,
  seq INTEGER,
  run_id TEXT,
  agent_id TEXT NOT NULL,
  type TEXT NOT NULL,
  at INTEGER NOT NULL,
  call_id TEXT,
  payload TEXT
)`,
  `CREATE UNIQUE INDEX events_in_order ON events (session_id, seq) WHERE session_id IS NOT NULL`,
  `CREATE TRIGGER events_refuse_update BEFORE UPDATE ON events
BEGIN SELECT RAISE(ABORT, 'the event log is append-only'); END`,
  `CREATE TRIGGER events_refuse_delete BEFORE DELETE ON events
BEGIN SELECT RAISE(ABORT, 'the event log is append-only'); END`,
  // INSERT OR REPLACE deletes without firing the trigger above. An id that is yet to be given is -1 here.
  `CREATE TRIGGER events_refuse_replace BEFORE INSERT ON events
WHEN NEW.event_id <> -1 AND EXISTS (SELECT 1 FROM events WHERE event_id = NEW.event_id)
  OR EXISTS (SELECT 1 FROM events WHERE session_id = NEW.session_id AND seq = NEW.seq)
BEGIN SELECT RAISE(ABORT, 'the event log is append-only'); END`,

  `CREATE TABLE reservations (
  reservation_id TEXT PRIMARY KEY NOT NULL,
  run_id TEXT NOT NULL,
  amount_nano_usd INTEGER NOT NULL,
  is_lost INTEGER NOT NULL DEFAULT 0,
  expires_at INTEGER NOT NULL
) WITHOUT ROWID`,
  `CREATE INDEX reservations_of_run ON reservations (run_id, expires_at, amount_nano_usd)`,
];
