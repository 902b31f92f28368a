import { inArray, sql } from "drizzle-orm";
import type { Bus } from "../../bus/mod.ts";
import type { Log } from "../../kernel/log.ts";
import { messageOf } from "../../kernel/errors.ts";
import { tables } from "../../store/mod.ts";
import { toAlertRecord } from "../alert_record.ts";
import type { AlertContext } from "../context.ts";

/** Wakes the dispatcher for alerts that were committed, and publishes `alert.triggered` for each. */
export function announceAlerts(
  ctx: AlertContext & { bus: Bus; log: Log },
  alertIds: readonly string[],
): void {
  if (alertIds.length === 0) return;
  ctx.wakeDispatcher(alertIds);
  if (ctx.bus.hasSubscribers) void publishAlerts(ctx, alertIds);
}

async function publishAlerts(
  ctx: AlertContext & { bus: Bus; log: Log },
  alertIds: readonly string[],
): Promise<void> {
  try {
    const rows = await ctx.query.select().from(tables.alerts)
      .where(inArray(tables.alerts.alertId, sql`(SELECT value FROM json_each(${JSON.stringify(alertIds)}))`))
      .orderBy(tables.alerts.position);
    for (const record of rows.map(toAlertRecord)) {
      ctx.bus.publish({
        type: "alert.triggered",
        at: record.triggered_at,
        agent_id: record.agent_id ?? "",
        session_id: record.session_id,
        run_id: record.run_id,
        seq: null,
        payload: { ...record },
      });
    }
  } catch (error) {
    ctx.log.warn("Alerts could not be told on the bus", { alerts: alertIds, reason: messageOf(error) });
  }
}
