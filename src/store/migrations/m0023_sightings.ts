const USAGE = ["usage_runs", "usage_sessions", "usage_totals", "usage_days", "usage_hours"];
/** `lower_bound_calls`: those that only logs and exported spans have seen. No earlier version has booked any. */
const COUNTERS = ["plan_whole_usd", "plan_rest_nano_usd", "lower_bound_calls"];

/**
 * Witnesses of calls: what logs, exported spans and reports say of them; and the calls that a plan pays for.
 *
 * `plan_nano_usd` is what a call that a plan pays for would cost by the API; its `cost_nano_usd`, which is billed, is 0.
 *
 * An entry of the ledger with `stands` corrects a call by what a witness has said: with the id of the call itself, its tokens
 * and cost; with another id, it takes the whole call back, as that one is the same call by a better witness.
 */
export const statements: readonly string[] = [
  `ALTER TABLE calls ADD COLUMN stands TEXT`,
  `ALTER TABLE calls ADD COLUMN plan_nano_usd INTEGER`,
  ...USAGE.flatMap((table) =>
    COUNTERS.map((column) => `ALTER TABLE ${table} ADD COLUMN ${column} INTEGER NOT NULL DEFAULT 0`)
  ),
  // By day first: bookings write to few pages of it, however many days there are. The ends of ids make half as many pages.
  "CREATE INDEX calls_by_response ON calls (((at / 86400000)), substr(response_id, (length(response_id) - 11))) " +
  "WHERE response_id IS NOT NULL",
  `CREATE INDEX calls_by_standing ON calls (stands) WHERE stands IS NOT NULL`,
  // Those that the gateway's row of the same call finds by their counts only.
  `CREATE INDEX calls_without_answer ON calls (((at / 86400000)), input_tokens) ` +
  `WHERE (source IN ('log', 'otlp')) AND response_id IS NULL AND adjusts IS NULL`,

  // witness: 'source:name:ref'. is_apart: 0 if a call was booked from this witness, which is then call_id, and may have been
  // taken back; 1 if another one's is. day: of its first statement, in days since the epoch. response_id: only of a witness that is apart, else the call has it. said: JSON, the
  // statements of the witness, best first.
  `CREATE TABLE sightings (
  witness TEXT NOT NULL UNIQUE,
  call_id TEXT NOT NULL,
  is_apart INTEGER NOT NULL,
  response_id TEXT,
  request_id TEXT,
  fingerprint TEXT,
  day INTEGER NOT NULL,
  said TEXT NOT NULL
)`,
  `CREATE INDEX sightings_by_response ON sightings (response_id) WHERE response_id IS NOT NULL`,
  `CREATE INDEX sightings_by_request ON sightings (day, request_id) WHERE request_id IS NOT NULL`,
  `CREATE INDEX sightings_by_fingerprint ON sightings (fingerprint) WHERE fingerprint IS NOT NULL`,
  `CREATE INDEX sightings_apart ON sightings (call_id) WHERE is_apart = 1`,

  // The tags that witnesses have added to a call, with those of its own row where another call was taken back for it.
  `CREATE TABLE call_tags (
  call_id TEXT PRIMARY KEY NOT NULL,
  tags TEXT NOT NULL
) WITHOUT ROWID`,

  // How far the logs of agents have been imported.
  // key_id: '' for imports into the database itself. read_to: the offset after the last line that was read. state: JSON of the
  // reader of this kind of log. unmetered, malformed: the records of the file that were left out. fault: why it can't be read.
  `CREATE TABLE import_files (
  key_id TEXT NOT NULL,
  machine TEXT NOT NULL,
  agent TEXT NOT NULL,
  path TEXT NOT NULL,
  size INTEGER NOT NULL,
  modified_at INTEGER NOT NULL,
  read_to INTEGER NOT NULL,
  head TEXT NOT NULL,
  is_ended INTEGER NOT NULL,
  state TEXT,
  imported_at INTEGER NOT NULL,
  unmetered INTEGER NOT NULL,
  malformed INTEGER NOT NULL,
  fault TEXT,
  PRIMARY KEY (key_id, machine, agent, path)
) WITHOUT ROWID`,

  // The records of exported telemetry that are no calls to book, and those that say a known call again. scope: the instrumentation
  // that has written them. kind: 'unmetered', 'rollup', 'rejected' or 'duplicate'. reason: of the last one.
  `CREATE TABLE otlp_faults (
  key_id TEXT NOT NULL,
  agent_id TEXT NOT NULL,
  machine TEXT NOT NULL,
  scope TEXT NOT NULL,
  kind TEXT NOT NULL,
  records INTEGER NOT NULL,
  reason TEXT NOT NULL,
  seen_at INTEGER NOT NULL,
  PRIMARY KEY (key_id, agent_id, machine, scope, kind)
) WITHOUT ROWID`,

  // The totals of the sources of calls, up to the position of the others. machine: of logs and spans, else ''.
  `CREATE TABLE usage_sources (
  source TEXT NOT NULL,
  agent_id TEXT NOT NULL,
  machine TEXT NOT NULL,
  first_at INTEGER NOT NULL,
  last_at INTEGER NOT NULL,
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
  rest_nano_usd INTEGER NOT NULL,
  plan_whole_usd INTEGER NOT NULL,
  plan_rest_nano_usd INTEGER NOT NULL,
  lower_bound_calls INTEGER NOT NULL,
  PRIMARY KEY (source, agent_id, machine)
) WITHOUT ROWID`,
  `INSERT INTO usage_sources SELECT coalesce(source, ''), agent_id, '', min(at), max(at),
  sum(CASE WHEN adjusts IS NULL THEN 1 ELSE 0 END), sum(unpriced), sum(partly_priced), sum(is_estimated), sum(input_tokens),
  sum(output_tokens), sum(cache_read_tokens), sum(cache_write_tokens), sum(reasoning_tokens), sum(total_tokens),
  sum(coalesce(cost_nano_usd, 0) / 1000000000), sum(coalesce(cost_nano_usd, 0) % 1000000000), 0, 0, 0
FROM calls WHERE position <= (SELECT position FROM rollup_positions WHERE name = 'totals') GROUP BY 1, 2`,
];
