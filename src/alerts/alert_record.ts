import type { Alert } from "../contract/alerts.ts";
import { toIso } from "../kernel/clock.ts";
import { toUsd } from "../kernel/money.ts";
import type { tables } from "../store/mod.ts";

/** An alert in wire form, without its deliveries. */
export type AlertRecord = Omit<Alert, "deliveries">;

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
