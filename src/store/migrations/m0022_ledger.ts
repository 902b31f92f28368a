import { INTEGER, onlySqlite, TEXT, WITHOUT_ROWID } from "../dialect.ts";

/**
 * The tables of release 0.1.0: agents, sessions, runs, the event log, the ledger, and the totals of reports.
 *
 * Amounts are INTEGER nano-USD and times INTEGER milliseconds since the epoch. Amounts of totals are kept as whole USD and
 * nano-USD apart: neither part can pass 64 bits.
 */
export const COUNTERS = `
  model_calls ${INTEGER} NOT NULL,
  unpriced_calls ${INTEGER} NOT NULL,
  partly_priced_calls ${INTEGER} NOT NULL,
  estimated_calls ${INTEGER} NOT NULL,
  input_tokens ${INTEGER} NOT NULL,
  output_tokens ${INTEGER} NOT NULL,
  cache_read_tokens ${INTEGER} NOT NULL,
  cache_write_tokens ${INTEGER} NOT NULL,
  reasoning_tokens ${INTEGER} NOT NULL,
  total_tokens ${INTEGER} NOT NULL,
  whole_usd ${INTEGER} NOT NULL,
  rest_nano_usd ${INTEGER} NOT NULL`;

const DIMENSIONS = `
  agent_id ${TEXT} NOT NULL,
  provider ${TEXT} NOT NULL,
  model ${TEXT} NOT NULL,
  key_id ${TEXT} NOT NULL,`;

/** Returns SQLite's triggers that refuse these statements; PostgreSQL's are in `postgres_schema.ts`. */
export const refuse = (table: string, reason: string, events = ["update", "delete"]): string[] =>
  events.map((event) =>
    onlySqlite(`CREATE TRIGGER ${table}_refuse_${event} BEFORE ${event.toUpperCase()} ON ${table}
BEGIN SELECT RAISE(ABORT, '${reason}'); END`)
  );

export const statements: readonly string[] = [
  `CREATE TABLE agents (
  agent_id ${TEXT} PRIMARY KEY NOT NULL,
  model ${TEXT} NOT NULL,
  system_prompt ${TEXT} NOT NULL,
  cost_budget_nano_usd ${INTEGER},
  budget_mode ${TEXT} NOT NULL,
  allow_unpriced ${INTEGER} NOT NULL,
  max_steps ${INTEGER} NOT NULL,
  max_output_tokens ${INTEGER},
  tools ${TEXT} NOT NULL,
  created_at ${INTEGER} NOT NULL,
  updated_at ${INTEGER} NOT NULL,
  tags ${TEXT} NOT NULL DEFAULT '{}'
)${WITHOUT_ROWID}`,

  // extras: the parts of a session's snapshot that no code here reads, so that the next export has them again.
  `CREATE TABLE sessions (
  session_id ${TEXT} PRIMARY KEY NOT NULL,
  agent_id ${TEXT} NOT NULL,
  status ${TEXT} NOT NULL,
  generation ${INTEGER} NOT NULL DEFAULT 1,
  message_count ${INTEGER} NOT NULL DEFAULT 0,
  event_count ${INTEGER} NOT NULL DEFAULT 0,
  active_run_id ${TEXT},
  tags ${TEXT} NOT NULL DEFAULT '{}',
  restored_from ${TEXT},
  created_at ${INTEGER} NOT NULL,
  updated_at ${INTEGER} NOT NULL,
  extras ${TEXT}
)`,
  `CREATE INDEX sessions_latest ON sessions (updated_at DESC, session_id DESC)`,
  `CREATE INDEX sessions_of_agent ON sessions (agent_id, updated_at DESC, session_id DESC)`,

  // tags: JSON with sorted keys, here and on calls; null without any, as for most calls.
  `CREATE TABLE runs (
  run_id ${TEXT} PRIMARY KEY NOT NULL,
  session_id ${TEXT} NOT NULL,
  agent_id ${TEXT} NOT NULL,
  model ${TEXT} NOT NULL,
  status ${TEXT} NOT NULL,
  cost_budget_nano_usd ${INTEGER},
  budget_mode ${TEXT} NOT NULL,
  steps ${INTEGER} NOT NULL DEFAULT 0,
  output ${TEXT},
  error ${TEXT},
  cancel_requested ${INTEGER} NOT NULL DEFAULT 0,
  instance_id ${TEXT} NOT NULL,
  lease_until ${INTEGER} NOT NULL,
  started_at ${INTEGER} NOT NULL,
  ended_at ${INTEGER},
  parent_run_id ${TEXT},
  root_run_id ${TEXT},
  tags ${TEXT}
)`,
  `CREATE INDEX runs_unfinished ON runs (lease_until) WHERE status = 'running'`,
  `CREATE INDEX runs_of_session ON runs (session_id, started_at)`,
  `CREATE INDEX runs_of_agent ON runs (agent_id, started_at)`,
  `CREATE INDEX runs_latest ON runs (started_at)`,
  // The children of a run count under its budgets.
  `CREATE INDEX runs_by_parent ON runs (parent_run_id) WHERE parent_run_id IS NOT NULL`,
  // For lists that would search the whole table. It is partial, so that an ordinary run doesn't write to it.
  `CREATE INDEX runs_by_failure ON runs (status, started_at)
    WHERE status IN ('failed', 'budget_exceeded', 'cancelled', 'interrupted')`,

  // is_whole: content is the whole message, with its id and time, as canonical JSON; an export takes it as it is.
  `CREATE TABLE messages (
  session_id ${TEXT} NOT NULL,
  generation ${INTEGER} NOT NULL,
  position ${INTEGER} NOT NULL,
  message_id ${TEXT} NOT NULL,
  run_id ${TEXT},
  created_at ${INTEGER} NOT NULL,
  content ${TEXT} NOT NULL,
  is_whole ${INTEGER} NOT NULL DEFAULT 0
)`,
  `CREATE UNIQUE INDEX messages_in_order ON messages (session_id, generation, position)`,

  // Generations that aren't a session's present state: staged for it, or replaced and perhaps still being read.
  `CREATE TABLE loose_generations (
  session_id ${TEXT} NOT NULL,
  generation ${INTEGER} NOT NULL,
  staged_by ${TEXT},
  since ${INTEGER} NOT NULL,
  PRIMARY KEY (session_id, generation)
)${WITHOUT_ROWID}`,

  // withheld: JSON; of a refused call its key, and the payload with all amounts. It is in no event on the wire.
  `CREATE TABLE events (
  event_id ${INTEGER} PRIMARY KEY,
  session_id ${TEXT},
  seq ${INTEGER},
  run_id ${TEXT},
  agent_id ${TEXT} NOT NULL,
  type ${TEXT} NOT NULL,
  at ${INTEGER} NOT NULL,
  call_id ${TEXT},
  payload ${TEXT},
  withheld ${TEXT}
)`,
  `CREATE UNIQUE INDEX events_in_order ON events (session_id, seq) WHERE session_id IS NOT NULL`,
  `CREATE INDEX refusals_latest ON events (type) WHERE type = 'budget.refused'`,
  `CREATE INDEX refusals_of_agent ON events (agent_id) WHERE type = 'budget.refused'`,
  ...refuse("events", "the event log is append-only"),

  // The log of another environment that came with a snapshot: history, which isn't a part of this environment's log.
  `CREATE TABLE imported_events (
  session_id ${TEXT} NOT NULL,
  generation ${INTEGER} NOT NULL,
  position ${INTEGER} NOT NULL,
  content ${TEXT} NOT NULL
)`,
  `CREATE UNIQUE INDEX imported_events_in_order ON imported_events (session_id, generation, position)`,

  // position grows in the order of commits. An entry with adjusts isn't a call: it corrects the cost of the call that it
  // names, and is undone by its opposite. unpriced and partly_priced are 0 or 1 for a call, a difference for an adjustment.
  // details: JSON by the wire's names, such as web_searches, speed, list_cost_nano_usd; null for most calls.
  // stated_nano_usd: the cost that the provider has stated, where another is booked; the reason is in details.
  `CREATE TABLE calls (
  position ${INTEGER} PRIMARY KEY,
  call_id ${TEXT} NOT NULL UNIQUE,
  adjusts ${TEXT},
  at ${INTEGER} NOT NULL,
  agent_id ${TEXT} NOT NULL,
  session_id ${TEXT},
  run_id ${TEXT},
  step ${INTEGER},
  key_id ${TEXT},
  source ${TEXT},
  tools ${TEXT} NOT NULL,
  provider ${TEXT} NOT NULL,
  model ${TEXT} NOT NULL,
  service_tier ${TEXT},
  response_id ${TEXT},
  input_tokens ${INTEGER} NOT NULL,
  output_tokens ${INTEGER} NOT NULL,
  cache_read_tokens ${INTEGER} NOT NULL,
  cache_write_tokens ${INTEGER} NOT NULL,
  cache_write_1h_tokens ${INTEGER} NOT NULL,
  reasoning_tokens ${INTEGER} NOT NULL,
  total_tokens ${INTEGER} NOT NULL,
  cost_nano_usd ${INTEGER}${onlySqlite(" CHECK (typeof(cost_nano_usd) IN ('integer', 'null'))")},
  unpriced ${INTEGER} NOT NULL,
  partly_priced ${INTEGER} NOT NULL DEFAULT 0,
  unpriced_parts ${TEXT},
  price_source ${TEXT} NOT NULL,
  price_id ${INTEGER},
  duration_ms ${INTEGER},
  is_estimated ${INTEGER} NOT NULL,
  details ${TEXT},
  tags ${TEXT},
  stated_nano_usd ${INTEGER}
)`,
  `CREATE INDEX calls_by_time ON calls (at)`,
  `CREATE INDEX calls_by_session ON calls (session_id, at) WHERE session_id IS NOT NULL`,
  `CREATE INDEX calls_by_run ON calls (run_id, at) WHERE run_id IS NOT NULL AND session_id IS NULL`,
  `CREATE INDEX calls_by_tags ON calls (at) WHERE tags IS NOT NULL`,
  `CREATE INDEX calls_by_stated ON calls (at) WHERE stated_nano_usd IS NOT NULL`,
  `CREATE INDEX calls_by_adjusted ON calls (adjusts) WHERE adjusts IS NOT NULL`,
  ...refuse("calls", "the ledger is append-only"),

  // The rates that calls were priced by.
  `CREATE TABLE prices (
  price_id ${INTEGER} PRIMARY KEY,
  hash ${TEXT} NOT NULL UNIQUE,
  rates ${TEXT} NOT NULL
)`,

  // How far the ledger is rolled up: 'totals' into the usage tables, 'decisions' into spend_counters.
  `CREATE TABLE rollup_positions (
  name ${TEXT} PRIMARY KEY NOT NULL,
  position ${INTEGER} NOT NULL
)${WITHOUT_ROWID}`,
  `INSERT INTO rollup_positions VALUES ('totals', 0), ('decisions', 0)`,

  `CREATE TABLE usage_runs (
  run_id ${TEXT} PRIMARY KEY NOT NULL,
  session_id ${TEXT},
  agent_id ${TEXT} NOT NULL,
  model ${TEXT} NOT NULL,
  first_at ${INTEGER} NOT NULL,
  last_at ${INTEGER} NOT NULL,${COUNTERS}
)${WITHOUT_ROWID}`,
  `CREATE INDEX usage_runs_latest ON usage_runs (first_at DESC, run_id DESC)`,
  `CREATE TABLE usage_sessions (
  session_id ${TEXT} PRIMARY KEY NOT NULL,
  agent_id ${TEXT} NOT NULL,
  model ${TEXT} NOT NULL,
  first_at ${INTEGER} NOT NULL,
  last_at ${INTEGER} NOT NULL,${COUNTERS}
)${WITHOUT_ROWID}`,
  `CREATE INDEX usage_sessions_latest ON usage_sessions (first_at DESC, session_id DESC)`,
  // The list of sessions, latest first, reads those of its page and no others.
  `CREATE INDEX usage_sessions_updated ON usage_sessions (last_at DESC, session_id DESC)`,
  `CREATE TABLE usage_totals (${DIMENSIONS}${COUNTERS},
  PRIMARY KEY (agent_id, provider, model, key_id)
)${WITHOUT_ROWID}`,
  `CREATE TABLE usage_days (
  day ${INTEGER} NOT NULL,${DIMENSIONS}${COUNTERS},
  PRIMARY KEY (day, agent_id, provider, model, key_id)
)${WITHOUT_ROWID}`,
  `CREATE TABLE usage_hours (
  hour ${INTEGER} NOT NULL,${DIMENSIONS}${COUNTERS},
  PRIMARY KEY (hour, agent_id, provider, model, key_id)
)${WITHOUT_ROWID}`,

  // Repricings: calls are priced again by today's prices, and the differences booked as entries with adjusts. Those have the
  // ids 'repricing_id:call_id', those that undo it 'undo_id:call_id'. One covers the calls up to a position, in the order of
  // (at, position), and has reached the cursor. in_progress is 1 or NULL: at most one repricing is being applied or undone.
  `CREATE TABLE repricings (
  position ${INTEGER} PRIMARY KEY,
  repricing_id ${TEXT} NOT NULL UNIQUE,
  undo_id ${TEXT} NOT NULL UNIQUE,
  status ${TEXT} NOT NULL,
  in_progress ${INTEGER} UNIQUE,
  filter ${TEXT} NOT NULL,
  up_to ${INTEGER} NOT NULL,
  cursor_at ${INTEGER} NOT NULL,
  cursor_position ${INTEGER} NOT NULL,
  undo_cursor ${TEXT} NOT NULL,
  created_at ${INTEGER} NOT NULL,
  applied_at ${INTEGER},
  undone_at ${INTEGER}
)`,
  // The sums of a repricing, by model.
  `CREATE TABLE repricing_models (
  repricing_id ${TEXT} NOT NULL,
  provider ${TEXT} NOT NULL,
  model ${TEXT} NOT NULL,
  calls ${INTEGER} NOT NULL,
  changed_calls ${INTEGER} NOT NULL,
  unpriced_before ${INTEGER} NOT NULL,
  unpriced_after ${INTEGER} NOT NULL,
  partly_priced_before ${INTEGER} NOT NULL,
  partly_priced_after ${INTEGER} NOT NULL,
  whole_usd_before ${INTEGER} NOT NULL,
  rest_nano_usd_before ${INTEGER} NOT NULL,
  whole_usd_after ${INTEGER} NOT NULL,
  rest_nano_usd_after ${INTEGER} NOT NULL,
  PRIMARY KEY (repricing_id, provider, model)
)${WITHOUT_ROWID}`,

  // The views and triggers with business rules that are installed: see schema/migrate.ts.
  `CREATE TABLE installed_logic (
  name ${TEXT} PRIMARY KEY NOT NULL,
  hash ${TEXT} NOT NULL
)${WITHOUT_ROWID}`,
];
