import { eq } from "drizzle-orm";
import { type AnomalyRow, toAnomaly } from "../anomalies/mod.ts";
import type { Anomaly } from "../contract/anomalies.ts";
import { isAtLeast } from "../contract/values.ts";
import { toIso } from "../kernel/clock.ts";
import { type Statement, tables } from "../store/mod.ts";
import type { Fact, Notification } from "../delivery/channels/mod.ts";
import { parseTotalUsd } from "../kernel/money.ts";
import type { MonitorContext } from "./context.ts";
import { type Detection, formatCost, formatCount, keyOf } from "./detect/detection.ts";
import { insertDeliveries } from "../delivery/mod.ts";
import { toPlainJsonText } from "../kernel/json/portable_json.ts";
import { RETENTION_MS } from "./detect/limits.ts";

// No warning after a critical anomaly of the same key, whichever process recorded that.
const INSERT = `INSERT INTO anomalies (anomaly_id, anomaly_key, kind, severity, agent_id, session_id,
  run_id, call_id, message, details, detected_at)
SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11
WHERE NOT EXISTS (SELECT 1 FROM anomalies WHERE anomaly_key = ?12) ON CONFLICT DO NOTHING`;

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

/** Reads the notification of an anomaly; undefined if no anomaly has that id. */
export async function readAnomalyNotification(
  ctx: Pick<MonitorContext, "query"> & { environment: string },
  anomalyId: string,
): Promise<Notification | undefined> {
  const { anomalies } = tables;
  const [row] = await ctx.query.select().from(anomalies).where(eq(anomalies.anomalyId, anomalyId));
  return row && describeAnomaly(row, ctx.environment);
}

/** Returns the notification of an anomaly. */
export function describeAnomaly(row: Omit<AnomalyRow, "anomalyKey">, environment: string): Notification {
  const anomaly = toAnomaly(row);
  const facts: Fact[] = [];
  const add = (label: string, value: unknown) => {
    if (value === null || value === undefined) return;
    facts.push({ label, value: typeof value === "number" ? formatCount(value) : String(value) });
  };
  const usd = (value: unknown) => (typeof value === "number" ? formatCost(parseTotalUsd(value)) : undefined);
  const { details } = anomaly;
  add("Agent", anomaly.agent_id);
  add("Tool", details.tool_name);
  add("Times", details.times);
  add("Model", details.model);
  add("Cost", usd(details.cost_usd));
  add("Usual cost", usd(details.usual_cost_usd));
  add("First input tokens", details.first_input_tokens);
  add("Latest input tokens", details.last_input_tokens);
  add("Steps", details.steps);
  add("Calls in this hour", details.calls);
  add("Usual calls in an hour", details.usual_calls);
  add("Run", anomaly.run_id);
  add("Session", anomaly.session_id);
  add("Call", anomaly.call_id);
  return {
    id: anomaly.anomaly_id,
    type: "anomaly.detected",
    isTest: false,
    severity: anomaly.severity,
    title: anomaly.message,
    facts,
    at: anomaly.detected_at,
    environment,
    data: { ...anomaly },
  };
}
