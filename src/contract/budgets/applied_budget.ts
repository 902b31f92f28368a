import { z } from "@hono/zod-openapi";
import { BudgetMode } from "../agents.ts";
import { nameFields } from "../costs/dimension_fields.ts";
import { Usd } from "../parts.ts";
import { BUDGET_PERIODS } from "../values.ts";
import { BudgetId } from "./budgets.ts";

/** The description of the scope of a budget. */
export const SCOPE = "The calls that it counts: `all`, or `agent`, `session`, `key` or `run` and an id";
const HIDDEN = "Absent, as the other amounts, for a key of one agent where other agents count too";

/** The parts that a budget in a check and one in a refusal have in common: it counts the call. */
export const appliedBudget = {
  budget_id: BudgetId.nullable().openapi({ description: "Null for the `cost_budget_usd` of an agent" }),
  name: z.string().nullable().openapi({ description: "Null for the same" }),
  per: z.enum(BUDGET_PERIODS),
  scope: z.string().openapi({ description: SCOPE, example: "agent researcher" }),
  ...nameFields(() => ({ description: "Where the scope is an API key: its name" })),
  mode: BudgetMode,
  limit_usd: Usd,
  extra_usd: Usd.optional(),
  spent_usd: Usd.optional().openapi({ description: HIDDEN }),
  reserved_usd: Usd.optional(),
};
