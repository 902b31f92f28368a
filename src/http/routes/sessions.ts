import { PAGE_SIZES } from "../../contract/limits.ts";
import type { Context } from "hono";
import type { Core } from "../../service/mod.ts";
import { listCalls, readSessionTree, readSessionUsage, sumSteps } from "../../ledger/mod.ts";
import {
  getSession,
  listSessionEvents,
  listSessions,
  MAX_SEARCHED_SESSIONS,
  searchSessions,
} from "../../sessions/mod.ts";
import { onlyAgentOf, viewerOfRequest } from "../middleware/agent_reach.ts";
import { createRoute, z } from "../create_route.ts";
import { problems } from "../problem_responses.ts";
import { json } from "../route_parts.ts";
import { isTimePosition, linkNext, pageByTime, pageOf, positionIn, readCursor } from "../cursors.ts";
import { afterQuery, limitQuery, page, pageQuery } from "../pagination.ts";
import { createRouter } from "../router.ts";
import { AgentId, Label, SessionId, Status } from "../../contract/parts.ts";
import { SessionEvent } from "../../contract/events.ts";
import { Session, SessionCosts } from "../../contract/sessions.ts";
import { SessionTree } from "../../contract/costs/session_trees.ts";

const params = z.object({ session_id: SessionId });
const sessionPage = z.strictObject({
  ...pageQuery(PAGE_SIZES.sessions),
  search: Label.optional().openapi({
    description:
      "Only sessions that have each word of it in their id, an agent, a model (`provider:model`) or a tag (`key:value`) of " +
      "their calls, in any case",
    example: "researcher customer:acme",
  }),
  status: Status.optional(),
  stored: z.enum(["true", "false"]).optional().openapi({
    description: "`true`: only sessions with a state here, not those that are known from their calls alone",
  }),
});

const FILTERED =
  `With \`search\` or \`status\`, a page reads at most ${MAX_SEARCHED_SESSIONS} sessions: it may be shorter than \`limit\`, or empty, ` +
  "before the last one; `Link` has the next.";

const list = createRoute({
  method: "get",
  path: "/sessions",
  scopes: ["read"],
  agentCheck: "handler",
  operationId: "listSessions",
  summary: "List sessions, latest first",
  description:
    "Includes sessions that are known from their calls alone (reported, or through the gateway): their status is `idle`, " +
    "without messages and events, and their times are those of the first and the last call. " +
    FILTERED,
  tags: ["sessions"],
  request: { query: sessionPage },
  responses: { 200: page(z.array(Session), "A page of sessions"), ...problems("invalid") },
});

const listOfAgent = createRoute({
  method: "get",
  path: "/agents/{agent_id}/sessions",
  scopes: ["read"],
  agentCheck: "agent_id",
  operationId: "listAgentSessions",
  summary: "List an agent's sessions, latest first",
  description: FILTERED,
  tags: ["sessions"],
  request: { params: z.object({ agent_id: AgentId }), query: sessionPage },
  responses: { 200: page(z.array(Session), "A page of sessions"), ...problems("invalid") },
});

const get = createRoute({
  method: "get",
  path: "/sessions/{session_id}",
  scopes: ["read"],
  agentCheck: "session_id",
  operationId: "getSession",
  summary: "Get a session",
  tags: ["sessions"],
  request: { params },
  responses: { 200: json(Session, "The session"), ...problems("not_found") },
});

const events = createRoute({
  method: "get",
  path: "/sessions/{session_id}/events",
  scopes: ["read"],
  agentCheck: "session_id",
  isLarge: true,
  operationId: "listSessionEvents",
  summary: "List a session's events",
  description: "Paginated: with large events a page is shorter than `limit`; an empty page is the end.",
  tags: ["sessions"],
  request: {
    params,
    query: z.strictObject({
      after: afterQuery("The last `seq` received").default(0),
      limit: limitQuery(PAGE_SIZES.events),
    }),
  },
  responses: { 200: json(z.array(SessionEvent), "Events in order"), ...problems("invalid", "not_found") },
});

const costs = createRoute({
  method: "get",
  path: "/sessions/{session_id}/costs",
  scopes: ["read"],
  agentCheck: "session_id",
  operationId: "getSessionCosts",
  csvField: "calls",
  summary: "Get a session's cost per model call and per step",
  tags: ["costs"],
  request: { params, query: z.strictObject(pageQuery(PAGE_SIZES.calls)) },
  responses: { 200: page(SessionCosts, "Steps and calls in order"), ...problems("invalid", "not_found") },
});

const tree = createRoute({
  method: "get",
  path: "/sessions/{session_id}/tree",
  scopes: ["read"],
  agentCheck: "session_id",
  operationId: "getSessionTree",
  csvField: "agents",
  summary: "Get what each sub-agent of a session has cost",
  description:
    "The main agent and its sub-agents, also those with sessions of their own. A key of one agent gets no sessions of others.",
  tags: ["costs"],
  request: { params },
  responses: { 200: json(SessionTree, "The tree"), ...problems("not_found") },
});

export function createRoutes(core: Core) {
  const readPage = async (
    c: Context,
    query: z.infer<typeof sessionPage>,
    agentId?: string,
  ): Promise<Session[]> => {
    const before = readCursor(query.cursor, isTimePosition);
    const { limit, search: text, status, stored } = query;
    const wanted = { agentId, limit, before, isStored: stored === "true" };
    const positionOf = positionIn("updated_at", "session_id");
    if (text === undefined && status === undefined) {
      const sessions = await listSessions(core, wanted);
      return pageOf(c, sessions, positionOf, sessions.length === limit);
    }
    const { sessions, last } = await searchSessions(core, wanted, { text, status, callsOf: onlyAgentOf(c) });
    const page = pageOf(c, sessions, positionOf, false);
    // A search ends after the last session that it has read, which may not match.
    if (last && page.length === sessions.length) linkNext(c, positionOf(last));
    return page;
  };
  return createRouter()
    .openapi(list, async (c) => c.json(await readPage(c, c.req.valid("query"), onlyAgentOf(c)), 200))
    .openapi(listOfAgent, async (c) => {
      return c.json(await readPage(c, c.req.valid("query"), c.req.valid("param").agent_id), 200);
    })
    .openapi(get, async (c) => c.json(await getSession(core, c.req.valid("param").session_id), 200))
    .openapi(events, async (c) => {
      const { session_id: sessionId } = c.req.valid("param");
      await getSession(core, sessionId);
      return c.json(await listSessionEvents(core, { sessionId, ...c.req.valid("query") }), 200);
    })
    .openapi(tree, async (c) => {
      const { session_id: sessionId } = c.req.valid("param");
      await getSession(core, sessionId);
      return c.json(await readSessionTree(core, sessionId, viewerOfRequest(c)), 200);
    })
    .openapi(costs, async (c) => {
      const { session_id: sessionId } = c.req.valid("param");
      const page = c.req.valid("query");
      const usage = (await readSessionUsage(core.store, [sessionId])).get(sessionId)!;
      // Reported calls may name a session that exists only by them.
      if (usage.model_calls === 0) await getSession(core, sessionId);
      const calls = await pageByTime(
        c,
        page,
        positionIn("at", "call_id"),
        (after, limit) => listCalls(core.query, { sessionId, after, limit }),
      );
      return c.json(
        { session_id: sessionId, token_usage: usage, steps: sumSteps(calls), calls },
        200,
      );
    });
}
