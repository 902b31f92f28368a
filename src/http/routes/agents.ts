import {
  AGENT_DEFAULTS,
  type AgentDefinition,
  checkAgentName,
  defineAgent,
  getAgent,
  listAgents,
  removeAgent,
} from "../../agents/mod.ts";
import type { Core } from "../../core.ts";
import { PurserError } from "../../errors.ts";
import { readAgentUsage } from "../../ledger/mod.ts";
import { parseUsd } from "../../money.ts";
import { checkModelName } from "../../runner/mod.ts";
import { createRoute, json, jsonBody, problems, z } from "../route_parts.ts";
import { createRouter } from "../router.ts";
import { Agent, AgentBody, AgentWithUsage } from "../schemas.ts";

const params = z.object({ agent_id: z.string().openapi({ example: "researcher" }) });

const put = createRoute({
  method: "put",
  path: "/agents/{agent_id}",
  summary: "Define an agent",
  tags: ["agents"],
  request: { params, body: jsonBody(AgentBody) },
  responses: {
    200: json(Agent, "The agent was there and is replaced"),
    201: json(Agent, "The agent is new"),
    ...problems("invalid", "unsupported_media_type"),
  },
});

const list = createRoute({
  method: "get",
  path: "/agents",
  summary: "All agents",
  tags: ["agents"],
  responses: { 200: json(z.array(Agent), "By name"), ...problems() },
});

const get = createRoute({
  method: "get",
  path: "/agents/{agent_id}",
  summary: "An agent with its lifetime usage",
  tags: ["agents"],
  request: { params },
  responses: { 200: json(AgentWithUsage, "The agent"), ...problems("not_found") },
});

const remove = createRoute({
  method: "delete",
  path: "/agents/{agent_id}",
  summary: "Forget an agent's definition; its sessions and costs stay",
  tags: ["agents"],
  request: { params },
  responses: { 204: { description: "It is gone" }, ...problems("not_found") },
});

export function agentRoutes(core: Core) {
  return createRouter()
    .openapi(put, async (c) => {
      const { agent_id } = c.req.valid("param");
      const definition = toDefinition(core, agent_id, c.req.valid("json"));
      const { agent, isNew } = await defineAgent(core, definition);
      return isNew ? c.json(agent, 201) : c.json(agent, 200);
    })
    .openapi(list, async (c) => c.json(await listAgents(core), 200))
    .openapi(get, async (c) => {
      const { agent_id } = c.req.valid("param");
      const agent = await getAgent(core, agent_id);
      return c.json({ ...agent, token_usage: await readAgentUsage(core.query, agent_id) }, 200);
    })
    .openapi(remove, async (c) => {
      await removeAgent(core, c.req.valid("param").agent_id);
      return c.body(null, 204);
    });
}

function toDefinition(core: Core, agentId: string, body: z.infer<typeof AgentBody>): AgentDefinition {
  checkAgentName(agentId);
  if (body.name !== undefined && body.name !== agentId) {
    throw new PurserError("invalid", `Cannot define agent ${agentId}: name is ${JSON.stringify(body.name)}; leave it out or make them equal`, {
      details: { issues: [{ path: "name", message: "differs from the id in the path" }] },
    });
  }
  checkModelName(body.model, core.providers, core.customModels);
  core.toolbox.pick(body.tools ?? []);
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
