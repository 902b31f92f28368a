import { z } from "@hono/zod-openapi";
import { orNull, Time, Usd } from "../parts.ts";
import { BUDGET_ACTIONS, TICKET_STATES } from "../values.ts";
import { calendarValues } from "../calendars/calendar_fields.ts";
import { appliedBudget, SCOPE } from "./applied_budget.ts";
import { TicketId } from "./approvals.ts";
import { BudgetCounter, budgetWindow } from "./budget_state.ts";

/** The wire schema of a budget that would count a call, as a check returns it. */

export const BudgetCheck = z.object({
  ...appliedBudget,
  scope: z.string().openapi({
    description: `${SCOPE}; \`new run\` or \`new session\` where the request names none`,
    example: "agent researcher",
  }),
  action: z.enum(BUDGET_ACTIONS),
  left_usd: Usd.optional(),
  counter: orNull(BudgetCounter).openapi({
    description:
      "Of a budget with many counters: the one in which the call would count, and for which a raise can be",
  }),
  ticket_id: TicketId.nullable().optional().openapi({
    description:
      "Of a reached budget whose action is `ask`: its ticket, by which a person is asked for more; null where the next " +
      "call would open one. A check opens none",
  }),
  ticket_state: z.enum(TICKET_STATES).optional(),
  asks_again_at: Time.optional().openapi({
    description: "After a denial: when the next ticket can be opened",
  }),
  time_zone: calendarValues.time_zone,
  ...budgetWindow,
}).openapi("BudgetCheck");
export type BudgetCheck = z.infer<typeof BudgetCheck>;
