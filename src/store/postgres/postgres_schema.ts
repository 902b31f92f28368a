import { statements as ledger } from "../migrations/m0022_ledger.ts";
import { statements as limits } from "../migrations/m0022_limits.ts";
import { statements as sightings } from "../migrations/m0023_sightings.ts";
import type { Logic } from "../schema/migrate.ts";
import { FUNCTIONS } from "./functions.ts";
import type { Migration } from "../migrations/migrations.ts";

const int = "BIGINT";
const INT = "BIGINT NOT NULL";
/** Texts are in the order of their bytes, as in SQLite, whatever the database's order is. */
const text = 'TEXT COLLATE "C"';
const TEXT = `${text} NOT NULL`;

const COUNTERS = `
  model_calls ${INT}, unpriced_calls ${INT}, partly_priced_calls ${INT}, estimated_calls ${INT},
  input_tokens ${INT}, output_tokens ${INT}, cache_read_tokens ${INT}, cache_write_tokens ${INT},
  reasoning_tokens ${INT}, total_tokens ${INT}, whole_usd ${INT}, rest_nano_usd ${INT}`;

const DIMENSIONS = `agent_id ${TEXT}, provider ${TEXT}, model ${TEXT}, key_id ${TEXT}`;

/** The tables of 0.1.0, as in m0022_ledger.ts and m0022_limits.ts, which have a comment on each. */
const tables: readonly string[] = [
  `CREATE TABLE agents (
  agent_id ${text} PRIMARY KEY, model ${TEXT}, system_prompt ${TEXT}, cost_budget_nano_usd ${int},
  budget_mode ${TEXT}, allow_unpriced ${INT}, max_steps ${INT}, max_output_tokens ${int}, tools ${TEXT},
  created_at ${INT}, updated_at ${INT}, tags ${TEXT} DEFAULT '{}')`,
  `CREATE TABLE sessions (
  session_id ${text} PRIMARY KEY, agent_id ${TEXT}, status ${TEXT}, generation ${INT} DEFAULT 1,
  message_count ${INT} DEFAULT 0, event_count ${INT} DEFAULT 0, active_run_id ${text},
  tags ${TEXT} DEFAULT '{}', restored_from ${text}, created_at ${INT}, updated_at ${INT}, extras ${text})`,
  `CREATE TABLE runs (
  run_id ${text} PRIMARY KEY, session_id ${TEXT}, agent_id ${TEXT}, model ${TEXT}, status ${TEXT},
  cost_budget_nano_usd ${int}, budget_mode ${TEXT}, steps ${INT} DEFAULT 0, output ${text}, error ${text},
  cancel_requested ${INT} DEFAULT 0, instance_id ${TEXT}, lease_until ${INT}, started_at ${INT},
  ended_at ${int}, parent_run_id ${text}, root_run_id ${text}, tags ${text})`,
  `CREATE TABLE messages (
  session_id ${TEXT}, generation ${INT}, position ${INT}, message_id ${TEXT}, run_id ${text}, created_at ${INT},
  content ${TEXT}, is_whole ${INT} DEFAULT 0)`,
  `CREATE TABLE loose_generations (
  session_id ${TEXT}, generation ${INT}, staged_by ${text}, since ${INT}, PRIMARY KEY (session_id, generation))`,
  `CREATE TABLE events (
  event_id ${int} PRIMARY KEY, session_id ${text}, seq ${int}, run_id ${text}, agent_id ${TEXT}, type ${TEXT},
  at ${INT}, call_id ${text}, payload ${text}, withheld ${text})`,
  `CREATE TABLE imported_events (
  session_id ${TEXT}, generation ${INT}, position ${INT}, content ${TEXT})`,
  `CREATE TABLE calls (
  position ${int} PRIMARY KEY, call_id ${TEXT} UNIQUE, adjusts ${text}, at ${INT}, agent_id ${TEXT},
  session_id ${text}, run_id ${text}, step ${int}, key_id ${text}, source ${text}, tools ${TEXT},
  provider ${TEXT}, model ${TEXT}, service_tier ${text}, response_id ${text}, input_tokens ${INT},
  output_tokens ${INT}, cache_read_tokens ${INT}, cache_write_tokens ${INT}, cache_write_1h_tokens ${INT},
  reasoning_tokens ${INT}, total_tokens ${INT}, cost_nano_usd ${int}, unpriced ${INT},
  partly_priced ${INT} DEFAULT 0, unpriced_parts ${text}, price_source ${TEXT}, price_id ${int},
  duration_ms ${int}, is_estimated ${INT}, details ${text}, tags ${text}, stated_nano_usd ${int})`,
  `CREATE TABLE prices (
  price_id ${int} PRIMARY KEY, hash ${TEXT} UNIQUE, rates ${TEXT})`,
  `CREATE TABLE rollup_positions (
  name ${text} PRIMARY KEY, position ${INT})`,
  `CREATE TABLE usage_runs (
  run_id ${text} PRIMARY KEY, session_id ${text}, agent_id ${TEXT}, model ${TEXT}, first_at ${INT},
  last_at ${INT},${COUNTERS})`,
  `CREATE TABLE usage_sessions (
  session_id ${text} PRIMARY KEY, agent_id ${TEXT}, model ${TEXT}, first_at ${INT}, last_at ${INT},${COUNTERS})`,
  `CREATE TABLE usage_totals (
  ${DIMENSIONS},${COUNTERS}, PRIMARY KEY (agent_id, provider, model, key_id))`,
  `CREATE TABLE usage_days (
  day ${INT}, ${DIMENSIONS},${COUNTERS}, PRIMARY KEY (day, agent_id, provider, model, key_id))`,
  `CREATE TABLE usage_hours (
  hour ${INT}, ${DIMENSIONS},${COUNTERS}, PRIMARY KEY (hour, agent_id, provider, model, key_id))`,
  `CREATE TABLE repricings (
  position ${int} PRIMARY KEY, repricing_id ${TEXT} UNIQUE, undo_id ${TEXT} UNIQUE, status ${TEXT},
  in_progress ${int} UNIQUE, filter ${TEXT}, up_to ${INT}, cursor_at ${INT}, cursor_position ${INT},
  undo_cursor ${TEXT}, created_at ${INT}, applied_at ${int}, undone_at ${int})`,
  `CREATE TABLE repricing_models (
  repricing_id ${TEXT}, provider ${TEXT}, model ${TEXT}, calls ${INT}, changed_calls ${INT},
  unpriced_before ${INT}, unpriced_after ${INT}, partly_priced_before ${INT}, partly_priced_after ${INT},
  whole_usd_before ${INT}, rest_nano_usd_before ${INT}, whole_usd_after ${INT}, rest_nano_usd_after ${INT},
  PRIMARY KEY (repricing_id, provider, model))`,
  `CREATE TABLE installed_logic (
  name ${text} PRIMARY KEY, hash ${TEXT})`,
  `CREATE TABLE spend_counters (
  kind ${TEXT}, scope ${TEXT}, start ${INT}, whole_usd ${INT}, rest_nano_usd ${INT}, first_at ${INT},
  PRIMARY KEY (kind, scope, start))`,
  `CREATE TABLE alert_rules (
  rule_id ${text} PRIMARY KEY, name ${TEXT}, threshold_type ${TEXT}, threshold_nano_usd ${INT},
  severity ${TEXT}, cooldown_ms ${INT}, repeat ${TEXT}, scope ${TEXT}, enabled ${INT}, last_fired_at ${int},
  created_at ${INT}, updated_at ${INT}, is_armed ${INT}, cooldown_from ${int}, rests_until ${int},
  is_over ${INT} DEFAULT 0)`,
  `CREATE TABLE alert_claims (
  rule_id ${TEXT}, "window" ${TEXT}, PRIMARY KEY (rule_id, "window"))`,
  `CREATE TABLE alerts (
  position ${int} PRIMARY KEY, alert_id ${TEXT} UNIQUE, rule_id ${TEXT}, rule_name ${TEXT},
  threshold_type ${TEXT}, threshold_nano_usd ${INT}, severity ${TEXT}, value_nano_usd ${INT}, agent_id ${text},
  session_id ${text}, run_id ${text}, "window" ${text}, window_start ${int}, triggered_at ${INT},
  is_test ${INT} DEFAULT 0, channels ${text}, budget_limit_nano_usd ${int}, call_position ${int}, key_id ${text})`,
  `CREATE TABLE anomalies (
  anomaly_id ${text} PRIMARY KEY, anomaly_key ${TEXT} UNIQUE, kind ${TEXT}, severity ${TEXT}, agent_id ${TEXT},
  session_id ${text}, run_id ${text}, call_id ${text}, message ${TEXT}, details ${TEXT}, detected_at ${INT})`,
  `CREATE TABLE deliveries (
  delivery_id ${text} PRIMARY KEY, subject_id ${TEXT}, channel ${TEXT}, kind ${TEXT},
  status ${TEXT} DEFAULT 'pending', attempts ${INT} DEFAULT 0, due_at ${INT}, attempted_at ${int},
  lease_until ${int}, leased_by ${text}, last_error ${text}, created_at ${INT}, settled_at ${int},
  lost_claims ${INT} DEFAULT 0)`,
  `CREATE TABLE tallies (
  what ${TEXT}, name ${TEXT}, outcome ${TEXT}, count ${INT}, PRIMARY KEY (what, name, outcome))`,
  `CREATE TABLE budgets (
  budget_id ${text} PRIMARY KEY, name ${TEXT}, limit_nano_usd ${INT}, per ${TEXT}, scope ${TEXT}, each ${text},
  mode ${TEXT}, action ${TEXT}, warn_at ${TEXT}, counts_from ${int}, allow_unpriced ${INT}, enabled ${INT},
  created_at ${INT}, updated_at ${INT}, refused_calls ${INT} DEFAULT 0, last_refused_at ${int})`,
  `CREATE TABLE budget_raises (
  raise_id ${text} PRIMARY KEY, budget_id ${TEXT}, extra_nano_usd ${INT}, until ${int}, reason ${text},
  key_id ${text}, created_at ${INT})`,
  `CREATE TABLE reservations (
  scope ${TEXT}, at ${INT}, reservation_id ${TEXT}, worst_nano_usd ${INT}, estimate_nano_usd ${INT},
  strictness ${INT} DEFAULT 0, spent_nano_usd ${INT} DEFAULT 0, headroom_nano_usd ${INT} DEFAULT 0,
  is_lost ${INT} DEFAULT 0, expires_at ${INT}, is_held ${INT} DEFAULT 0, agent_id ${text}, session_id ${text},
  key_id ${text}, PRIMARY KEY (scope, at, reservation_id))`,
  `CREATE TABLE budget_releases (
  release_id ${text} PRIMARY KEY, budget_id ${TEXT}, reservation_ids ${TEXT}, released_nano_usd ${INT},
  reason ${TEXT}, key_id ${text}, created_at ${INT})`,
  `CREATE TABLE overshoots (
  budget_id ${TEXT}, scope ${TEXT}, key_id ${TEXT}, at ${INT}, PRIMARY KEY (key_id, budget_id, scope, at))`,
  `CREATE TABLE api_keys (
  key_id ${text} PRIMARY KEY, name ${TEXT}, hash ${TEXT}, scopes ${TEXT}, agent_id ${text}, created_at ${INT},
  expires_at ${int}, last_used_at ${int}, revoked_at ${int}, models ${text}, rotated_at ${int},
  previous_hash ${text}, previous_until ${int})`,
  `CREATE TABLE web_sessions (
  hash ${text} PRIMARY KEY, key_id ${TEXT}, created_at ${INT}, last_used_at ${INT}, expires_at ${INT})`,
  `CREATE TABLE web_codes (
  hash ${text} PRIMARY KEY, key_id ${TEXT}, expires_at ${INT})`,
  `CREATE TABLE idempotency_keys (
  owner ${TEXT}, operation ${TEXT}, idempotency_key ${TEXT}, fingerprint ${TEXT}, holder ${TEXT},
  instance_id ${TEXT}, lease_until ${INT}, run_id ${text}, result ${text}, created_at ${INT},
  PRIMARY KEY (owner, operation, idempotency_key))`,
];

/** The tables of m0023_sightings.ts. */
const sightingTables: readonly string[] = [
  `ALTER TABLE calls ADD COLUMN stands ${text}`,
  `CREATE TABLE sightings (
  witness ${TEXT} UNIQUE, call_id ${TEXT}, is_apart ${INT}, response_id ${text},
  request_id ${text}, fingerprint ${text}, day ${INT}, said ${TEXT})`,
  `CREATE TABLE call_tags (
  call_id ${text} PRIMARY KEY, tags ${TEXT})`,
];

/** The table of m0024_import_files.ts. */
const importFiles = `CREATE TABLE import_files (
  key_id ${TEXT}, machine ${TEXT}, agent ${TEXT}, path ${TEXT}, size ${INT}, modified_at ${INT}, read_to ${INT},
  head ${TEXT}, is_ended ${INT}, state ${text}, PRIMARY KEY (key_id, machine, agent, path))`;

/** Their indexes and first rows are the same statements on both. */
const sharedOf = (statements: readonly string[]) =>
  statements.filter((sql) => /^(CREATE (UNIQUE )?INDEX|INSERT)\b/.test(sql));
const shared = sharedOf([...ledger, ...limits]);

/** A function of a trigger, and its triggers. */
const triggered = (name: string, body: string, ...triggers: string[]): string[] => [
  `CREATE FUNCTION ${name}() RETURNS trigger LANGUAGE plpgsql AS $$\nBEGIN\n  ${body}\nEND $$`,
  ...triggers.map((trigger) => `CREATE TRIGGER ${trigger} EXECUTE FUNCTION ${name}()`),
];

const raise = (reason: string) =>
  `RAISE EXCEPTION USING MESSAGE = '${reason}', ERRCODE = 'integrity_constraint_violation';`;

/** Refuses these statements, and TRUNCATE. */
const refuse = (table: string, reason: string, ...events: ("UPDATE" | "DELETE")[]): string[] =>
  triggered(
    `${table}_refuse`,
    raise(reason),
    `${table}_refuse BEFORE ${events.join(" OR ")} ON ${table} FOR EACH ROW`,
    `${table}_refuse_truncate BEFORE TRUNCATE ON ${table}`,
  );

/** Numbers the rows of a table without gaps, in the order of commits: a sequence has gaps, and another order. */
const numbered = (table: string, column: string): string[] =>
  triggered(
    `${table}_number`,
    `SELECT coalesce(max(${column}), 0) + 1 INTO NEW.${column} FROM ${table};\n  RETURN NEW;`,
    `${table}_number BEFORE INSERT ON ${table} FOR EACH ROW WHEN (NEW.${column} IS NULL)`,
  );

const forget = (table: string, id: string): string[] =>
  triggered(
    `${table}_forget`,
    `DELETE FROM deliveries WHERE subject_id = OLD.${id};\n  RETURN NULL;`,
    `${table}_forget AFTER DELETE ON ${table} FOR EACH ROW`,
  );

const tally = (table: string, key: string, when: string, where = "true"): string[] =>
  triggered(
    `${table}_tally`,
    `INSERT INTO tallies (what, name, outcome, count) SELECT ${key}, 1 WHERE ${where}
  ON CONFLICT (what, name, outcome) DO UPDATE SET count = tallies.count + 1;
  RETURN NULL;`,
    `${table}_tally AFTER UPDATE OF status ON ${table} FOR EACH ROW WHEN (${when})`,
  );

const triggers: readonly string[] = [
  ...refuse("events", "the event log is append-only", "UPDATE", "DELETE"),
  ...refuse("calls", "the ledger is append-only", "UPDATE", "DELETE"),
  ...refuse("api_keys", "keys are revoked, never deleted", "DELETE"),
  ...numbered("events", "event_id"),
  ...numbered("calls", "position"),
  ...numbered("prices", "price_id"),
  ...numbered("repricings", "position"),
  ...numbered("alerts", "position"),
  ...forget("alerts", "alert_id"),
  ...forget("anomalies", "anomaly_id"),
  ...tally("runs", "'run', NEW.status, ''", "NEW.status <> OLD.status AND NEW.status <> 'running'"),
  ...tally(
    "deliveries",
    "'delivery', NEW.channel, NEW.status",
    "OLD.status = 'pending' AND NEW.status <> 'pending'",
    "NOT EXISTS (SELECT 1 FROM alerts a WHERE a.alert_id = NEW.subject_id AND a.is_test = 1)",
  ),
];

/** The steps of a schema in PostgreSQL. */
export const postgresMigrations: readonly Migration[] = [
  { version: 22, name: "release_0_1_0", since: "0.1.0", statements: [...tables, ...shared, ...triggers] },
  {
    version: 23,
    name: "sightings",
    since: "0.2.0",
    statements: [...sightingTables, ...sharedOf(sightings)],
  },
  { version: 24, name: "import_files", since: "0.2.0", statements: [importFiles] },
];

/** The rows of a budget are removed with it, as in `appendOnlyLogic`. */
const refuseOfBudget = (table: string, reason: string): Logic => ({
  name: `${table}_refuse`,
  sql: triggered(
    `${table}_refuse`,
    `IF TG_OP <> 'DELETE' OR EXISTS (SELECT 1 FROM budgets WHERE budget_id = OLD.budget_id) THEN
    ${raise(reason)}
  END IF;
  RETURN OLD;`,
    `${table}_refuse BEFORE UPDATE OR DELETE ON ${table} FOR EACH ROW`,
  ),
});

/** The logic that a database in PostgreSQL has besides that of all databases, and before it. */
export const postgresLogic: readonly Logic[] = [
  { name: "functions", sql: FUNCTIONS },
  refuseOfBudget("budget_raises", "raises of budgets are append-only"),
  refuseOfBudget("budget_releases", "releases of budgets are append-only"),
];
