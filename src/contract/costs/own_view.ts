import { z } from "@hono/zod-openapi";
import { BudgetCheck } from "../budgets/budget_checks.ts";
import { BudgetRefusal } from "../budgets/budget_refusals.ts";
import { CostRow, CostTotal } from "../costs.ts";
import { ApiKey } from "../keys.ts";

/** The wire schema of what the holder of an API key sees of its own spending. */

export const OwnView = z.object({
  key: ApiKey.pick({
    ...{ key_id: true, name: true, scopes: true, agent_id: true, models: true },
    ...{ stop_before_credits: true, tags: true, expires_at: true },
  }),
  time_zone: z.string().openapi({
    description: "Time zone of today and of the month: the server's, UTC unless set",
    example: "UTC",
  }),
  today: CostTotal.openapi({ description: "The calls of the key since midnight" }),
  month: CostTotal.openapi({ description: "The calls of the key since the first day of the month" }),
  budgets: z.array(BudgetCheck).openapi({
    description: "The budgets that a call of the key meets, as `GET /budgets/check` lists them",
  }),
  sessions: z.array(CostRow).openapi({ description: "The sessions of its newest calls, at most ten" }),
  refusals: z.array(BudgetRefusal).openapi({ description: "Its newest refused calls, at most ten" }),
}).openapi("OwnView");
export type OwnView = z.infer<typeof OwnView>;
