import { z } from "@hono/zod-openapi";
import { AlertRule, RuleId } from "./alerts/alert_rules.ts";
import { Alert } from "./alerts/alerts.ts";
import { Anomaly } from "./anomalies.ts";
import { Budget, BudgetId } from "./budgets/budgets.ts";
import { BudgetRefusal } from "./budgets/budget_refusals.ts";
import { AgentId, CostUsd, Count, RunId, Time, Usd } from "./parts.ts";
import { ListedRun } from "./runs.ts";

/** The wire schemas of the live overview. */

/** Counts of calls, and of those without a known or exact cost. */
const known = {
  model_calls: Count,
  unpriced_calls: Count,
  partly_priced_calls: Count,
  estimated_calls: Count.openapi({ description: "Calls whose usage is an estimate" }),
};

const day = {
  ...known,
  cost_usd: CostUsd.openapi({ description: "Spent today; null where no price is known" }),
};

const pace = {
  usd_per_minute: Usd.openapi({ description: "Mean of the last ten minutes" }),
  minutes: z.array(Usd).openapi({
    description:
      "Spent in each of the last sixty minutes, from `minutes_from` on; the last one has not ended",
  }),
};

export const LiveSpend = z.object({ ...day, ...pace }).openapi("LiveSpend");
export const LiveCoverage = z.object(known).openapi("LiveCoverage", {
  description: "All calls ever booked, and those whose cost is not known, or only in part, or estimated",
});
export const LiveAgent = z.object({ agent_id: AgentId, ...day, ...pace }).openapi("LiveAgent");
export const LiveModel = z.object({ provider: z.string(), model: z.string(), ...day }).openapi("LiveModel");

const lists = {
  agents: z.array(LiveAgent).openapi({ description: "Agents that have spent today, the most first" }),
  models: z.array(LiveModel).openapi({
    description: "Models that were called today, the most expensive first",
  }),
  runs: z.array(ListedRun).openapi({ description: "Runs in progress with their cost so far, newest first" }),
  alerts: z.array(Alert).openapi({ description: "The newest alerts, newest first" }),
  refusals: z.array(BudgetRefusal).openapi({ description: "The newest refused calls, newest first" }),
  budgets: z.array(Budget).openapi({ description: "Enabled budgets with their present state, oldest first" }),
  rules: z.array(AlertRule).openapi({
    description: "Enabled alert rules with their present value, oldest first",
  }),
  anomalies: z.array(Anomaly).openapi({ description: "The newest anomalies, newest first" }),
};

const figures = {
  time_zone: z.string().openapi({
    description: "Time zone of today: the server's, UTC unless set",
    example: "UTC",
  }),
  day: z.string().openapi({ format: "date", description: "Today", example: "2026-11-21" }),
  minutes_from: Time.openapi({ description: "Start of the first one of all `minutes`" }),
  spend: LiveSpend,
  coverage: LiveCoverage,
  running: Count.openapi({ description: "Number of runs in progress, also where `runs` has only some" }),
};

const AT = Time.openapi({ description: "Time of the reading" });

export const LiveState = z.object({ at: AT, ...figures, ...lists }).openapi("LiveState");
export type LiveState = z.infer<typeof LiveState>;

export const LiveDelta = z.object({
  at: AT,
  ...z.object({ ...figures, ...lists }).partial().shape,
  gone: z.object({
    agents: z.array(AgentId).optional(),
    models: z.array(z.string()).optional().openapi({ description: "As `provider:model`" }),
    runs: z.array(RunId).optional(),
    budgets: z.array(BudgetId).optional(),
    rules: z.array(RuleId).optional(),
  }).optional().openapi({ description: "The ids of entries that are no longer in their list" }),
}).openapi("LiveDelta", {
  description:
    "What has changed since the last message. A list has only the entries that are new or have changed, which " +
    "replace those of the same id; a field that is absent has not changed",
});
export type LiveDelta = z.infer<typeof LiveDelta>;

const Id = z.string().openapi({ description: "Number of the state in its process", example: "7" });

export const LiveStreamEvent = z.discriminatedUnion("event", [
  z.object({ id: Id, event: z.literal("state"), data: LiveState }).openapi("LiveStreamState", {
    description: "The whole state: the first message, and the first one of a new day",
  }),
  z.object({ id: Id, event: z.literal("delta"), data: LiveDelta }).openapi("LiveStreamDelta"),
]).openapi("LiveStreamEvent", { description: "One server-sent event; `data` is JSON on the wire" });
