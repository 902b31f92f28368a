/** The anomalies that the monitor has recorded. */
import { and, eq, gte } from "drizzle-orm";
import type { Anomaly } from "../contract/anomalies.ts";
import type { AnomalyKind } from "../contract/values.ts";
import { toIso } from "../kernel/clock.ts";
import { newestFirst, type Query, tables, type TimePosition } from "../store/mod.ts";

const { anomalies } = tables;

/** A stored anomaly. */
export type AnomalyRow = typeof anomalies.$inferSelect;

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

/** Filters anomalies. Times in milliseconds since the epoch. */
interface AnomalyFilter {
  limit: number;
  /** Inclusive. */
  since?: number;
  agentId?: string;
  /** The last anomaly of the previous page. */
  after?: TimePosition | undefined;
}

const LIST = newestFirst(anomalies.detectedAt, anomalies.anomalyId);

/** Lists anomalies, newest first. */
export async function listAnomalies(ctx: { query: Query }, filter: AnomalyFilter): Promise<Anomaly[]> {
  const { limit, since, agentId, after } = filter;
  const rows = await ctx.query.select().from(anomalies).where(and(
    since === undefined ? undefined : gte(anomalies.detectedAt, since),
    agentId === undefined ? undefined : eq(anomalies.agentId, agentId),
    LIST.from(after),
  )).orderBy(...LIST.order).limit(limit);
  return rows.map(toAnomaly);
}
