import type { Severity, ThresholdType } from "../contract/values.ts";
import { toIso } from "../kernel/clock.ts";
import { toUsd } from "../kernel/money.ts";
import type { tables } from "../store/mod.ts";

/** An alert in wire form. */
export interface AlertRecord {
  alert_id: string;
  rule_id: string;
  /** The rule as it was when it fired. */
  rule_name: string;
  threshold_type: ThresholdType;
  threshold_usd: number;
  severity: Severity;
  value_usd: number;
  /** The agent of the call; of a test, the agent that the rule is restricted to. */
  agent_id: string | null;
  session_id: string | null;
  run_id: string | null;
  window_start: string | null;
  triggered_at: string;
  test: boolean;
}

export type AlertRow = typeof tables.alerts.$inferSelect;

/** Converts a row to its wire form. */
export function toAlertRecord(row: Omit<AlertRow, "position" | "window" | "channels">): AlertRecord {
  return {
    alert_id: row.alertId,
    rule_id: row.ruleId,
    rule_name: row.ruleName,
    threshold_type: row.thresholdType,
    threshold_usd: toUsd(row.thresholdNanoUsd),
    severity: row.severity,
    value_usd: toUsd(row.valueNanoUsd),
    agent_id: row.agentId,
    session_id: row.sessionId,
    run_id: row.runId,
    window_start: row.windowStart === null ? null : toIso(row.windowStart),
    triggered_at: toIso(row.triggeredAt),
    test: row.isTest,
  };
}
