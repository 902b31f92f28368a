import { REPEATS, THRESHOLD_TYPES } from "./values.ts";
import { z } from "@hono/zod-openapi";
import { RuleChanges, RuleInput } from "./rule_input.ts";
import { DeliveryId, TestResult } from "./channels.ts";
import { AgentId, Count, id, RunId, SessionId, Severity, Time, Usd } from "./parts.ts";

/** The wire's schemas of alert rules and of what they have told. */

// Those of the alerts layer know nothing of OpenAPI; a copy made here does.
export const RuleBody = RuleInput.clone().openapi("AlertRuleBody");
export const RuleChangesBody = RuleChanges.clone().openapi("AlertRuleChanges");

const ThresholdType = z.enum(THRESHOLD_TYPES);
export const RuleId = id("rule_01k9qv3v8c7e9g1j3m5p7r9t1w");
const AlertId = id("alert_01k9qv3v9d8f0h2k4n6q8s0v2x");

export const AlertRule = z.object({
  rule_id: RuleId,
  name: z.string(),
  threshold_type: ThresholdType,
  threshold_usd: Usd,
  severity: Severity,
  cooldown_seconds: Count,
  repeat: z.enum(REPEATS),
  agent_id: AgentId.nullable().openapi({ description: "Null: all agents" }),
  enabled: z.boolean(),
  last_fired_at: Time.nullable(),
  created_at: Time,
  updated_at: Time,
  value_usd: Usd.nullable().openapi({
    description:
      "What its present window holds; of a rule per run or session the newest one. Null: nothing yet",
  }),
}).openapi("AlertRule");
export type AlertRule = z.infer<typeof AlertRule>;

export const AlertDelivery = z.object({
  delivery_id: DeliveryId,
  channel: z.string().openapi({ example: "ops" }),
  kind: z.string().openapi({ example: "webhook" }),
  status: z.enum(["pending", "delivered", "failed"]),
  attempts: Count,
  last_error: z.string().nullable(),
  delivered_at: Time.nullable(),
}).openapi("AlertDelivery");
export type AlertDelivery = z.infer<typeof AlertDelivery>;

export const Alert = z.object({
  alert_id: AlertId,
  rule_id: RuleId,
  rule_name: z.string().openapi({
    description: "The rule's name, threshold and severity are those of that time",
  }),
  threshold_type: ThresholdType,
  threshold_usd: Usd,
  severity: Severity,
  value_usd: Usd,
  agent_id: AgentId.nullable().openapi({ description: "The agent of the call that made the rule fire" }),
  session_id: SessionId.nullable(),
  run_id: RunId.nullable(),
  window_start: Time.nullable().openapi({ description: "Since when it was added up; null of a test" }),
  triggered_at: Time,
  test: z.boolean().openapi({ description: "Whether it was a test of the rule" }),
  deliveries: z.array(AlertDelivery),
}).openapi("Alert");
export type Alert = z.infer<typeof Alert>;

export const RuleTest = z.object({ alert_id: AlertId, results: z.array(TestResult) }).openapi(
  "AlertRuleTest",
);
export type RuleTest = z.infer<typeof RuleTest>;
