import type { Repeat, Severity, ThresholdType } from "../../contract/values.ts";
import { toIso } from "../../kernel/clock.ts";
import { toUsd } from "../../kernel/money.ts";
import type { tables } from "../../store/mod.ts";

/** An alert rule in wire form. */
export interface AlertRule {
  rule_id: string;
  name: string;
  threshold_type: ThresholdType;
  threshold_usd: number;
  severity: Severity;
  cooldown_seconds: number;
  repeat: Repeat;
  /** Null: all agents. */
  agent_id: string | null;
  enabled: boolean;
  last_fired_at: string | null;
  created_at: string;
  updated_at: string;
}

export type RuleRow = typeof tables.alertRules.$inferSelect;

/** Converts a row to its wire form. */
export function toRule(row: RuleRow): AlertRule {
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
