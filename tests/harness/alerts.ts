import type { RuleRow } from "../../src/alerts/rule.ts";
import type { Store } from "../../src/store/mod.ts";

/** What tests of alerts pass around. */
export interface Alerts {
  rule: RuleRow;
  store: Store;
}

/** A rule's row; what is not given has a value of its own. */
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
    isArmed: enabled,
    cooldownFrom: null,
    restsUntil: null,
    isOver: false,
    ...given,
  };
}

/** Puts a rule into a database as it is. */
export async function insertRule(store: Store, rule: RuleRow): Promise<void> {
  await store.write([{
    sql:
      `INSERT INTO alert_rules (rule_id, name, threshold_type, threshold_nano_usd, severity, cooldown_ms, repeat,
      scope, enabled, created_at, updated_at, is_armed) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    args: [
      rule.ruleId,
      rule.name,
      rule.thresholdType,
      rule.thresholdNanoUsd,
      rule.severity,
      rule.cooldownMs,
      rule.repeat,
      rule.scope,
      rule.enabled ? 1 : 0,
      rule.createdAt,
      rule.updatedAt,
      rule.isArmed ? 1 : 0,
    ],
  }]);
}
