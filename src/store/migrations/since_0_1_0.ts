import { INTEGER, TEXT, WITHOUT_ROWID } from "../dialect.ts";
import { COUNTERS, refuse } from "./m0022_ledger.ts";

/* The steps of the schema from 0.1.0 to 0.2.0, which no release has yet. */

const USAGE = ["usage_runs", "usage_sessions", "usage_totals", "usage_days", "usage_hours"];
/** `lower_bound_calls`: those that only logs and exported spans have seen. No earlier version has booked any. */
const ADDED_COUNTERS = ["plan_whole_usd", "plan_rest_nano_usd", "lower_bound_calls"];

/**
 * Witnesses of calls: what logs, exported spans and reports say of them; and the calls that a plan pays for.
 *
 * `plan_nano_usd` is what a call that a plan pays for would cost by the API; its `cost_nano_usd`, which is billed, is 0.
 *
 * An entry of the ledger with `stands` corrects a call by what a witness has said: with the id of the call itself, its tokens
 * and cost; with another id, it takes the whole call back, as that one is the same call by a better witness.
 */
export const sightings: readonly string[] = [
  `ALTER TABLE calls ADD COLUMN stands ${TEXT}`,
  `ALTER TABLE calls ADD COLUMN plan_nano_usd ${INTEGER}`,
  `ALTER TABLE calls ADD COLUMN request_id ${TEXT}`,
  ...USAGE.flatMap((table) =>
    ADDED_COUNTERS.map((column) => `ALTER TABLE ${table} ADD COLUMN ${column} ${INTEGER} NOT NULL DEFAULT 0`)
  ),
  // By day first: bookings write to few pages of it, however many days there are. The ends of ids make half as many pages.
  "CREATE INDEX calls_by_response ON calls (((at / 86400000)), substr(response_id, (length(response_id) - 11))) " +
  "WHERE response_id IS NOT NULL",
  `CREATE INDEX calls_by_standing ON calls (stands) WHERE stands IS NOT NULL`,
  // Those whose row holds the statement of its witness: by the id of the request, and by the witness' name in the id of the call, unless
  // that ends with the id of the answer. The name of a span ends with the ids of its trace and of itself: by the last 4 digits of the
  // trace first, the calls of a trace share pages.
  "CREATE INDEX calls_by_request ON calls (((at / 86400000)), substr(request_id, (length(request_id) - 11))) " +
  "WHERE request_id IS NOT NULL",
  "CREATE INDEX calls_by_witness ON calls (((at / 86400000)), " +
  "((substr(call_id, (length(call_id) - 28), 4) || substr(call_id, (length(call_id) - 15), 8)))) " +
  "WHERE (source IN ('log', 'otlp')) AND (response_id IS NULL OR (source = 'otlp') OR (replace(response_id, ':', '') <> response_id) " +
  "OR (substr(call_id, ((length(call_id) - 8) - length(response_id)), (length(response_id) + 1)) <> (':' || response_id))) " +
  "AND adjusts IS NULL",
  // Those that the gateway's row of the same call finds by their counts only.
  `CREATE INDEX calls_without_answer ON calls (((at / 86400000)), input_tokens) ` +
  `WHERE (source IN ('log', 'otlp')) AND response_id IS NULL AND adjusts IS NULL`,

  // Of the witnesses of calls, those whose statements are not in the row of a call: of a call that another witness has told, or
  // with several statements. witness: 'source:name:ref'. is_apart: 0 if a call was booked from this witness, which is then call_id, and may have been
  // taken back; 1 if another one's is. day: of its first statement, in days since the epoch. response_id: only of a witness that is apart, else the call has it. said: JSON, the
  // statements of the witness, best first.
  `CREATE TABLE sightings (
  witness ${TEXT} NOT NULL UNIQUE,
  call_id ${TEXT} NOT NULL,
  is_apart ${INTEGER} NOT NULL,
  response_id ${TEXT},
  request_id ${TEXT},
  fingerprint ${TEXT},
  day ${INTEGER} NOT NULL,
  said ${TEXT} NOT NULL
)`,
  `CREATE INDEX sightings_by_response ON sightings (response_id) WHERE response_id IS NOT NULL`,
  `CREATE INDEX sightings_by_request ON sightings (day, request_id) WHERE request_id IS NOT NULL`,
  `CREATE INDEX sightings_by_fingerprint ON sightings (fingerprint) WHERE fingerprint IS NOT NULL`,
  `CREATE INDEX sightings_apart ON sightings (call_id) WHERE is_apart = 1`,

  // The tags that witnesses have added to a call, with those of its own row where another call was taken back for it.
  `CREATE TABLE call_tags (
  call_id ${TEXT} PRIMARY KEY NOT NULL,
  tags ${TEXT} NOT NULL
)${WITHOUT_ROWID}`,

  // How far the logs of agents have been imported.
  // key_id: '' for imports into the database itself. read_to: the offset after the last line that was read. state: JSON of the
  // reader of this kind of log. unmetered, malformed: the records of the file that were left out. fault: why it can't be read.
  `CREATE TABLE import_files (
  key_id ${TEXT} NOT NULL,
  machine ${TEXT} NOT NULL,
  agent ${TEXT} NOT NULL,
  path ${TEXT} NOT NULL,
  size ${INTEGER} NOT NULL,
  modified_at ${INTEGER} NOT NULL,
  read_to ${INTEGER} NOT NULL,
  head ${TEXT} NOT NULL,
  is_ended ${INTEGER} NOT NULL,
  state ${TEXT},
  imported_at ${INTEGER} NOT NULL,
  unmetered ${INTEGER} NOT NULL,
  malformed ${INTEGER} NOT NULL,
  fault ${TEXT},
  PRIMARY KEY (key_id, machine, agent, path)
)${WITHOUT_ROWID}`,

  // The records of exported telemetry that are no calls to book, and those that say a known call again. scope: the instrumentation
  // that has written them. kind: 'unmetered', 'rollup', 'rejected' or 'duplicate'. reason: of the last one.
  `CREATE TABLE otlp_faults (
  key_id ${TEXT} NOT NULL,
  agent_id ${TEXT} NOT NULL,
  machine ${TEXT} NOT NULL,
  scope ${TEXT} NOT NULL,
  kind ${TEXT} NOT NULL,
  records ${INTEGER} NOT NULL,
  reason ${TEXT} NOT NULL,
  seen_at ${INTEGER} NOT NULL,
  PRIMARY KEY (key_id, agent_id, machine, scope, kind)
)${WITHOUT_ROWID}`,

  // The totals of the sources of calls, up to the position of the others. machine: of logs and spans, else ''.
  `CREATE TABLE usage_sources (
  source ${TEXT} NOT NULL,
  agent_id ${TEXT} NOT NULL,
  machine ${TEXT} NOT NULL,
  first_at ${INTEGER} NOT NULL,
  last_at ${INTEGER} NOT NULL,${COUNTERS},
  plan_whole_usd ${INTEGER} NOT NULL,
  plan_rest_nano_usd ${INTEGER} NOT NULL,
  lower_bound_calls ${INTEGER} NOT NULL,
  PRIMARY KEY (source, agent_id, machine)
)${WITHOUT_ROWID}`,
  `INSERT INTO usage_sources SELECT coalesce(source, ''), agent_id, '', min(at), max(at),
  sum(CASE WHEN adjusts IS NULL THEN 1 ELSE 0 END), sum(unpriced), sum(partly_priced), sum(is_estimated), sum(input_tokens),
  sum(output_tokens), sum(cache_read_tokens), sum(cache_write_tokens), sum(reasoning_tokens), sum(total_tokens),
  sum(coalesce(cost_nano_usd, 0) / 1000000000), sum(coalesce(cost_nano_usd, 0) % 1000000000), 0, 0, 0
FROM calls WHERE position <= (SELECT position FROM rollup_positions WHERE name = 'totals') GROUP BY 1, 2`,
];

/**
 * The windows of plans, such as subscriptions, as their providers have measured them: the latest measurement of each. And the
 * keys whose calls are refused before they spend a plan's paid credits.
 */
export const planWindows: readonly string[] = [
  // key_id: the API key that has reported it; '' for what this database's own gateway and imports have measured. owner: 'machine '
  // and its name, or 'provider ' and its name in the config. kind: the window as its source names it. used_basis_points: hundredths
  // of a percent; more than 10,000 where paid credits have gone on. said: JSON of the other fields, see src/plans/.
  `CREATE TABLE plan_windows (
  key_id ${TEXT} NOT NULL,
  agent ${TEXT} NOT NULL,
  owner ${TEXT} NOT NULL,
  kind ${TEXT} NOT NULL,
  source ${TEXT} NOT NULL,
  measured_at ${INTEGER} NOT NULL,
  used_basis_points ${INTEGER},
  resets_at ${INTEGER},
  said ${TEXT} NOT NULL,
  PRIMARY KEY (key_id, agent, owner, kind)
)${WITHOUT_ROWID}`,
  `ALTER TABLE api_keys ADD COLUMN stop_before_credits ${INTEGER} NOT NULL DEFAULT 0`,
];

/** The tags of API keys. */
export const keyTags: readonly string[] = [
  // JSON of the tags that the calls of a key get, keys sorted; NULL for none.
  `ALTER TABLE api_keys ADD COLUMN tags ${TEXT}`,
];

/** The audit log: who has changed which limit, rule, key, agent or price, and when. Rows are only added. */
export const audit: readonly string[] = [
  // actor: see AUDIT_ACTORS. key_id: that of the key, or of the session's key. actor_name: the key's name then, or user@host.
  // address: the client's, as far as the server knew it. label: that of the file that was applied. kind and action: see AUDIT_KINDS and AUDIT_ACTIONS. before, after: JSON
  // of the fields that differ, in wire form; NULL where there is none.
  `CREATE TABLE audit_entries (
  position ${INTEGER} PRIMARY KEY,
  at ${INTEGER} NOT NULL,
  actor ${TEXT} NOT NULL,
  key_id ${TEXT},
  actor_name ${TEXT},
  address ${TEXT},
  label ${TEXT},
  action ${TEXT} NOT NULL,
  kind ${TEXT} NOT NULL,
  subject_id ${TEXT} NOT NULL,
  subject_name ${TEXT},
  before ${TEXT},
  after ${TEXT}
)`,
  "CREATE INDEX audit_entries_by_subject ON audit_entries (subject_id)",
  "CREATE INDEX audit_entries_by_label ON audit_entries (label, subject_id) WHERE label IS NOT NULL",
  ...refuse("audit_entries", "the audit log is append-only"),
];

/**
 * Budgets of any subject: tags, models, providers and sources, also several together.
 *
 * A row of `spend_shapes` is a list of parts of a call by which budgets count: while there is a budget with it, `spend_counters` has
 * counters of its scopes, 'by SHAPE VALUE ...': see src/ledger/scopes/subjects.ts. billing: 'plan' for plan values, 'billed' for costs
 * alone. is_filled: 0 within the unit that adds it.
 */
export const subjects: readonly string[] = [
  `CREATE TABLE spend_shapes (
  shape ${TEXT} PRIMARY KEY NOT NULL,
  has_agent ${INTEGER} NOT NULL,
  has_session ${INTEGER} NOT NULL,
  has_key ${INTEGER} NOT NULL,
  has_model ${INTEGER} NOT NULL,
  has_provider ${INTEGER} NOT NULL,
  has_source ${INTEGER} NOT NULL,
  pattern ${TEXT},
  billing ${TEXT},
  tag_1 ${TEXT},
  tag_2 ${TEXT},
  tag_3 ${TEXT},
  tag_4 ${TEXT},
  is_filled ${INTEGER} NOT NULL DEFAULT 0
)${WITHOUT_ROWID}`,
  // The shape of the counters of a budget that has many; null where they are those of agents, sessions, keys or runs.
  `ALTER TABLE budgets ADD COLUMN shape ${TEXT}`,
  // The counter that a raise is for; null for all of them.
  `ALTER TABLE budget_raises ADD COLUMN scope ${TEXT}`,
];

/**
 * Trees: a session with all its sub-agents.
 *
 * `calls.root_session_id` is the session at the root of the tree of a call, where that is not its own session: of a run that
 * another run has made, the session of the run above all. `spend_shapes.has_tree`: the shape looks at the tree.
 */
export const trees: readonly string[] = [
  `ALTER TABLE calls ADD COLUMN root_session_id ${TEXT}`,
  `CREATE INDEX calls_by_root_session ON calls (root_session_id) WHERE root_session_id IS NOT NULL`,
  `ALTER TABLE spend_shapes ADD COLUMN has_tree ${INTEGER} NOT NULL DEFAULT 0`,
];

/**
 * Windows in a time zone, of weeks that begin on another day than Monday, and of months that begin on another day than the first.
 *
 * A calendar is a text: 'Europe/Berlin day', 'Europe/Berlin week sunday', 'UTC month 15'. SQL knows no time zones, and those of two
 * programs may differ, so the starts of the windows of a calendar are rows, which all read: see src/ledger/calendars.ts.
 */
export const calendars: readonly string[] = [
  // until: the last start that is known. is_counted: 1 for the days of a time zone, by which spend_counters has counters whose kind
  // is the calendar. is_filled: 0 within the unit that adds it.
  `CREATE TABLE calendars (
  calendar ${TEXT} PRIMARY KEY NOT NULL,
  is_counted ${INTEGER} NOT NULL,
  until ${INTEGER} NOT NULL,
  is_filled ${INTEGER} NOT NULL DEFAULT 0
)${WITHOUT_ROWID}`,
  `CREATE TABLE window_starts (
  calendar ${TEXT} NOT NULL,
  start ${INTEGER} NOT NULL,
  PRIMARY KEY (calendar, start)
)${WITHOUT_ROWID}`,
  // Null for the windows of UTC, whose weeks begin on Monday and whose months on their first day.
  `ALTER TABLE budgets ADD COLUMN calendar ${TEXT}`,
  `ALTER TABLE alert_rules ADD COLUMN calendar ${TEXT}`,
  // That of the rule or the budget when it fired.
  `ALTER TABLE alerts ADD COLUMN calendar ${TEXT}`,
];

/** Tickets, by which budgets whose action is ask ask a person for more. */
export const tickets: readonly string[] = [
  // scope: the counter. state: waiting, approved, denied or expired; one that waits has expired from expires_at on. asked: what
  // the call lacks; cost: what it may cost. agent_id to tags: of the call that asked first. decided_by: the name of the key then.
  `CREATE TABLE budget_tickets (
  ticket_id ${TEXT} PRIMARY KEY NOT NULL,
  budget_id ${TEXT} NOT NULL,
  scope ${TEXT} NOT NULL,
  state ${TEXT} NOT NULL,
  asked_nano_usd ${INTEGER} NOT NULL,
  cost_nano_usd ${INTEGER} NOT NULL,
  agent_id ${TEXT} NOT NULL,
  session_id ${TEXT},
  run_id ${TEXT},
  key_id ${TEXT},
  provider ${TEXT},
  model ${TEXT},
  tags ${TEXT},
  asked_at ${INTEGER} NOT NULL,
  expires_at ${INTEGER} NOT NULL,
  decided_at ${INTEGER},
  decided_by ${TEXT},
  decided_key_id ${TEXT},
  reason ${TEXT},
  raise_id ${TEXT}
)${WITHOUT_ROWID}`,
  // However many calls and instances ask, a counter has one ticket at a time.
  "CREATE UNIQUE INDEX budget_tickets_waiting ON budget_tickets (budget_id, scope) WHERE state = 'waiting'",
  "CREATE INDEX budget_tickets_of ON budget_tickets (budget_id, scope, asked_at)",
  "CREATE INDEX budget_tickets_latest ON budget_tickets (asked_at, ticket_id)",
  // Whose calls have waited for a ticket: '' without a key or a run. None of these keys may approve it.
  `CREATE TABLE ticket_askers (
  ticket_id ${TEXT} NOT NULL,
  key_id ${TEXT} NOT NULL,
  run_id ${TEXT} NOT NULL,
  PRIMARY KEY (ticket_id, key_id, run_id)
)${WITHOUT_ROWID}`,
  "CREATE INDEX ticket_askers_of_run ON ticket_askers (run_id) WHERE run_id <> ''",
];

/**
 * Alert rules of any subject, as budgets have them since m0027: a rule of several subjects, or of one other than an agent, has a scope
 * 'by SHAPE VALUE ...'.
 */
export const ruleSubjects: readonly string[] = [
  // The part of a call that a rule has a counter for each value of, and the shape of these counters; null for one counter. A rule
  // with a shape is never armed: its counters have their own state.
  `ALTER TABLE alert_rules ADD COLUMN each ${TEXT}`,
  `ALTER TABLE alert_rules ADD COLUMN shape ${TEXT}`,
  `CREATE INDEX alert_rules_each ON alert_rules (shape, threshold_type, threshold_nano_usd) WHERE enabled = 1 AND shape IS NOT NULL`,
  `CREATE INDEX alert_rules_named ON alert_rules (scope, threshold_type) WHERE enabled = 1 AND shape IS NULL`,
  // The counters for which a rule with a shape has fired, each with its cooldown; is_over: as that of a rule.
  `CREATE TABLE alert_rule_counters (
  rule_id ${TEXT} NOT NULL,
  scope ${TEXT} NOT NULL,
  cooldown_from ${INTEGER} NOT NULL,
  is_over ${INTEGER} NOT NULL,
  PRIMARY KEY (rule_id, scope)
)${WITHOUT_ROWID}`,
  `CREATE INDEX alert_rule_counters_over ON alert_rule_counters (scope) WHERE is_over = 1`,
  // The scope that an alert measured, of a rule of such subjects.
  `ALTER TABLE alerts ADD COLUMN scope ${TEXT}`,
];

/** The states of alerts: firing, then acknowledged by a person, then resolved. */
export const alertStates: readonly string[] = [
  // acknowledged_by: the name of the key, or user@host of a command. resolved_at: once instances have told the channels.
  `ALTER TABLE alerts ADD COLUMN acknowledged_at ${INTEGER}`,
  `ALTER TABLE alerts ADD COLUMN acknowledged_by ${TEXT}`,
  `ALTER TABLE alerts ADD COLUMN note ${TEXT}`,
  `ALTER TABLE alerts ADD COLUMN resolved_at ${INTEGER}`,
  `CREATE INDEX alerts_open ON alerts (position) WHERE resolved_at IS NULL AND is_test = 0`,
  // What a delivery tells of: null for that an alert fires, else "acknowledged" or "resolved".
  `ALTER TABLE deliveries ADD COLUMN event ${TEXT}`,
];

/** The prices that people set, which all instances use. */
export const priceRows: readonly string[] = [
  // rates: JSON of the fields of a price row of the config but for the other columns. name is made of these columns.
  `CREATE TABLE price_rows (
  price_id ${TEXT} PRIMARY KEY NOT NULL,
  name ${TEXT} NOT NULL,
  provider ${TEXT} NOT NULL,
  model ${TEXT} NOT NULL,
  service_tier ${TEXT},
  from_day ${TEXT},
  rates ${TEXT} NOT NULL,
  created_at ${INTEGER} NOT NULL,
  updated_at ${INTEGER} NOT NULL
)`,
];
