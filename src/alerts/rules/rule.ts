import { toIso } from "../../kernel/clock.ts";
import { toUsd } from "../../kernel/money.ts";
import type { Severity } from "../../contract/severity.ts";
import type { tables, ThresholdType } from "../../store/mod.ts";

/** What a rule may measure. */
export const THRESHOLD_TYPES = [
  "per_run_usd",
  "per_session_usd",
  "per_hour_usd",
  "per_day_usd",
  "per_month_usd",
] as const satisfies readonly ThresholdType[];

/** How a rule goes on after it has fired: again after each cooldown, or once for each run, session, day, … */
export const REPEATS = ["cooldown", "once_per_window"] as const;
export type Repeat = (typeof REPEATS)[number];

/** The default of `cooldown_seconds`. */
export const DEFAULT_COOLDOWN_SECONDS = 3_600;

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

/** The wire form of a row. */
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
