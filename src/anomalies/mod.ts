/** The anomalies that the monitor has recorded. */
import { and, desc, eq, gte, lt, or } from "drizzle-orm";
import type { Anomaly } from "../contract/anomalies.ts";
import type { AnomalyKind } from "../contract/values.ts";
import { toIso } from "../kernel/clock.ts";
import { type Query, tables } from "../store/mod.ts";

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
  after?: { detectedAt: number; anomalyId: string };
}

/** Lists anomalies, newest first. */
export async function listAnomalies(ctx: { query: Query }, filter: AnomalyFilter): Promise<Anomaly[]> {
  const { limit, since, agentId, after } = filter;
  const { detectedAt, anomalyId } = anomalies;
  const rows = await ctx.query.select().from(anomalies).where(and(
    since === undefined ? undefined : gte(detectedAt, since),
    agentId === undefined ? undefined : eq(anomalies.agentId, agentId),
    after && or(
      lt(detectedAt, after.detectedAt),
      and(eq(detectedAt, after.detectedAt), lt(anomalyId, after.anomalyId)),
    ),
  )).orderBy(desc(detectedAt), desc(anomalyId)).limit(limit);
  return rows.map(toAnomaly);
}
