import type { AnomalyKind, Severity } from "../contract/values.ts";
import { toIso } from "../kernel/clock.ts";
import type { tables } from "../store/mod.ts";

export type AnomalyRow = typeof tables.anomalies.$inferSelect;

/** An anomaly in wire form: the payload of `anomaly.detected`. */
export interface Anomaly {
  anomaly_id: string;
  kind: AnomalyKind;
  severity: Severity;
  agent_id: string;
  session_id: string | null;
  run_id: string | null;
  call_id: string | null;
  /** One line for people. */
  message: string;
  /** The figures, by kind. */
  details: Record<string, unknown>;
  detected_at: string;
}

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
