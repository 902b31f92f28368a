import { defineAgent, getAgent, listAgents, removeAgent } from "../../agents/mod.ts";
import type { Core } from "../../core.ts";
import { readAgentUsage } from "../../ledger/mod.ts";
import { toAgentDefinition } from "../agent_definition.ts";
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
    ...problems("invalid", "too_large", "unsupported_media_type"),
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
      const definition = toAgentDefinition(core, agent_id, c.req.valid("json"));
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
