/** A sum that ends at what 64 bits hold. */
const SUM =
  `min(sum(cost_nano_usd / 1000000000) * 1000000000 + sum(cost_nano_usd % 1000000000), 9223372036854775807)`;

/** Alert rules, what fired, the outbox of notifications, and what the behaviour monitor noticed. */
export const statements: readonly string[] = [
  // Spend by minute and UTC day, of one agent or (scope '') of all: what the windows of rules are added up from.
  `CREATE TABLE spend_windows (
  scope TEXT NOT NULL,
  kind TEXT NOT NULL,
  start INTEGER NOT NULL,
  cost_nano_usd INTEGER NOT NULL CHECK (typeof(cost_nano_usd) = 'integer'),
  PRIMARY KEY (scope, kind, start)
) WITHOUT ROWID`,
  `INSERT INTO spend_windows
SELECT agent_id, 'day', day, ${SUM} FROM spend_days GROUP BY agent_id, day`,
  `INSERT INTO spend_windows SELECT '', 'day', day, ${SUM} FROM spend_days GROUP BY day`,
  // Two hours are enough for any window of an hour that ends after the newest call.
  `INSERT INTO spend_windows
SELECT agent_id, 'minute', at / 60000 * 60000, ${SUM} FROM calls
WHERE cost_nano_usd IS NOT NULL AND at > (SELECT max(at) FROM calls) - 7200000 GROUP BY 1, 3`,
  `INSERT INTO spend_windows
SELECT '', 'minute', start, ${SUM} FROM spend_windows WHERE kind = 'minute' GROUP BY start`,

  // scope is an agent, or '' for all. The last four columns are the decision's: a rule is armed when events have
  // to look at it, and rests during its cooldown; is_over: told of this hour, and not fallen below since.
  `CREATE TABLE alert_rules (
  rule_id TEXT PRIMARY KEY NOT NULL,
  name TEXT NOT NULL,
  threshold_type TEXT NOT NULL,
  threshold_nano_usd INTEGER NOT NULL,
  severity TEXT NOT NULL,
  cooldown_ms INTEGER NOT NULL,
  repeat TEXT NOT NULL,
  scope TEXT NOT NULL,
  enabled INTEGER NOT NULL,
  last_fired_at INTEGER,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  is_armed INTEGER NOT NULL,
  cooldown_from INTEGER,
  rests_until INTEGER,
  is_over INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID`,
  `CREATE INDEX alert_rules_armed ON alert_rules (scope, threshold_type, threshold_nano_usd) WHERE is_armed = 1`,
  `CREATE INDEX alert_rules_resting ON alert_rules (rests_until) WHERE is_armed = 0 AND enabled = 1 AND is_over = 0`,
  `CREATE INDEX alert_rules_fired ON alert_rules (cooldown_from) WHERE enabled = 1`,
  `CREATE INDEX alert_rules_over ON alert_rules (scope, threshold_nano_usd) WHERE is_over = 1`,

  // The windows that a rule with repeat = once_per_window has fired for.
  `CREATE TABLE alert_claims (
  rule_id TEXT NOT NULL,
  window TEXT NOT NULL,
  PRIMARY KEY (rule_id, window)
) WITHOUT ROWID`,

  // The history, in the order in which things fired. channels are those of the process that booked the call:
  // [[name, kind, rank of the mildest severity], …].
  `CREATE TABLE alerts (
  position INTEGER PRIMARY KEY,
  alert_id TEXT NOT NULL UNIQUE,
  rule_id TEXT NOT NULL,
  rule_name TEXT NOT NULL,
  threshold_type TEXT NOT NULL,
  threshold_nano_usd INTEGER NOT NULL,
  severity TEXT NOT NULL,
  value_nano_usd INTEGER NOT NULL,
  agent_id TEXT,
  session_id TEXT,
  run_id TEXT,
  window TEXT,
  window_start INTEGER,
  triggered_at INTEGER NOT NULL,
  is_test INTEGER NOT NULL DEFAULT 0,
  channels TEXT
)`,

  `CREATE TABLE anomalies (
  anomaly_id TEXT PRIMARY KEY NOT NULL,
  anomaly_key TEXT NOT NULL UNIQUE,
  kind TEXT NOT NULL,
  severity TEXT NOT NULL,
  agent_id TEXT NOT NULL,
  session_id TEXT,
  run_id TEXT,
  call_id TEXT,
  message TEXT NOT NULL,
  details TEXT NOT NULL,
  detected_at INTEGER NOT NULL
)`,
  `CREATE INDEX anomalies_latest ON anomalies (detected_at)`,

  // One row for each notification (an alert or an anomaly) and channel. Pending ones are due at due_at, unless
  // lease_until says that a process is at it.
  `CREATE TABLE deliveries (
  delivery_id TEXT PRIMARY KEY NOT NULL,
  subject_id TEXT NOT NULL,
  channel TEXT NOT NULL,
  kind TEXT NOT NULL,
  status TEXT NOT NULL DEFAULT 'pending',
  attempts INTEGER NOT NULL DEFAULT 0,
  due_at INTEGER NOT NULL,
  attempted_at INTEGER,
  lease_until INTEGER,
  leased_by TEXT,
  last_error TEXT,
  created_at INTEGER NOT NULL,
  settled_at INTEGER
) WITHOUT ROWID`,
  `CREATE INDEX deliveries_of ON deliveries (subject_id)`,
  `CREATE INDEX deliveries_due ON deliveries (channel, due_at) WHERE status = 'pending'`,

  `CREATE TRIGGER alerts_forget AFTER DELETE ON alerts
BEGIN
  DELETE FROM deliveries WHERE subject_id = OLD.alert_id;
END`,

  // The newest 500 are kept, and older ones of which something is still to be delivered: those go when that is settled.
  // Positions have no gaps among the newest, so the one that is too old is known by its number.
  `CREATE TRIGGER alerts_trim AFTER INSERT ON alerts
BEGIN
  DELETE FROM alerts WHERE position = NEW.position - 500
    AND NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.subject_id = alerts.alert_id AND d.status = 'pending');
END`,
  `CREATE TRIGGER anomalies_forget AFTER DELETE ON anomalies
BEGIN
  DELETE FROM deliveries WHERE subject_id = OLD.anomaly_id;
END`,

  // The claim: a rule fires only where its cooldown has passed and it was not told of this window.
  `CREATE TRIGGER alerts_claim BEFORE INSERT ON alerts
WHEN NEW.is_test = 0 AND EXISTS (
  SELECT 1 FROM alert_rules r WHERE r.rule_id = NEW.rule_id AND (
    r.is_over = 1 OR r.cooldown_from + r.cooldown_ms > NEW.triggered_at
    OR (r.repeat = 'once_per_window'
      AND EXISTS (SELECT 1 FROM alert_claims c WHERE c.rule_id = r.rule_id AND c.window = NEW.window))))
BEGIN
  SELECT RAISE(IGNORE);
END`,
  // What firing means, as a trigger: events that fire nothing, which are nearly all, don't pay for it. A rule that is
  // told once a day or month need not be looked at before that has ended; 300 s before, since calls may be ahead.
  `CREATE TRIGGER alerts_fire AFTER INSERT ON alerts WHEN NEW.is_test = 0
BEGIN
  INSERT OR IGNORE INTO alert_claims (rule_id, window)
  SELECT rule_id, NEW.window FROM alert_rules
  WHERE rule_id = NEW.rule_id AND repeat = 'once_per_window' AND NEW.window IS NOT NULL;
  UPDATE alert_rules SET last_fired_at = NEW.triggered_at, cooldown_from = NEW.triggered_at,
    is_over = repeat = 'once_per_window' AND threshold_type = 'per_hour_usd',
    rests_until = max(NEW.triggered_at + cooldown_ms, CASE WHEN repeat = 'cooldown' THEN 0 ELSE
      CASE threshold_type
        WHEN 'per_day_usd' THEN NEW.window_start + 86400000 - 300000
        WHEN 'per_month_usd' THEN unixepoch(NEW.window_start / 1000, 'unixepoch', '+1 month') * 1000 - 300000
        ELSE 0
      END END)
  WHERE rule_id = NEW.rule_id;
  UPDATE alert_rules SET is_armed = enabled AND is_over = 0 AND rests_until <= NEW.triggered_at
  WHERE rule_id = NEW.rule_id;
  INSERT INTO deliveries (delivery_id, subject_id, channel, kind, due_at, created_at)
  SELECT 'dlv_' || substr(NEW.alert_id, 7) || '_' || (c.key + 1), NEW.alert_id, c.value ->> 0, c.value ->> 1,
    NEW.triggered_at, NEW.triggered_at
  FROM json_each(NEW.channels) c
  WHERE CASE NEW.severity WHEN 'info' THEN 0 WHEN 'warning' THEN 1 ELSE 2 END >= c.value ->> 2;
END`,
];
