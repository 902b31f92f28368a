import { and, asc, desc, eq, exists, inArray, lte, or, sql } from "drizzle-orm";
import { toIso } from "../kernel/clock.ts";
import { tables } from "../store/mod.ts";
import { type AlertRecord, toAlertRecord } from "./alert_record.ts";
import type { AlertContext } from "./context.ts";

const { alertRules, alerts, deliveries } = tables;

/** The delivery of an alert through one channel. */
export interface DeliveryRecord {
  delivery_id: string;
  channel: string;
  kind: string;
  status: "pending" | "delivered" | "failed";
  attempts: number;
  /** The reason why the latest attempt failed, for people. */
  last_error: string | null;
  delivered_at: string | null;
}

/** An alert of the history. */
export interface AlertHistoryRecord extends AlertRecord {
  deliveries: DeliveryRecord[];
}

/** The number of alerts that the history keeps, and a page of it has at most. */
export const MAX_HISTORY = 500;

/** Lists the latest alerts, newest first, each with its deliveries; optionally those of one agent only. */
export async function listAlerts(
  { query }: Pick<AlertContext, "query">,
  { limit = MAX_HISTORY, onlyAgentId }: { limit?: number; onlyAgentId?: string } = {},
): Promise<AlertHistoryRecord[]> {
  const within = onlyAgentId === undefined ? undefined : isOfAgent(query, onlyAgentId);
  const rows = await query.select().from(alerts).where(within).orderBy(desc(alerts.position)).limit(limit);
  const history = new Map<string, AlertHistoryRecord>();
  for (const row of rows) history.set(row.alertId, { ...toAlertRecord(row), deliveries: [] });
  if (rows.length > 0) {
    const ids = JSON.stringify([...history.keys()]);
    const sent = await query.select().from(deliveries)
      .where(sql`${deliveries.subjectId} IN (SELECT value FROM json_each(${ids}))`)
      // Their ids are numbered in the order of the channels: `…_2` comes before `…_10`.
      .orderBy(asc(sql`length(${deliveries.deliveryId})`), asc(deliveries.deliveryId));
    for (const row of sent) history.get(row.subjectId)!.deliveries.push(toDeliveryRecord(row));
  }
  return [...history.values()];
}

/**
 * Matches alerts about the spend of one agent alone: of its runs and sessions, and of its rules. A rule may have been
 * about all agents before it was changed, so only its later alerts match.
 */
function isOfAgent(query: AlertContext["query"], agentId: string) {
  const ownRule = query.select({ one: sql`1` }).from(alertRules).where(and(
    eq(alertRules.ruleId, alerts.ruleId),
    eq(alertRules.scope, agentId),
    lte(alertRules.updatedAt, alerts.triggeredAt),
  ));
  const ofRunOrSession = inArray(alerts.thresholdType, ["per_run_usd", "per_session_usd"]);
  return and(eq(alerts.agentId, agentId), or(ofRunOrSession, exists(ownRule)));
}

function toDeliveryRecord(row: typeof deliveries.$inferSelect): DeliveryRecord {
  const { status, settledAt } = row;
  return {
    delivery_id: row.deliveryId,
    channel: row.channel,
    kind: row.kind,
    status,
    attempts: row.attempts,
    last_error: row.lastError,
    delivered_at: status === "delivered" && settledAt !== null ? toIso(settledAt) : null,
  };
}
