import { INTEGER, onlyPostgres, onlySqlite, TEXT, WITHOUT_ROWID } from "../dialect.ts";
import { refuse } from "./m0022_ledger.ts";

/** A column's name that is a word of PostgreSQL's grammar. */
const WINDOW = onlySqlite("window") + onlyPostgres('"window"');

/** Adds one to a count; `key` has its three columns. */
const ADD = (key: string) =>
  `INSERT INTO tallies (what, name, outcome, count) VALUES (${key}, 1)
  ON CONFLICT (what, name, outcome) DO UPDATE SET count = count + 1`;

/** The tables of release 0.1.0: alert rules, budgets, API keys, notifications, anomalies, and claims of requests. */
export const statements: readonly string[] = [
  // What alert rules and budgets are decided on. kind: run, session, minute, day, lifetime. scope: the run's or session's id;
  // else an agent, 'key ' and a key's id, or '' for all. start: of the minute or UTC day, else 0. Weeks and months are sums of
  // days.
  `CREATE TABLE spend_counters (
  kind ${TEXT} NOT NULL,
  scope ${TEXT} NOT NULL,
  start ${INTEGER} NOT NULL,
  whole_usd ${INTEGER} NOT NULL,
  rest_nano_usd ${INTEGER} NOT NULL,
  first_at ${INTEGER} NOT NULL,
  PRIMARY KEY (kind, scope, start)
)${WITHOUT_ROWID}`,

  // scope is an agent, or '' for all. The last four columns are the decision's: a rule is armed when calls are compared with
  // it, and rests during its cooldown; is_over: it has fired in this hour, and spend hasn't fallen below it since.
  `CREATE TABLE alert_rules (
  rule_id ${TEXT} PRIMARY KEY NOT NULL,
  name ${TEXT} NOT NULL,
  threshold_type ${TEXT} NOT NULL,
  threshold_nano_usd ${INTEGER} NOT NULL,
  severity ${TEXT} NOT NULL,
  cooldown_ms ${INTEGER} NOT NULL,
  repeat ${TEXT} NOT NULL,
  scope ${TEXT} NOT NULL,
  enabled ${INTEGER} NOT NULL,
  last_fired_at ${INTEGER},
  created_at ${INTEGER} NOT NULL,
  updated_at ${INTEGER} NOT NULL,
  is_armed ${INTEGER} NOT NULL,
  cooldown_from ${INTEGER},
  rests_until ${INTEGER},
  is_over ${INTEGER} NOT NULL DEFAULT 0
)${WITHOUT_ROWID}`,
  `CREATE INDEX alert_rules_armed ON alert_rules (scope, threshold_type, threshold_nano_usd) WHERE is_armed = 1`,
  `CREATE INDEX alert_rules_resting ON alert_rules (rests_until) WHERE is_armed = 0 AND enabled = 1 AND is_over = 0`,
  `CREATE INDEX alert_rules_fired ON alert_rules (cooldown_from) WHERE enabled = 1`,
  `CREATE INDEX alert_rules_over ON alert_rules (scope, threshold_nano_usd) WHERE is_over = 1`,

  // The windows that a rule with repeat = once_per_window has fired for.
  `CREATE TABLE alert_claims (
  rule_id ${TEXT} NOT NULL,
  ${WINDOW} ${TEXT} NOT NULL,
  PRIMARY KEY (rule_id, ${WINDOW})
)${WITHOUT_ROWID}`,

  // The history, in the order in which alerts fired. channels are those of the process that booked the call: [[name, kind,
  // rank of the mildest severity], …]. budget_limit_nano_usd: null for an alert of a rule. call_position: the newest entry of
  // the ledger that the value holds. key_id: the key of the call.
  `CREATE TABLE alerts (
  position ${INTEGER} PRIMARY KEY,
  alert_id ${TEXT} NOT NULL UNIQUE,
  rule_id ${TEXT} NOT NULL,
  rule_name ${TEXT} NOT NULL,
  threshold_type ${TEXT} NOT NULL,
  threshold_nano_usd ${INTEGER} NOT NULL,
  severity ${TEXT} NOT NULL,
  value_nano_usd ${INTEGER} NOT NULL,
  agent_id ${TEXT},
  session_id ${TEXT},
  run_id ${TEXT},
  ${WINDOW} ${TEXT},
  window_start ${INTEGER},
  triggered_at ${INTEGER} NOT NULL,
  is_test ${INTEGER} NOT NULL DEFAULT 0,
  channels ${TEXT},
  budget_limit_nano_usd ${INTEGER},
  call_position ${INTEGER},
  key_id ${TEXT}
)`,

  `CREATE TABLE anomalies (
  anomaly_id ${TEXT} PRIMARY KEY NOT NULL,
  anomaly_key ${TEXT} NOT NULL UNIQUE,
  kind ${TEXT} NOT NULL,
  severity ${TEXT} NOT NULL,
  agent_id ${TEXT} NOT NULL,
  session_id ${TEXT},
  run_id ${TEXT},
  call_id ${TEXT},
  message ${TEXT} NOT NULL,
  details ${TEXT} NOT NULL,
  detected_at ${INTEGER} NOT NULL
)`,
  `CREATE INDEX anomalies_latest ON anomalies (detected_at)`,

  // One row for each notification (an alert or an anomaly) and channel. Pending ones are due at due_at, unless a process has a
  // lease until lease_until. lost_claims: claims whose process died, which are not among the attempts.
  `CREATE TABLE deliveries (
  delivery_id ${TEXT} PRIMARY KEY NOT NULL,
  subject_id ${TEXT} NOT NULL,
  channel ${TEXT} NOT NULL,
  kind ${TEXT} NOT NULL,
  status ${TEXT} NOT NULL DEFAULT 'pending',
  attempts ${INTEGER} NOT NULL DEFAULT 0,
  due_at ${INTEGER} NOT NULL,
  attempted_at ${INTEGER},
  lease_until ${INTEGER},
  leased_by ${TEXT},
  last_error ${TEXT},
  created_at ${INTEGER} NOT NULL,
  settled_at ${INTEGER},
  lost_claims ${INTEGER} NOT NULL DEFAULT 0
)${WITHOUT_ROWID}`,
  `CREATE INDEX deliveries_of ON deliveries (subject_id)`,
  `CREATE INDEX deliveries_due ON deliveries (channel, due_at) WHERE status = 'pending'`,
  onlySqlite(`CREATE TRIGGER alerts_forget AFTER DELETE ON alerts
BEGIN
  DELETE FROM deliveries WHERE subject_id = OLD.alert_id;
END`),
  onlySqlite(`CREATE TRIGGER anomalies_forget AFTER DELETE ON anomalies
BEGIN
  DELETE FROM deliveries WHERE subject_id = OLD.anomaly_id;
END`),

  // Counts that only grow: of runs that have ended, alerts that have fired and deliveries that are settled. The rows they
  // count are too many to be counted again and again, or are gone after a while. run: name is its status. alert: its
  // severity. delivery: its channel, and outcome is delivered or failed.
  `CREATE TABLE tallies (
  what ${TEXT} NOT NULL,
  name ${TEXT} NOT NULL,
  outcome ${TEXT} NOT NULL,
  count ${INTEGER} NOT NULL,
  PRIMARY KEY (what, name, outcome)
)${WITHOUT_ROWID}`,
  onlySqlite(`CREATE TRIGGER runs_tally AFTER UPDATE OF status ON runs
WHEN NEW.status <> OLD.status AND NEW.status <> 'running'
BEGIN
  ${ADD("'run', NEW.status, ''")};
END`),
  // A test's deliveries are not counted: their outcome is the answer to the test.
  onlySqlite(`CREATE TRIGGER deliveries_tally AFTER UPDATE OF status ON deliveries
WHEN OLD.status = 'pending' AND NEW.status <> 'pending'
  AND NOT EXISTS (SELECT 1 FROM alerts a WHERE a.alert_id = NEW.subject_id AND a.is_test = 1)
BEGIN
  ${ADD("'delivery', NEW.channel, NEW.status")};
END`),

  // scope: the calls that it counts, as in spend_counters: '' for all, an agent, 'session ' and an id, 'key ' and an id. each:
  // one counter for each agent, session or key within the scope. warn_at: shares of the limit, as JSON.
  `CREATE TABLE budgets (
  budget_id ${TEXT} PRIMARY KEY NOT NULL,
  name ${TEXT} NOT NULL,
  limit_nano_usd ${INTEGER} NOT NULL${onlySqlite(" CHECK (typeof(limit_nano_usd) = 'integer')")},
  per ${TEXT} NOT NULL,
  scope ${TEXT} NOT NULL,
  each ${TEXT},
  mode ${TEXT} NOT NULL,
  action ${TEXT} NOT NULL,
  warn_at ${TEXT} NOT NULL,
  counts_from ${INTEGER},
  allow_unpriced ${INTEGER} NOT NULL,
  enabled ${INTEGER} NOT NULL,
  created_at ${INTEGER} NOT NULL,
  updated_at ${INTEGER} NOT NULL,
  refused_calls ${INTEGER} NOT NULL DEFAULT 0,
  last_refused_at ${INTEGER}
)${WITHOUT_ROWID}`,
  // Those that a call is counted in, without the others; and whether there are any of a kind.
  `CREATE INDEX budgets_enabled ON budgets (scope, per) WHERE enabled = 1`,
  `CREATE INDEX budgets_strict ON budgets (mode, action) WHERE enabled = 1`,

  // Append-only: limits are raised for a time, and the key that raised them is kept. until: null without an end.
  `CREATE TABLE budget_raises (
  raise_id ${TEXT} PRIMARY KEY NOT NULL,
  budget_id ${TEXT} NOT NULL,
  extra_nano_usd ${INTEGER} NOT NULL${onlySqlite(" CHECK (typeof(extra_nano_usd) = 'integer')")},
  until ${INTEGER},
  reason ${TEXT},
  key_id ${TEXT},
  created_at ${INTEGER} NOT NULL
)${WITHOUT_ROWID}`,
  `CREATE INDEX budget_raises_by_budget ON budget_raises (budget_id, created_at)`,

  // One row for each scope of a call in flight that has a budget: those of budgets, and 'run ' and an id. at: the time under
  // which the call will be booked. worst: its bound, which strict budgets count; estimate: the amount that others count.
  // headroom: the amount that all calls together may cost, after a total of spent, before a budget of this scope is near a
  // limit. A lost reservation is one whose call was never booked. strictness: 1 with a strict budget that watches, 2 with one
  // that refuses. is_held: the reservation is kept until its call is booked, also after its lease; the last three columns
  // name the caller of such a call.
  `CREATE TABLE reservations (
  scope ${TEXT} NOT NULL,
  at ${INTEGER} NOT NULL,
  reservation_id ${TEXT} NOT NULL,
  worst_nano_usd ${INTEGER} NOT NULL,
  estimate_nano_usd ${INTEGER} NOT NULL,
  strictness ${INTEGER} NOT NULL DEFAULT 0,
  spent_nano_usd ${INTEGER} NOT NULL DEFAULT 0,
  headroom_nano_usd ${INTEGER} NOT NULL DEFAULT 0,
  is_lost ${INTEGER} NOT NULL DEFAULT 0,
  expires_at ${INTEGER} NOT NULL,
  is_held ${INTEGER} NOT NULL DEFAULT 0,
  agent_id ${TEXT},
  session_id ${TEXT},
  key_id ${TEXT},
  PRIMARY KEY (scope, at, reservation_id)
)${WITHOUT_ROWID}`,
  `CREATE INDEX reservations_by_id ON reservations (reservation_id)`,

  // Append-only, as the raises of a budget. reservation_ids: the reservations that were released, as JSON.
  `CREATE TABLE budget_releases (
  release_id ${TEXT} PRIMARY KEY NOT NULL,
  budget_id ${TEXT} NOT NULL,
  reservation_ids ${TEXT} NOT NULL,
  released_nano_usd ${INTEGER} NOT NULL${onlySqlite(" CHECK (typeof(released_nano_usd) = 'integer')")},
  reason ${TEXT} NOT NULL,
  key_id ${TEXT},
  created_at ${INTEGER} NOT NULL
)${WITHOUT_ROWID}`,
  `CREATE INDEX budget_releases_by_budget ON budget_releases (budget_id, created_at)`,

  // The keys that have overshot a strict budget at the gateway, by the counter and the time: see calls/overshoots.ts.
  `CREATE TABLE overshoots (
  budget_id ${TEXT} NOT NULL,
  scope ${TEXT} NOT NULL,
  key_id ${TEXT} NOT NULL,
  at ${INTEGER} NOT NULL,
  PRIMARY KEY (key_id, budget_id, scope, at)
)${WITHOUT_ROWID}`,

  // Rows are never deleted: a database that ever had a key requires one. hash is the SHA-256 of the key's secret part, in hex;
  // the secret itself is not stored. scopes is a JSON array; models: those that the key may call through the gateway, a JSON
  // array of names and patterns, null for all. A secret that was replaced is accepted until previous_until.
  `CREATE TABLE api_keys (
  key_id ${TEXT} PRIMARY KEY NOT NULL,
  name ${TEXT} NOT NULL,
  hash ${TEXT} NOT NULL,
  scopes ${TEXT} NOT NULL,
  agent_id ${TEXT},
  created_at ${INTEGER} NOT NULL,
  expires_at ${INTEGER},
  last_used_at ${INTEGER},
  revoked_at ${INTEGER},
  models ${TEXT},
  rotated_at ${INTEGER},
  previous_hash ${TEXT},
  previous_until ${INTEGER}
)${WITHOUT_ROWID}`,
  `CREATE INDEX api_keys_latest ON api_keys (created_at DESC, key_id DESC)`,
  `CREATE INDEX api_keys_by_name ON api_keys (name)`,
  ...refuse("api_keys", "keys are revoked, never deleted", ["delete"]),

  // Sessions of the dashboard. Each belongs to a key, and ends with it; a code makes one, once. hash is the SHA-256 of a random
  // token of 256 bits, in hex, as that of keys.
  `CREATE TABLE web_sessions (
  hash ${TEXT} PRIMARY KEY NOT NULL,
  key_id ${TEXT} NOT NULL,
  created_at ${INTEGER} NOT NULL,
  last_used_at ${INTEGER} NOT NULL,
  expires_at ${INTEGER} NOT NULL
)${WITHOUT_ROWID}`,
  `CREATE INDEX web_sessions_key ON web_sessions (key_id, last_used_at DESC)`,
  `CREATE TABLE web_codes (
  hash ${TEXT} PRIMARY KEY NOT NULL,
  key_id ${TEXT} NOT NULL,
  expires_at ${INTEGER} NOT NULL
)${WITHOUT_ROWID}`,

  // Claims of requests that clients may send again under an Idempotency-Key, for a day. owner: the API key's id, '' without
  // one. A request holds the claim until it ends or its lease does; result is the answer, written in the commit of the effect.
  // The answer of a run is the run itself: run_id is chosen with the claim, and the run exists from its start on.
  `CREATE TABLE idempotency_keys (
  owner ${TEXT} NOT NULL,
  operation ${TEXT} NOT NULL,
  idempotency_key ${TEXT} NOT NULL,
  fingerprint ${TEXT} NOT NULL,
  holder ${TEXT} NOT NULL,
  instance_id ${TEXT} NOT NULL,
  lease_until ${INTEGER} NOT NULL,
  run_id ${TEXT},
  result ${TEXT},
  created_at ${INTEGER} NOT NULL,
  PRIMARY KEY (owner, operation, idempotency_key)
)${WITHOUT_ROWID}`,
  `CREATE INDEX idempotency_keys_by_time ON idempotency_keys (created_at)`,
  `CREATE INDEX idempotency_keys_by_lease ON idempotency_keys (lease_until, instance_id)`,
];
