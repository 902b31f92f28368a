import { z } from "@hono/zod-openapi";
import { AgentId, CostUsd, Count, facts, PlanUsd, RunId, SessionId, Status, Time } from "./parts.ts";
import { waitingFor } from "./runs.ts";
import { CostEvent, TokenUsage } from "./usage.ts";

/** The wire schemas of sessions. */

const Origin = facts({
  source_environment: z.string(),
  exported_at: Time,
  restored_at: Time,
  schema_version: z.number(),
  status: Status,
  event_log_count: Count,
  events_imported: Count,
  integrity: z.string().optional(),
  token_usage: z.looseObject({}).optional(),
}).openapi("SessionOrigin");

export const Session = z.object({
  session_id: SessionId,
  agent_id: AgentId,
  status: Status,
  message_count: Count,
  event_log_count: Count,
  token_usage: TokenUsage,
  tags: z.record(z.string(), z.string()),
  restored_from: Origin.optional().openapi({
    description: "The snapshot that the session was last restored from",
  }),
  active_run_id: z.string().nullable().openapi({ description: "The run in progress" }),
  waiting_for: waitingFor,
  models: z.array(z.string()).optional().openapi({
    description:
      "The models that it has called, as `provider:model`, those with the most calls first, at most a hundred; absent in lists",
    example: ["anthropic:claude-sonnet-4-6", "anthropic:claude-haiku-4-5"],
  }),
  created_at: Time,
  updated_at: Time,
}).openapi("Session");
export type Session = z.infer<typeof Session>;

export const StepCost = z.object({
  run_id: RunId.nullable(),
  step: Count.nullable(),
  tools: z.array(z.string()),
  model_calls: Count,
  unpriced_calls: Count,
  partly_priced_calls: Count,
  input_tokens: Count,
  output_tokens: Count,
  total_tokens: Count,
  cost_usd: CostUsd,
  plan_usd: PlanUsd.optional(),
}).openapi("StepCost");
export type StepCost = z.infer<typeof StepCost>;

export const SessionCosts = z.object({
  session_id: SessionId,
  token_usage: TokenUsage.openapi({ description: "Of the whole session, not only of this page" }),
  steps: z.array(StepCost),
  calls: z.array(CostEvent),
}).openapi("SessionCosts");
export type SessionCosts = z.infer<typeof SessionCosts>;
