import { z } from "@hono/zod-openapi";
import { keyUser } from "../costs/dimension_fields.ts";
import { AgentId, Position, RunId, SessionId, Time, Usd } from "../parts.ts";
import { REFUSAL_REASONS, TICKET_STATES } from "../values.ts";
import { TicketId } from "./approvals.ts";
import { appliedBudget } from "./applied_budget.ts";
import { budgetWindow } from "./budget_state.ts";

/** The wire schemas of refused calls, with the budgets that refuse them. */

export const RefusedBy = z.object({
  ...appliedBudget,
  needed_usd: Usd.optional().openapi({
    description: "The most that the call can cost, where that doesn't fit",
  }),
  fitting_output_tokens: z.int().optional().openapi({
    description:
      "The largest output limit that would fit, where the request through the gateway asks for more",
  }),
  reason: z.enum(REFUSAL_REASONS).openapi({
    description:
      "`spent`: the limit is reached; `would_overshoot`: the call might exceed it; `unbounded`, `unpriced`: " +
      "the cost of the call has no bound, or no price; `held`: the rest is held for calls in progress; " +
      "`overshot`: a call of the same key has cost more than its bound in this window",
  }),
  ticket_id: TicketId.optional().openapi({
    description: "Of a budget with `action: ask`: the ticket by which it asks for more",
  }),
  ticket_state: z.enum(TICKET_STATES).optional(),
  asks_again_at: Time.optional().openapi({
    description: "Of a denied ticket: until then it does not ask again",
  }),
  resets_at: budgetWindow.resets_at,
}).openapi("RefusedBy");
export type RefusedBy = z.infer<typeof RefusedBy>;

export const BudgetRefusal = z.object({
  event_id: Position.openapi({ description: "The event `budget.refused` of the log" }),
  at: Time,
  agent_id: AgentId,
  session_id: SessionId.nullable(),
  run_id: RunId.nullable(),
  key_id: z.string().nullable().openapi({
    description: "The API key of the caller; null without one. A key of one agent sees its own only",
  }),
  key_name: z.string().nullable().openapi({ description: "The name of that key" }),
  key_user: keyUser,
  provider: z.string().nullable().openapi({
    description:
      "The provider that was to be called; null of a reservation, and of refusals of earlier versions",
  }),
  model: z.string().nullable(),
  nearest_model: z.string().nullable().openapi({
    description: "Where the model has no price: the nearest name with one, as `provider:model`",
  }),
  reason: z.enum(REFUSAL_REASONS).nullable().openapi({
    description: "That of the budget that refused first; null of refusals of earlier versions by a run's own",
  }),
  message: z.string(),
  cost_usd_so_far: Usd.nullable().openapi({
    description: "Spent in the budget that refused first; null where the reader may not see it",
  }),
  budget_usd: Usd.nullable().openapi({ description: "The limit of that budget with its raises" }),
  refused_by: z.array(RefusedBy).openapi({
    description: "The budgets that refused the call; empty where it was the run's own alone",
  }),
}).openapi("BudgetRefusal");
export type BudgetRefusal = z.infer<typeof BudgetRefusal>;
