import { MAX_ALERT_HISTORY } from "../contract/limits.ts";
import type { Alert, AlertDelivery } from "../contract/alerts.ts";
import { and, asc, desc, eq, exists, inArray, lte, or, sql } from "drizzle-orm";
import { toIso } from "../kernel/clock.ts";
import { tables } from "../store/mod.ts";
import type { AlertContext } from "./context.ts";
import { toUsd } from "../kernel/money.ts";

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

const { alertRules, alerts, deliveries } = tables;

/** Lists the latest alerts, newest first, each with its deliveries; optionally those of one agent only. */
export async function listAlerts(
  { query }: Pick<AlertContext, "query">,
  { limit = MAX_ALERT_HISTORY, onlyAgentId }: { limit?: number; onlyAgentId?: string } = {},
): Promise<Alert[]> {
  const within = onlyAgentId === undefined ? undefined : isOfAgent(query, onlyAgentId);
  const rows = await query.select().from(alerts).where(within).orderBy(desc(alerts.position)).limit(limit);
  const history = new Map<string, Alert>();
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

function toDeliveryRecord(row: typeof deliveries.$inferSelect): AlertDelivery {
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
