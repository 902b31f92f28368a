import { eq } from "drizzle-orm";
import type { Fact, Notification } from "../delivery/channels/mod.ts";
import { parseTotalUsd } from "../kernel/money.ts";
import { tables } from "../store/mod.ts";
import { type AnomalyRow, toAnomaly } from "./anomaly.ts";
import type { MonitorContext } from "./context.ts";
import { formatCost, formatCount } from "./detect/detection.ts";

/** Reads the notification of an anomaly; undefined if there is none of that id. */
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
