import { AGENT_DEFAULTS } from "../../contract/limits.ts";
import type { z } from "@hono/zod-openapi";
import { type AgentDefinition, checkAgentName } from "../../agents/mod.ts";
import type { Core } from "../../service/mod.ts";
import { PurserError } from "../../kernel/errors.ts";
import { parseUsd } from "../../kernel/money.ts";
import { invalidRequest } from "../router.ts";
import { AgentBody } from "../../contract/agents.ts";

type KnownNames = Pick<Core, "models" | "toolbox">;

/** Where no path names the agent, its definition has to. */
const NamedAgent = AgentBody.required({ name: true });

/** Checks an agent that did not come through a route. Throws `invalid` with every problem and its path. */
export function readAgentDefinition(known: KnownNames, agent: { name: string }): AgentDefinition {
  const body = NamedAgent.safeParse(agent);
  if (!body.success) throw invalidRequest(body.error, "the agent");
  return toAgentDefinition(known, agent.name, body.data);
}

/** An agent's definition from its wire form. Throws `invalid` on names that are not known. */
export function toAgentDefinition(
  known: KnownNames,
  agentId: string,
  body: z.infer<typeof AgentBody>,
): AgentDefinition {
  checkAgentName(agentId);
  if (body.name !== undefined && body.name !== agentId) {
    throw new PurserError(
      "invalid",
      `Cannot define agent ${agentId}: name is ${JSON.stringify(body.name)}; leave it out or make them equal`,
      { details: { issues: [{ path: "name", message: "differs from the id in the path" }] } },
    );
  }
  known.models.check(body.model);
  known.toolbox.check(body.tools ?? []);
  const budget = body.cost_budget_usd;
  return {
    agentId,
    model: body.model,
    systemPrompt: (body.system_prompt ?? AGENT_DEFAULTS.systemPrompt).toWellFormed(),
    costBudgetNanoUsd: budget === undefined || budget === null ? null : parseUsd(budget, "cost_budget_usd"),
    budgetMode: body.budget_mode ?? AGENT_DEFAULTS.budgetMode,
    allowUnpriced: body.allow_unpriced ?? AGENT_DEFAULTS.allowUnpriced,
    maxSteps: body.max_steps ?? AGENT_DEFAULTS.maxSteps,
    maxOutputTokens: body.max_output_tokens ?? AGENT_DEFAULTS.maxOutputTokens,
    tools: body.tools ?? AGENT_DEFAULTS.tools,
  };
}
