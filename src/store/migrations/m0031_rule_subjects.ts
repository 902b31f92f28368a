/**
 * Alert rules of any subject, as budgets have them since m0027: a rule of several subjects, or of one other than an agent, has a scope
 * 'by SHAPE VALUE ...'.
 */
export const statements: readonly string[] = [
  // The part of a call that a rule has a counter for each value of, and the shape of these counters; null for one counter. A rule
  // with a shape is never armed: its counters have their own state.
  `ALTER TABLE alert_rules ADD COLUMN each TEXT`,
  `ALTER TABLE alert_rules ADD COLUMN shape TEXT`,
  `CREATE INDEX alert_rules_each ON alert_rules (shape, threshold_type, threshold_nano_usd) WHERE enabled = 1 AND shape IS NOT NULL`,
  `CREATE INDEX alert_rules_named ON alert_rules (scope, threshold_type) WHERE enabled = 1 AND shape IS NULL`,
  // The counters for which a rule with a shape has fired, each with its cooldown; is_over: as that of a rule.
  `CREATE TABLE alert_rule_counters (
  rule_id TEXT NOT NULL,
  scope TEXT NOT NULL,
  cooldown_from INTEGER NOT NULL,
  is_over INTEGER NOT NULL,
  PRIMARY KEY (rule_id, scope)
) WITHOUT ROWID`,
  `CREATE INDEX alert_rule_counters_over ON alert_rule_counters (scope) WHERE is_over = 1`,
  // The scope that an alert measured, of a rule of such subjects.
  `ALTER TABLE alerts ADD COLUMN scope TEXT`,
];
