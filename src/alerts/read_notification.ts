import { eq } from "drizzle-orm";
import type { Notification } from "../delivery/channels/mod.ts";
import { tables } from "../store/mod.ts";
import { toAlertRecord } from "./alert_record.ts";
import type { AlertContext } from "./context.ts";
import { describeAlert } from "./describe_alert.ts";

/** What channels are told of an alert; undefined where there is none of that id. */
export async function readAlertNotification(
  ctx: Pick<AlertContext, "query"> & { environment: string },
  alertId: string,
): Promise<Notification | undefined> {
  const [row] = await ctx.query.select().from(tables.alerts).where(eq(tables.alerts.alertId, alertId));
  return row && describeAlert(toAlertRecord(row), ctx.environment);
}
