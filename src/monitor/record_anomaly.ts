import { isAtLeast } from "../contract/values.ts";
import { insertDeliveries } from "../delivery/mod.ts";
import { toIso } from "../kernel/clock.ts";
import { toPlainJsonText } from "../kernel/json/portable_json.ts";
import type { Statement } from "../store/mod.ts";
import { type AnomalyRow, toAnomaly } from "./anomaly.ts";
import type { Anomaly } from "../contract/anomalies.ts";
import type { MonitorContext } from "./context.ts";
import { type Detection, keyOf } from "./detect/detection.ts";
import { RETENTION_MS } from "./detect/limits.ts";

// No warning after a critical anomaly of the same key, whichever process recorded that.
const INSERT =
  `INSERT OR IGNORE INTO anomalies (anomaly_id, anomaly_key, kind, severity, agent_id, session_id,
  run_id, call_id, message, details, detected_at)
SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11
WHERE NOT EXISTS (SELECT 1 FROM anomalies WHERE anomaly_key = ?12)`;

// With a session that this database does not have, the event belongs to no session.
const LOG = `INSERT INTO events (session_id, seq, run_id, agent_id, type, at, payload)
SELECT s.session_id, s.event_count + 1, a.run_id, a.agent_id, 'anomaly.detected', a.detected_at, ?2
FROM anomalies a LEFT JOIN sessions s ON s.session_id = a.session_id WHERE a.anomaly_id = ?1`;

const COUNT = `UPDATE sessions SET event_count = event_count + 1
WHERE session_id = (SELECT session_id FROM anomalies WHERE anomaly_id = ?1)`;

const IF_NEW = " WHERE EXISTS (SELECT 1 FROM anomalies WHERE anomaly_id = ?1)";

const TRIM = `DELETE FROM anomalies WHERE detected_at < ?1
  AND NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.subject_id = anomalies.anomaly_id AND d.status = 'pending')`;

const READ = `SELECT s.event_count FROM anomalies a LEFT JOIN sessions s ON s.session_id = a.session_id
WHERE a.anomaly_id = ?1`;

/**
 * Records a detection once, in one unit: the anomaly, its event in the log, and its notifications. Then it publishes the
 * event and wakes the dispatcher. Returns undefined if it, or a critical one of the same occasion, is recorded already.
 */
export async function recordAnomaly(ctx: MonitorContext, detection: Detection): Promise<Anomaly | undefined> {
  const { occasion: _, ...facts } = detection;
  const row: AnomalyRow = {
    ...facts,
    anomalyId: ctx.ids.next("anom"),
    anomalyKey: keyOf(detection),
    detectedAt: ctx.clock.now(),
  };
  const anomaly = toAnomaly(row);
  const deliveries = deliver(ctx, row);
  const id = [row.anomalyId];
  const results = await ctx.store.write([
    insert(row, keyOf({ ...detection, severity: "critical" })),
    { sql: LOG, args: [row.anomalyId, toPlainJsonText(anomaly)] },
    { sql: COUNT, args: id },
    ...deliveries,
    { sql: TRIM, args: [row.detectedAt - RETENTION_MS] },
    { sql: READ, args: id },
  ]);
  const [kept] = results.at(-1)!.rows;
  if (kept === undefined) return undefined;
  ctx.bus.publish({
    type: "anomaly.detected",
    at: toIso(row.detectedAt),
    agent_id: row.agentId,
    session_id: row.sessionId,
    run_id: row.runId,
    seq: kept[0] === null ? null : Number(kept[0]),
    payload: { ...anomaly },
  });
  if (deliveries.length > 0) ctx.wakeDispatcher(id);
  return anomaly;
}

function insert(row: AnomalyRow, criticalKey: string): Statement {
  return {
    sql: INSERT,
    args: [
      row.anomalyId,
      row.anomalyKey,
      row.kind,
      row.severity,
      row.agentId,
      row.sessionId,
      row.runId,
      row.callId,
      row.message,
      toPlainJsonText(row.details),
      row.detectedAt,
      criticalKey,
    ],
  };
}

/** Returns the statement of the outbox, on the condition that the anomaly is new. */
function deliver(ctx: MonitorContext, { anomalyId, severity, detectedAt }: AnomalyRow): Statement[] {
  if (ctx.notifyAnomaliesFrom === undefined || !isAtLeast(severity, ctx.notifyAnomaliesFrom)) return [];
  const { sql, args } = insertDeliveries(ctx, { subjectId: anomalyId, severity, now: detectedAt });
  return [{ sql: sql + IF_NEW, args }];
}
