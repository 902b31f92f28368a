import { and, desc, eq, gte, lt, or } from "drizzle-orm";
import { type Query, tables } from "../store/mod.ts";
import { toAnomaly } from "./anomaly.ts";
import type { Anomaly } from "../contract/anomalies.ts";

const { anomalies } = tables;

/** Filters anomalies. Times in milliseconds since the epoch. */
export interface AnomalyFilter {
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
