import { z } from "@hono/zod-openapi";
import { Usd } from "../parts.ts";
import { BUDGET_ACTIONS } from "../values.ts";
import { calendarValues } from "../calendars/calendar_fields.ts";
import { appliedBudget, SCOPE } from "./applied_budget.ts";
import { budgetWindow } from "./budget_state.ts";

/** The wire schema of a budget that would count a call, as a check returns it. */

export const BudgetCheck = z.object({
  ...appliedBudget,
  scope: z.string().openapi({
    description: `${SCOPE}; \`new run\` or \`new session\` where the request names none`,
    example: "agent researcher",
  }),
  action: z.enum(BUDGET_ACTIONS),
  left_usd: Usd.optional(),
  time_zone: calendarValues.time_zone,
  ...budgetWindow,
}).openapi("BudgetCheck");
export type BudgetCheck = z.infer<typeof BudgetCheck>;
