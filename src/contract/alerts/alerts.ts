import {
  ALERT_EVENTS,
  ALERT_STATES,
  ASK_THRESHOLD,
  BUDGET_THRESHOLDS,
  DELIVERY_STATUSES,
  PLAN_THRESHOLD,
  RULE_THRESHOLDS,
  UNEXPLAINED_THRESHOLD,
} from "../values.ts";
import { z } from "@hono/zod-openapi";
import { DeliveryId } from "../channels.ts";
import { AgentId, Count, id, orNull, RunId, SessionId, Severity, Time, Usd } from "../parts.ts";
import { nameFields } from "../costs/dimension_fields.ts";
import { Approval } from "../budgets/approvals.ts";
import { BudgetCounter } from "../budgets/budget_state.ts";
import { RuleId } from "./alert_rules.ts";
import { AlertCauses } from "./alert_causes.ts";

/** The wire schemas of the alerts that rules have fired. */

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
  event: z.enum(ALERT_EVENTS).optional().openapi({
    description: "What it told after the alert had fired; absent where it told that it fires",
  }),
}).openapi("AlertDelivery");

export type AlertDelivery = z.infer<typeof AlertDelivery>;

export const AlertPlanWindow = z.object({
  agent_id: AgentId.openapi({ description: "The agent whose plan it is", example: "claude-code" }),
  machine: z.string().nullable(),
  provider: z.string().nullable(),
  window: z.string().openapi({ example: "five_hour" }),
  resets_at: Time,
}).openapi("AlertPlanWindow");
export type AlertPlanWindow = z.infer<typeof AlertPlanWindow>;

export const Alert = z.object({
  alert_id: AlertId,
  rule_id: RuleId.openapi({ description: "The rule, or the budget that warns" }),
  rule_name: z.string().openapi({
    description: "Name, threshold and severity are the rule's when it fired",
  }),
  threshold_type: z.enum([...RULE_THRESHOLDS, ...BUDGET_THRESHOLDS, ASK_THRESHOLD]),
  threshold_usd: Usd.nullable().openapi({
    description: `USD; null of the type \`${PLAN_THRESHOLD}\`, and of \`${ASK_THRESHOLD}\` the limit`,
  }),
  severity: Severity,
  value_usd: Usd.nullable().openapi({ description: `USD; null of the type \`${PLAN_THRESHOLD}\`` }),
  threshold_pct: z.number().optional().openapi({
    description: `In percent; only of the type \`${PLAN_THRESHOLD}\``,
  }),
  value_pct: z.number().optional().openapi({
    description: "What was used of the window, in percent, as the threshold",
  }),
  plan_window: AlertPlanWindow.optional().openapi({
    description: "The window of a plan that the alert is about",
  }),
  bill: z.object({
    source: z.string().openapi({ example: "anthropic" }),
    month: z.string().openapi({ example: "2026-10" }),
    account: z.string().nullable().openapi({ description: "Null of all accounts" }),
    reconciliation_id: z.string(),
  }).optional().openapi({
    description: `Of the type \`${UNEXPLAINED_THRESHOLD}\`: the month of a bill and its comparison`,
  }),
  agent_id: AgentId.nullable().openapi({
    description: "The agent of the call that fired the rule; of a test, the rule's agent",
  }),
  key_id: z.string().optional().openapi({
    description:
      "The API key of the call that fired the rule; absent without one, and of most alerts of earlier versions. A key of " +
      "one agent sees its own only",
  }),
  ...nameFields((kind) => ({ description: `The name of that ${kind}` })),
  session_id: SessionId.nullable(),
  run_id: RunId.nullable(),
  window_start: Time.nullable().openapi({ description: "Start of the window of spend; null of a test" }),
  time_zone: z.string().optional().openapi({
    description: "Time zone of the days of the window, where it is not the window of UTC",
    example: "Europe/Berlin",
  }),
  triggered_at: Time,
  test: z.boolean().openapi({ description: "True for a test of the rule" }),
  state: z.enum(ALERT_STATES).openapi({
    description:
      "`resolved` once the window has ended, the spending is below the threshold, a later comparison of the bill leaves another amount " +
      "unexplained, or the rule or budget is gone; a test is",
  }),
  acknowledged_at: Time.optional(),
  acknowledged_by: z.string().optional().openapi({ description: "The name of the key, or `user@host`" }),
  note: z.string().optional().openapi({ description: "What was noted when it was acknowledged" }),
  resolved_at: Time.optional().openapi({ description: "When an instance noticed, and told the channels" }),
  counter: BudgetCounter.optional().openapi({
    description:
      "Of a budget with a counter for each agent, session, key or run, or of one of them: the one that warns",
  }),
  approval: Approval.optional().openapi({
    description: `Of the type \`${ASK_THRESHOLD}\`: the ticket by which a budget asks for more`,
  }),
  reaches_at: Time.optional().openapi({
    description: "Of a forecast of a budget: when its limit will be reached at the mean pace of its window",
  }),
  limit_usd: Usd.optional().openapi({ description: "The limit of a budget that warns, with its raises" }),
  deliveries: z.array(AlertDelivery),
}).openapi("Alert");

export type Alert = z.infer<typeof Alert>;

const { deliveries: _deliveries, ...record } = Alert.shape;

export const AlertRecord = z.object(record).openapi("AlertRecord", {
  description: "An alert without its deliveries",
});
export type AlertRecord = z.infer<typeof AlertRecord>;

export const AlertDetail = z.object({
  ...Alert.shape,
  causes: orNull(AlertCauses).openapi({
    description: "Null of a test, and of an alert about a plan or a bill, in which nothing was spent",
  }),
  past: z.array(AlertRecord).openapi({
    description: "Earlier alerts of the rule or budget, newest first, at most twenty",
  }),
}).openapi("AlertDetail");
export type AlertDetail = z.infer<typeof AlertDetail>;
