import type { Fact, Notification } from "../delivery/channels/mod.ts";
import { parseTotalUsd } from "../kernel/money.ts";
import { type AnomalyRow, toAnomaly } from "./anomaly.ts";
import { costText, countText } from "./detect/words.ts";

/** What people are told of an anomaly. */
export function describeAnomaly(row: Omit<AnomalyRow, "anomalyKey">, environment: string): Notification {
  const anomaly = toAnomaly(row);
  const facts: Fact[] = [];
  const add = (label: string, value: unknown) => {
    if (value === null || value === undefined) return;
    facts.push({ label, value: typeof value === "number" ? countText(value) : String(value) });
  };
  const usd = (value: unknown) => (typeof value === "number" ? costText(parseTotalUsd(value)) : undefined);
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
