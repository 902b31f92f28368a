import { eq } from "drizzle-orm";
import type { Notification } from "../delivery/channels/mod.ts";
import { tables } from "../store/mod.ts";
import type { MonitorContext } from "./context.ts";
import { describeAnomaly } from "./describe_anomaly.ts";

/** What channels are told of an anomaly; undefined where there is none of that id. */
export async function readAnomalyNotification(
  ctx: Pick<MonitorContext, "query"> & { environment: string },
  anomalyId: string,
): Promise<Notification | undefined> {
  const { anomalies } = tables;
  const [row] = await ctx.query.select().from(anomalies).where(eq(anomalies.anomalyId, anomalyId));
  return row && describeAnomaly(row, ctx.environment);
}
