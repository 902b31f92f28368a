import { defineAgent, getAgent, listAgents, removeAgent, toAgentDefinition } from "../../agents/mod.ts";
import type { Core } from "../../service/mod.ts";
import { NAME_PATTERN } from "../../kernel/ids.ts";
import { readAgentUsage } from "../../ledger/mod.ts";
import { etagBy, IF_MATCH, IF_NONE_MATCH, readPreconditions } from "../middleware/preconditions.ts";
import { onlyAgentOf } from "../middleware/agent_reach.ts";
import { createRoute, z } from "../create_route.ts";
import { headers } from "../../contract/headers.ts";
import { BODY_CODES, problems } from "../problem_responses.ts";
import { json, jsonBody, optionalHeaders } from "../route_parts.ts";
import { isIdPosition, PAGE_CHARACTERS, pageOf, readCursor } from "../cursors.ts";
import { optionalPageQuery, page } from "../pagination.ts";
import { createRouter } from "../router.ts";
import { asAuthor } from "../middleware/principal.ts";
import { answerWhole, WHOLE_PAGE } from "../whole_lists.ts";
import { MAX_PAGE } from "../../contract/limits.ts";
import { AgentId } from "../../contract/parts.ts";
import { Agent, AGENT_FIELDS, AgentBody, AgentWithUsage } from "../../contract/agents.ts";

const params = z.object({ agent_id: AgentId });
/** `checkAgentName` refuses names with a message that says why. */
const newParams = z.object({
  agent_id: AgentId.openapi({
    pattern: NAME_PATTERN.source,
    description: "1 to 128 letters, digits, `.`, `_`, `:` or `-`, a letter or digit first; not `snapshot`",
  }),
});

const put = createRoute({
  method: "put",
  path: "/agents/{agent_id}",
  scopes: ["admin"],
  isLarge: true,
  operationId: "defineAgent",
  summary: "Define an agent",
  description:
    "With `If-Match` only over a definition that the client has seen, with `If-None-Match: *` only a new one.",
  tags: ["agents"],
  request: {
    params: newParams,
    ...optionalHeaders({ ...IF_MATCH, ...IF_NONE_MATCH }),
    body: jsonBody(AgentBody, {
      model: "openai:gpt-6-luna",
      system_prompt: "Answer in one sentence.",
      cost_budget_usd: 0.25,
      tools: ["calculator"],
    }),
  },
  responses: {
    200: { ...json(Agent, "The agent existed and is replaced"), headers: headers("ETag") },
    201: { ...json(Agent, "The agent is new"), headers: headers("ETag") },
    ...problems("invalid", "conflict", "precondition_failed", ...BODY_CODES),
  },
});

const list = createRoute({
  method: "get",
  path: "/agents",
  scopes: ["read"],
  agentCheck: "handler",
  isLarge: true,
  operationId: "listAgents",
  summary: "List agents",
  tags: ["agents"],
  description: "All of them, unless a `limit` is given. With large prompts a page is shorter than `limit`.",
  request: { query: z.strictObject(optionalPageQuery(MAX_PAGE)) },
  responses: { 200: page(z.array(Agent), "Agents by name"), ...problems("invalid") },
});

const get = createRoute({
  method: "get",
  path: "/agents/{agent_id}",
  scopes: ["read"],
  agentCheck: "agent_id",
  isLarge: true,
  operationId: "getAgent",
  summary: "Get an agent with its lifetime usage",
  description: "The `ETag` is the definition's: runs and their usage don't change it.",
  tags: ["agents"],
  request: { params },
  responses: {
    200: { ...json(AgentWithUsage, "The agent"), headers: headers("ETag") },
    ...problems("not_found"),
  },
});

const remove = createRoute({
  method: "delete",
  path: "/agents/{agent_id}",
  scopes: ["admin"],
  operationId: "deleteAgent",
  summary: "Delete an agent's definition; its sessions and costs stay",
  tags: ["agents"],
  request: { params, ...optionalHeaders(IF_MATCH) },
  responses: {
    204: { description: "Deleted" },
    ...problems("invalid", "not_found", "conflict", "precondition_failed", ...BODY_CODES),
  },
});

const etagOfAgent = etagBy(["agent_id", ...AGENT_FIELDS, "created_at"]);

export function createRoutes(core: Core) {
  return createRouter()
    .openapi(put, async (c) => {
      const { agent_id } = c.req.valid("param");
      const definition = toAgentDefinition(agent_id, c.req.valid("json"), {
        checkModel: (model) => core.models.check(model),
        checkTools: (tools) => core.toolbox.check(tools),
      });
      const { agent, isNew } = await defineAgent(
        asAuthor(c, core),
        definition,
        readPreconditions(c, etagOfAgent),
      );
      c.header("etag", await etagOfAgent(agent));
      return isNew ? c.json(agent, 201) : c.json(agent, 200);
    })
    .openapi(list, async (c) => {
      const { limit, cursor } = c.req.valid("query");
      const first = readCursor(cursor, isIdPosition);
      const only = onlyAgentOf(c);
      if (limit === undefined) {
        const { entries: most, bytes: maxBytes } = WHOLE_PAGE;
        const answer = await answerWhole(c, core, async (after: string | undefined = first) => {
          const { agents, hasMore } = await listAgents(core, { only, after, limit: most, maxBytes });
          return { entries: agents, next: hasMore ? agents.at(-1)!.agent_id : undefined };
        });
        return answer instanceof Response ? answer as never : c.json(answer, 200);
      }
      const { agents, hasMore } = await listAgents(core, {
        only,
        after: first,
        limit,
        maxBytes: PAGE_CHARACTERS,
      });
      return c.json(pageOf(c, agents, ({ agent_id }) => agent_id, hasMore), 200);
    })
    .openapi(get, async (c) => {
      const { agent_id } = c.req.valid("param");
      const agent = await getAgent(core, agent_id);
      c.header("etag", await etagOfAgent(agent));
      return c.json({ ...agent, token_usage: await readAgentUsage(core.store, agent_id) }, 200);
    })
    .openapi(remove, async (c) => {
      await removeAgent(asAuthor(c, core), c.req.valid("param").agent_id, readPreconditions(c, etagOfAgent));
      return c.body(null, 204);
    });
}
