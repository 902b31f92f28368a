import type { RuleRow } from "../../src/alerts/rules/rule_fields.ts";
import type { SqlValue, Store } from "../../src/store/mod.ts";

/** Shared values of tests of alerts. */
export interface Alerts {
  rule: RuleRow;
  store: Store;
}

/** The subjects of a rule on the wire that names none but an agent. */
export const NO_SUBJECTS = {
  session_id: null,
  key_id: null,
  tags: null,
  model: null,
  provider: null,
  source: null,
  billing: null,
  each: null,
};

/** A rule's row; fields that are not given have defaults. */
export function ruleRow(given: Partial<RuleRow> = {}): RuleRow {
  const enabled = given.enabled ?? true;
  return {
    ruleId: "rule_1",
    name: "a rule",
    thresholdType: "per_day_usd",
    thresholdNanoUsd: 1_000_000_000n,
    severity: "warning",
    cooldownMs: 3_600_000,
    repeat: "cooldown",
    scope: "",
    enabled,
    lastFiredAt: null,
    createdAt: 0,
    updatedAt: 0,
    isArmed: enabled && (given.shape ?? null) === null,
    cooldownFrom: null,
    restsUntil: null,
    isOver: false,
    each: null,
    shape: null,
    calendar: null,
    ...given,
  };
}

const COLUMNS: Record<string, (rule: RuleRow) => SqlValue> = {
  rule_id: (rule) => rule.ruleId,
  name: (rule) => rule.name,
  threshold_type: (rule) => rule.thresholdType,
  threshold_nano_usd: (rule) => rule.thresholdNanoUsd,
  severity: (rule) => rule.severity,
  cooldown_ms: (rule) => rule.cooldownMs,
  repeat: (rule) => rule.repeat,
  scope: (rule) => rule.scope,
  each: (rule) => rule.each,
  shape: (rule) => rule.shape,
  calendar: (rule) => rule.calendar,
  enabled: (rule) => Number(rule.enabled),
  created_at: (rule) => rule.createdAt,
  updated_at: (rule) => rule.updatedAt,
  is_armed: (rule) => Number(rule.isArmed),
  cooldown_from: (rule) => rule.cooldownFrom,
  rests_until: (rule) => rule.restsUntil,
};

const INSERT = `INSERT INTO alert_rules (${Object.keys(COLUMNS).join(", ")})
VALUES (${Object.keys(COLUMNS).fill("?").join(", ")})`;

/** Inserts rules into a database as they are. */
export async function insertRules(store: Store, rules: readonly RuleRow[]): Promise<void> {
  const valuesOf = (rule: RuleRow) => Object.values(COLUMNS).map((read) => read(rule));
  await store.write(rules.map((rule) => ({ sql: INSERT, args: valuesOf(rule) })));
}
