import type { AlertRule } from "../../contract/alerts.ts";
import { toIso } from "../../kernel/clock.ts";
import { toUsd } from "../../kernel/money.ts";
import type { tables } from "../../store/mod.ts";

export type RuleRow = typeof tables.alertRules.$inferSelect;

/** Converts a row to its wire form, without its present value. */
export function toRule(row: RuleRow): Omit<AlertRule, "value_usd"> {
  return {
    rule_id: row.ruleId,
    name: row.name,
    threshold_type: row.thresholdType,
    threshold_usd: toUsd(row.thresholdNanoUsd),
    severity: row.severity,
    cooldown_seconds: row.cooldownMs / 1000,
    repeat: row.repeat,
    agent_id: row.scope === "" ? null : row.scope,
    enabled: row.enabled,
    last_fired_at: row.lastFiredAt === null ? null : toIso(row.lastFiredAt),
    created_at: toIso(row.createdAt),
    updated_at: toIso(row.updatedAt),
  };
}
