import { z } from "@hono/zod-openapi";
import { keyFields } from "../costs/dimension_fields.ts";
import { AgentId, id, Label, orNull, RunId, SessionId, Time, Usd, UsdAboveZero } from "../parts.ts";
import { Tags } from "../tags/tag_schemas.ts";
import { TICKET_STATES } from "../values.ts";
import { BudgetCounter } from "./budget_state.ts";
import { BudgetId } from "./budgets.ts";

/** The wire schemas of tickets, by which budgets with `action: ask` ask for more, and of the answers. */

export const TicketId = id("tkt_01k9qv3v8d8f0h2k4n6q8s0v2x");

export const Approval = z.object({
  ticket_id: TicketId,
  state: z.enum(TICKET_STATES).openapi({
    description: "`expired`: not answered in time, which is a no",
  }),
  budget_id: BudgetId,
  budget_name: z.string(),
  counter: orNull(BudgetCounter).openapi({
    description: "The counter that is asked for; null of a budget over all calls",
  }),
  asked_usd: Usd.openapi({ description: "What the call lacks, rounded up to two digits" }),
  cost_usd: Usd.openapi({
    description: "What the call may cost: with `strict` the most, otherwise an estimate",
  }),
  agent_id: AgentId.openapi({ description: "The agent of the call that asked first" }),
  session_id: SessionId.nullable(),
  run_id: RunId.nullable(),
  ...keyFields("Its API key; null without one"),
  provider: z.string().nullable().openapi({ description: "Null of a reservation for a call elsewhere" }),
  model: z.string().nullable(),
  tags: Tags,
  asked_at: Time,
  expires_at: Time.openapi({ description: "Until when it can be answered" }),
  decided_at: Time.nullable(),
  decided_by: z.string().nullable().openapi({
    description: "Who answered: the name of the API key then, `user@host` of a command; null where unknown",
  }),
  reason: z.string().nullable(),
  raise_id: z.string().nullable().openapi({ description: "The raise by which it was approved" }),
}).openapi("Approval");
export type Approval = z.infer<typeof Approval>;

export const ApproveBody = z.strictObject({
  extra_usd: UsdAboveZero.optional().openapi({
    description: "The amount of the raise; `asked_usd` if not given",
  }),
  until: z.iso.datetime({ offset: true }).nullish().openapi({
    format: "date-time",
    description: "End of the raise, as of `BudgetRaiseBody`",
    example: "2026-11-24T00:00:00.000Z",
  }),
  reason: Label.openapi({ description: "For those that read it later", example: "Release" }),
}).openapi("ApproveBody");
export type ApproveBody = z.infer<typeof ApproveBody>;

export const DenyBody = z.strictObject({
  reason: Label.openapi({ description: "For those that read it later", example: "Wait for tomorrow" }),
}).openapi("DenyBody");
export type DenyBody = z.infer<typeof DenyBody>;
