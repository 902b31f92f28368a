/**
 * The ledger with positions, and totals that are rolled up to one: `calls` is rebuilt with a `position` that grows in
 * commit order, and every total becomes a rollup up to a position plus the calls after it. The old rollups go, so that
 * an instance of an older program that still runs fails rather than counts twice.
 *
 * Amounts of totals are kept as whole USD and nano-USD apart: neither part can pass 64 bits.
 */
const COUNTERS = `
  model_calls INTEGER NOT NULL,
  unpriced_calls INTEGER NOT NULL,
  partly_priced_calls INTEGER NOT NULL,
  estimated_calls INTEGER NOT NULL,
  input_tokens INTEGER NOT NULL,
  output_tokens INTEGER NOT NULL,
  cache_read_tokens INTEGER NOT NULL,
  cache_write_tokens INTEGER NOT NULL,
  reasoning_tokens INTEGER NOT NULL,
  total_tokens INTEGER NOT NULL,
  whole_usd INTEGER NOT NULL,
  rest_nano_usd INTEGER NOT NULL`;

const DIMENSIONS = `
  agent_id TEXT NOT NULL,
  provider TEXT NOT NULL,
  model TEXT NOT NULL,
  key_id TEXT NOT NULL,`;

export const statements: readonly string[] = [
  `ALTER TABLE calls RENAME TO calls_without_position`,

  // A column has another name, so that the INSERT of an older program is an error in its text; a constraint would tell that
  // program that the call is booked already. An entry with `adjusts` is no call: it corrects the cost of the one that it names, and is undone by its opposite.
  // unpriced and partly_priced are 0 or 1 for a call, and a difference for an adjustment.
  `CREATE TABLE calls (
  position INTEGER PRIMARY KEY,
  call_id TEXT NOT NULL UNIQUE,
  adjusts TEXT,
  at INTEGER NOT NULL,
  agent_id TEXT NOT NULL,
  session_id TEXT,
  run_id TEXT,
  step INTEGER,
  key_id TEXT,
  source TEXT,
  tools TEXT NOT NULL,
  provider TEXT NOT NULL,
  model TEXT NOT NULL,
  service_tier TEXT,
  response_id TEXT,
  input_tokens INTEGER NOT NULL,
  output_tokens INTEGER NOT NULL,
  cache_read_tokens INTEGER NOT NULL,
  cache_write_tokens INTEGER NOT NULL,
  cache_write_1h_tokens INTEGER NOT NULL,
  reasoning_tokens INTEGER NOT NULL,
  total_tokens INTEGER NOT NULL,
  cost_nano_usd INTEGER CHECK (typeof(cost_nano_usd) IN ('integer', 'null')),
  unpriced INTEGER NOT NULL,
  partly_priced INTEGER NOT NULL DEFAULT 0,
  unpriced_parts TEXT,
  price_source TEXT NOT NULL,
  price_id INTEGER,
  duration_ms INTEGER,
  is_estimated INTEGER NOT NULL
)`,
  `CREATE INDEX calls_by_time ON calls (at)`,
  `CREATE INDEX calls_by_session ON calls (session_id, at) WHERE session_id IS NOT NULL`,
  `CREATE INDEX calls_by_run ON calls (run_id, at) WHERE run_id IS NOT NULL AND session_id IS NULL`,
  `CREATE TRIGGER calls_refuse_update BEFORE UPDATE ON calls
BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END`,
  `CREATE TRIGGER calls_refuse_delete BEFORE DELETE ON calls
BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END`,

  // The rates that calls were priced by.
  `CREATE TABLE prices (
  price_id INTEGER PRIMARY KEY,
  hash TEXT NOT NULL UNIQUE,
  rates TEXT NOT NULL
)`,

  // How far the ledger is rolled up: 'totals' into the usage tables, 'decisions' into spend_counters.
  `CREATE TABLE rollup_positions (
  name TEXT PRIMARY KEY NOT NULL,
  position INTEGER NOT NULL
) WITHOUT ROWID`,
  `INSERT INTO rollup_positions VALUES ('totals', 0), ('decisions', 0)`,

  `CREATE TABLE usage_runs (
  run_id TEXT PRIMARY KEY NOT NULL,
  session_id TEXT,
  agent_id TEXT NOT NULL,
  model TEXT NOT NULL,
  first_at INTEGER NOT NULL,
  last_at INTEGER NOT NULL,${COUNTERS}
) WITHOUT ROWID`,
  `CREATE INDEX usage_runs_latest ON usage_runs (first_at DESC, run_id DESC)`,
  `CREATE TABLE usage_sessions (
  session_id TEXT PRIMARY KEY NOT NULL,
  agent_id TEXT NOT NULL,
  model TEXT NOT NULL,
  first_at INTEGER NOT NULL,
  last_at INTEGER NOT NULL,${COUNTERS}
) WITHOUT ROWID`,
  `CREATE INDEX usage_sessions_latest ON usage_sessions (first_at DESC, session_id DESC)`,
  `CREATE TABLE usage_totals (${DIMENSIONS}${COUNTERS},
  PRIMARY KEY (agent_id, provider, model, key_id)
) WITHOUT ROWID`,
  `CREATE TABLE usage_days (
  day INTEGER NOT NULL,${DIMENSIONS}${COUNTERS},
  PRIMARY KEY (day, agent_id, provider, model, key_id)
) WITHOUT ROWID`,
  `CREATE TABLE usage_hours (
  hour INTEGER NOT NULL,${DIMENSIONS}${COUNTERS},
  PRIMARY KEY (hour, agent_id, provider, model, key_id)
) WITHOUT ROWID`,

  // What alert rules and budgets are decided on. kind: run, session, minute, day, lifetime. scope: the run's or
  // session's id; else an agent, 'key ' and a key's id, or '' for all. start: of the minute or UTC day, else 0. Weeks
  // and months are sums of days.
  `CREATE TABLE spend_counters (
  kind TEXT NOT NULL,
  scope TEXT NOT NULL,
  start INTEGER NOT NULL,
  whole_usd INTEGER NOT NULL,
  rest_nano_usd INTEGER NOT NULL,
  first_at INTEGER NOT NULL,
  PRIMARY KEY (kind, scope, start)
) WITHOUT ROWID`,

  `DROP TABLE spend_runs`,
  `DROP TABLE spend_sessions`,
  `DROP TABLE spend_totals`,
  `DROP TABLE spend_days`,
  `DROP TABLE spend_hours`,
  `DROP TABLE spend_windows`,

  // One row for each counter that a call in flight may add to. A lost one has no call any more: its count never came.
  `DROP TABLE reservations`,
  `CREATE TABLE reservations (
  kind TEXT NOT NULL,
  scope TEXT NOT NULL,
  start INTEGER NOT NULL,
  reservation_id TEXT NOT NULL,
  amount_nano_usd INTEGER NOT NULL,
  is_lost INTEGER NOT NULL DEFAULT 0,
  expires_at INTEGER NOT NULL,
  PRIMARY KEY (kind, scope, start, reservation_id)
) WITHOUT ROWID`,
  `CREATE INDEX reservations_by_id ON reservations (reservation_id)`,

  `ALTER TABLE runs ADD COLUMN parent_run_id TEXT`,
  `ALTER TABLE runs ADD COLUMN root_run_id TEXT`,

  // Every connection of Purser's own fires these triggers on REPLACE too (recursive_triggers), so that the two look-ups
  // for each event are needless.
  `DROP TRIGGER events_refuse_replace`,

  // What firing means stands in the code and is installed from there: see store/logic.ts.
  `DROP TRIGGER alerts_claim`,
  `DROP TRIGGER alerts_fire`,
  `DROP TRIGGER alerts_trim`,
  `DROP TRIGGER alerts_tally`,
  `CREATE TABLE installed_logic (
  name TEXT PRIMARY KEY NOT NULL,
  hash TEXT NOT NULL
) WITHOUT ROWID`,
];

const KEPT_COLUMNS = `call_id, at, agent_id, session_id, run_id, step, tools, provider, model, input_tokens,
  output_tokens, cache_read_tokens, cache_write_tokens, cache_write_1h_tokens, reasoning_tokens, total_tokens,
  cost_nano_usd, price_source, duration_ms`;

const SUMS = `count(*), sum(unpriced), 0, sum(is_estimated), sum(input_tokens), sum(output_tokens),
  sum(cache_read_tokens), sum(cache_write_tokens), sum(reasoning_tokens), sum(total_tokens),
  sum(coalesce(cost_nano_usd, 0) / 1000000000), sum(coalesce(cost_nano_usd, 0) % 1000000000)`;

const ADD = [
  "model_calls",
  "unpriced_calls",
  "partly_priced_calls",
  "estimated_calls",
  "input_tokens",
  "output_tokens",
  "cache_read_tokens",
  "cache_write_tokens",
  "reasoning_tokens",
  "total_tokens",
  "whole_usd",
  "rest_nano_usd",
].map((column) => `${column} = ${column} + excluded.${column}`).join(", ");

const NEW_CALLS = "FROM calls WHERE position > (SELECT position FROM rollup_positions WHERE name = 'totals')";

const KEY = "agent_id, provider, model, coalesce(key_id, '')";
const of = (which: "min" | "max", column: string) =>
  `substr(${which}(printf('%016d%016d', at, position) || ${column}), 33)`;
const LAST = `first_at = min(first_at, excluded.first_at),
  agent_id = CASE WHEN excluded.first_at < first_at THEN excluded.agent_id ELSE agent_id END,
  model = CASE WHEN excluded.last_at >= last_at THEN excluded.model ELSE model END,
  last_at = max(last_at, excluded.last_at)`;

const counted = (kind: string, scope: string, start: string, where: string) =>
  `SELECT '${kind}' AS kind, ${scope} AS scope, ${start} AS start, coalesce(cost_nano_usd, 0) AS cost, at ${NEW_CALLS} AND ${where}`;

/** How many calls are brought over by one commit: a server ends a transaction that takes longer than 5 s. */
const CHUNK = 5_000;

/** Brings the old calls over and rolls them up, so many in a commit; what is there already tells how far it came. */
export const chunkOf = (calls: number): readonly string[] => [
  `INSERT INTO calls (position, ${KEPT_COLUMNS}, is_estimated, unpriced)
SELECT rowid, ${KEPT_COLUMNS}, estimated, cost_nano_usd IS NULL FROM calls_without_position
WHERE rowid > (SELECT coalesce(max(position), 0) FROM calls) ORDER BY rowid LIMIT ${calls}`,
  `INSERT INTO usage_runs SELECT run_id, nullif(${of("max", "coalesce(session_id, '')")}, ''), ${
    of("min", "agent_id")
  }, ${of("max", "model")}, min(at), max(at), ${SUMS} ${NEW_CALLS} AND run_id IS NOT NULL GROUP BY run_id
ON CONFLICT DO UPDATE SET session_id = CASE WHEN excluded.last_at >= last_at THEN excluded.session_id ELSE session_id END,
  ${LAST}, ${ADD}`,
  `INSERT INTO usage_sessions SELECT session_id, ${of("min", "agent_id")}, ${
    of("max", "model")
  }, min(at), max(at), ${SUMS} ${NEW_CALLS} AND session_id IS NOT NULL GROUP BY session_id
ON CONFLICT DO UPDATE SET ${LAST}, ${ADD}`,
  `INSERT INTO usage_totals SELECT ${KEY}, ${SUMS} ${NEW_CALLS} GROUP BY ${KEY} ON CONFLICT DO UPDATE SET ${ADD}`,
  `INSERT INTO usage_days SELECT at - at % 86400000, ${KEY}, ${SUMS} ${NEW_CALLS} GROUP BY 1, ${KEY}
ON CONFLICT DO UPDATE SET ${ADD}`,
  `INSERT INTO usage_hours SELECT at - at % 3600000, ${KEY}, ${SUMS} ${NEW_CALLS} GROUP BY 1, ${KEY}
ON CONFLICT DO UPDATE SET ${ADD}`,
  // Of minutes only those that a window of an hour may still need.
  `INSERT INTO spend_counters
SELECT kind, scope, start, sum(cost / 1000000000), sum(cost % 1000000000), min(at) FROM (
  ${counted("run", "run_id", "0", "run_id IS NOT NULL")}
  UNION ALL ${counted("session", "session_id", "0", "session_id IS NOT NULL")}
  UNION ALL ${counted("day", "agent_id", "at - at % 86400000", "cost_nano_usd <> 0")}
  UNION ALL ${counted("day", "''", "at - at % 86400000", "cost_nano_usd <> 0")}
  UNION ALL ${counted("lifetime", "agent_id", "0", "cost_nano_usd <> 0")}
  UNION ALL ${counted("lifetime", "''", "0", "cost_nano_usd <> 0")}
  UNION ALL ${
    counted(
      "minute",
      "agent_id",
      "at - at % 60000",
      "cost_nano_usd <> 0 AND at > (SELECT max(at) FROM calls_without_position) - 172800000",
    )
  }
  UNION ALL ${
    counted(
      "minute",
      "''",
      "at - at % 60000",
      "cost_nano_usd <> 0 AND at > (SELECT max(at) FROM calls_without_position) - 172800000",
    )
  }
) GROUP BY 1, 2, 3
ON CONFLICT DO UPDATE SET whole_usd = whole_usd + excluded.whole_usd,
  rest_nano_usd = rest_nano_usd + excluded.rest_nano_usd, first_at = min(first_at, excluded.first_at)`,
  `UPDATE rollup_positions SET position = (SELECT coalesce(max(position), 0) FROM calls)`,
];

export const chunk = chunkOf(CHUNK);

/** 1 once every call is over. */
export const isDone =
  `SELECT (SELECT coalesce(max(rowid), 0) FROM calls_without_position) <= (SELECT position FROM rollup_positions WHERE name = 'totals')`;

export const removeOld: readonly string[] = [`DROP TABLE calls_without_position`];
