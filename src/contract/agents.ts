import { AGENT_DEFAULTS, AGENT_LIMITS } from "./limits.ts";
import { BUDGET_MODES } from "./values.ts";
import { z } from "@hono/zod-openapi";
import { AgentId, Time, Usd, UsdLimit } from "./parts.ts";
import { invalidInput } from "./schema_issues.ts";
import { Tags } from "./tags/tag_schemas.ts";
import { TokenUsage } from "./usage.ts";

/** The wire schemas of agents. */

const BUDGET_MODE =
  "`stop`: no call is made once the limit is reached; `strict`: no call that could exceed it";
export const BudgetMode = z.enum(BUDGET_MODES).openapi({ description: BUDGET_MODE });

export const AgentBody = z.strictObject({
  name: z.string().optional().openapi({ description: "If given, the agent's id" }),
  model: z.string().min(1).openapi({
    description: "`provider:model`, or a name that one provider alone has",
    example: "demo:echo",
  }),
  system_prompt: z.string().refine((text) => !text.includes("\0"), "must not contain NUL").optional().openapi(
    {
      description: "Empty if not given",
    },
  ),
  cost_budget_usd: UsdLimit.nullish().openapi({
    type: ["number", "null"],
    description: "Budget of one run in USD, at most nine decimals; null for no limit",
  }),
  budget_mode: BudgetMode.optional().openapi({
    description: `${BUDGET_MODE}; \`${AGENT_DEFAULTS.budgetMode}\` if not given`,
  }),
  allow_unpriced: z.boolean().optional().openapi({
    description:
      "Allows a budget on a model without a known price, whose calls count as 0; false if not given",
  }),
  max_steps: z.number().int().min(1).max(AGENT_LIMITS.maxSteps).optional().openapi({
    format: "int32",
    description: `Maximum number of steps of a run; ${AGENT_DEFAULTS.maxSteps} if not given`,
  }),
  max_output_tokens: z.number().int().min(1).max(AGENT_LIMITS.maxOutputTokens).nullish().openapi({
    format: "int32",
    description: "Maximum number of tokens in one response",
  }),
  tools: z.array(z.string()).max(AGENT_LIMITS.tools).optional().openapi({
    description: "Names of the tools that the agent may call; none if not given",
  }),
  tags: Tags.optional().openapi({
    description: "Tags of the calls of its runs, which a run may replace and add to; none if not given",
  }),
}).openapi("AgentBody");
export type AgentBody = z.infer<typeof AgentBody>;

/** The names of the fields that an agent's author sets. */
export const AGENT_FIELDS = Object.keys(AgentBody.shape) as readonly (keyof AgentBody)[];

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
    description: "Budget of one run in USD; null for no limit",
  }),
  budget_mode: BudgetMode,
  allow_unpriced: z.boolean(),
  max_steps: z.number().int().openapi({ format: "int32" }),
  max_output_tokens: z.number().int().nullable().openapi({ format: "int32" }),
  tools: z.array(z.string()),
  tags: Tags,
  created_at: Time,
  updated_at: Time,
};

export const Agent = z.object(agent).openapi("Agent");
export type Agent = z.infer<typeof Agent>;

export const AgentWithUsage = z.object({ ...agent, token_usage: TokenUsage }).openapi("AgentWithUsage");
export type AgentWithUsage = z.infer<typeof AgentWithUsage>;
