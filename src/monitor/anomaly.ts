import type { Anomaly } from "../contract/anomalies.ts";
import type { AnomalyKind } from "../contract/values.ts";
import { toIso } from "../kernel/clock.ts";
import type { tables } from "../store/mod.ts";

export type AnomalyRow = typeof tables.anomalies.$inferSelect;

/** Converts a row to its wire form. */
export function toAnomaly(row: Omit<AnomalyRow, "anomalyKey">): Anomaly {
  return {
    anomaly_id: row.anomalyId,
    kind: row.kind as AnomalyKind,
    severity: row.severity,
    agent_id: row.agentId,
    session_id: row.sessionId,
    run_id: row.runId,
    call_id: row.callId,
    message: row.message,
    details: row.details,
    detected_at: toIso(row.detectedAt),
  };
}
