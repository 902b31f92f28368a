import { BUDGET_THRESHOLDS, DELIVERY_STATUSES, THRESHOLD_TYPES } from "./values.ts";
import { z } from "@hono/zod-openapi";
import { DeliveryId, TestResult } from "./channels.ts";
import { AgentId, Count, id, orNull, RunId, SessionId, Severity, Time, Usd } from "./parts.ts";
import { RuleId } from "./alert_rules.ts";
import { CostRow } from "./costs.ts";

/** The wire schemas of the alerts that rules have fired, and of tests of rules. */

export const AlertId = id("alert_01k9qv3v9d8f0h2k4n6q8s0v2x");

export const AlertDelivery = z.object({
  delivery_id: DeliveryId,
  channel: z.string().openapi({ description: "Empty for a key of one agent", example: "ops" }),
  kind: z.string().openapi({ example: "webhook" }),
  status: z.enum(DELIVERY_STATUSES),
  attempts: Count,
  last_error: z.string().nullable().openapi({
    description: "Why the latest attempt failed, for people; null for a key of one agent",
  }),
  delivered_at: Time.nullable(),
}).openapi("AlertDelivery");

export type AlertDelivery = z.infer<typeof AlertDelivery>;

export const Alert = z.object({
  alert_id: AlertId,
  rule_id: RuleId.openapi({ description: "The rule, or the budget that warns" }),
  rule_name: z.string().openapi({
    description: "Name, threshold and severity are the rule's when it fired",
  }),
  threshold_type: z.enum([...THRESHOLD_TYPES, ...BUDGET_THRESHOLDS]),
  threshold_usd: Usd,
  severity: Severity,
  value_usd: Usd,
  agent_id: AgentId.nullable().openapi({
    description: "The agent of the call that fired the rule; of a test, the rule's agent",
  }),
  session_id: SessionId.nullable(),
  run_id: RunId.nullable(),
  window_start: Time.nullable().openapi({ description: "Start of the window of spend; null of a test" }),
  triggered_at: Time,
  test: z.boolean().openapi({ description: "True for a test of the rule" }),
  limit_usd: Usd.optional().openapi({ description: "The limit of a budget that warns, with its raises" }),
  deliveries: z.array(AlertDelivery),
}).openapi("Alert");

export type Alert = z.infer<typeof Alert>;

const { deliveries: _deliveries, ...record } = Alert.shape;

export const AlertRecord = z.object(record).openapi("AlertRecord", {
  description: "An alert without its deliveries",
});
export type AlertRecord = z.infer<typeof AlertRecord>;

const Share = z.number().min(0).max(1).openapi({
  description: "The part of `value_usd`; those of a list and its `others` add up to 1",
  example: 0.62,
});

export const AlertCause = z.object({
  ...CostRow.shape,
  share: Share.nullable().openapi({ description: "Null where no price is known" }),
}).openapi("AlertCause");
export type AlertCause = z.infer<typeof AlertCause>;

const top = (of: string) =>
  z.array(AlertCause).openapi({ description: `The ${of} with the most spending in that span, at most five` });

export const OtherCauses = z.object({ cost_usd: Usd, share: Share }).openapi("OtherAlertCauses", {
  description: "What the list leaves of `value_usd`",
});
export type OtherCauses = z.infer<typeof OtherCauses>;

/** The spending in the window of an alert, of the calls that were booked until it fired. */
export const AlertCauses = z.object({
  from: Time.nullable().openapi({ description: "Null where all there is counts" }),
  to: Time.openapi({ description: "Inclusive; when the alert was triggered" }),
  agents: top("agents"),
  models: top("models"),
  sessions: top("sessions"),
  others: z.object({ agents: OtherCauses, models: OtherCauses, sessions: OtherCauses }),
  sessions_from: Time.openapi({
    description:
      "The sessions are those of the calls from then on: of a long window, of the newest 1,000 before the alert",
  }),
}).openapi("AlertCauses");
export type AlertCauses = z.infer<typeof AlertCauses>;

export const AlertDetail = z.object({
  ...Alert.shape,
  causes: orNull(AlertCauses).openapi({ description: "Null of a test, in which nothing was spent" }),
  past: z.array(AlertRecord).openapi({
    description: "Earlier alerts of the rule or budget, newest first, at most twenty",
  }),
}).openapi("AlertDetail");
export type AlertDetail = z.infer<typeof AlertDetail>;

export const RuleTest = z.object({ alert_id: AlertId, results: z.array(TestResult) }).openapi(
  "AlertRuleTest",
);

export const AlertResend = z.object({ alert_id: AlertId, results: z.array(TestResult) }).openapi(
  "AlertResend",
);

export type AlertResend = z.infer<typeof AlertResend>;

export type RuleTest = z.infer<typeof RuleTest>;
