import { AGENT_DEFAULTS, AGENT_LIMITS } from "./limits.ts";
import { z } from "@hono/zod-openapi";
import { AgentId, Time, Usd, UsdLimit } from "./parts.ts";
import { invalidInput } from "./schema_issues.ts";
import { TokenUsage } from "./usage.ts";

/** The wire's schemas of agents. */

export const BUDGET_MODES =
  "`stop`: no call is made once the limit is reached; `strict`: none that could pass it";
export const BudgetMode = z.enum(["stop", "strict"]).openapi({ description: BUDGET_MODES });

export const AgentBody = z.strictObject({
  name: z.string().optional().openapi({ description: "If given, the agent's id" }),
  model: z.string().min(1).openapi({
    description: "`provider:model`, or a name that only one provider has",
    example: "demo:echo",
  }),
  system_prompt: z.string().refine((text) => !text.includes("\0"), "must not contain NUL").optional().openapi(
    {
      description: "Empty if not given",
    },
  ),
  cost_budget_usd: UsdLimit.nullish().openapi({
    type: ["number", "null"],
    description: "What one run may cost, in USD, at most nine decimals; null for no limit",
  }),
  budget_mode: BudgetMode.optional().openapi({
    description: `${BUDGET_MODES}; \`${AGENT_DEFAULTS.budgetMode}\` if not given`,
  }),
  allow_unpriced: z.boolean().optional().openapi({
    description:
      "Whether calls without a known price are let through in spite of the budget; false if not given",
  }),
  max_steps: z.number().int().min(1).max(AGENT_LIMITS.maxSteps).optional().openapi({
    format: "int32",
    description: `How many steps a run may take; ${AGENT_DEFAULTS.maxSteps} if not given`,
  }),
  max_output_tokens: z.number().int().min(1).max(AGENT_LIMITS.maxOutputTokens).nullish().openapi({
    format: "int32",
    description: "At most so many tokens in one answer",
  }),
  tools: z.array(z.string()).max(AGENT_LIMITS.tools).optional().openapi({
    description: "The names of the tools that it may call; none if not given",
  }),
}).openapi("AgentBody");
export type AgentBody = z.infer<typeof AgentBody>;

const NamedAgent = AgentBody.required({ name: true });

/** Checks an agent's definition that no path names. Throws `invalid` with every issue and its path. */
export function readNamedAgent(value: unknown): z.infer<typeof NamedAgent> {
  const result = NamedAgent.safeParse(value);
  if (!result.success) throw invalidInput(result.error, "the agent");
  return result.data;
}

const agent = {
  agent_id: AgentId,
  name: AgentId,
  model: z.string().openapi({ example: "demo:echo" }),
  system_prompt: z.string(),
  cost_budget_usd: Usd.nullable().openapi({
    description: "What one run may cost, in USD; null for no limit",
  }),
  budget_mode: BudgetMode,
  allow_unpriced: z.boolean(),
  max_steps: z.number().int().openapi({ format: "int32" }),
  max_output_tokens: z.number().int().nullable().openapi({ format: "int32" }),
  tools: z.array(z.string()),
  created_at: Time,
  updated_at: Time,
};

export const Agent = z.object(agent).openapi("Agent");
export type Agent = z.infer<typeof Agent>;

export const AgentWithUsage = z.object({ ...agent, token_usage: TokenUsage }).openapi("AgentWithUsage");
export type AgentWithUsage = z.infer<typeof AgentWithUsage>;
