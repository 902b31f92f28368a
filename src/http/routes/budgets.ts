import {
  checkBudgets,
  createBudget,
  findBudgetId,
  getBudget,
  listBudgetCounters,
  listBudgets,
  listRefusals,
  removeBudget,
  updateBudget,
} from "../../budgets/mod.ts";
import {
  Budget,
  BUDGET_FIELDS,
  BudgetBody,
  BudgetChangesBody,
  BudgetId,
} from "../../contract/budgets/budgets.ts";
import { keyParameter } from "../../contract/costs/dimension_fields.ts";
import { modelOfCall } from "../../contract/budgets/subjects.ts";
import { BudgetCheck } from "../../contract/budgets/budget_checks.ts";
import { BudgetRefusal } from "../../contract/budgets/budget_refusals.ts";
import { BudgetCounterState } from "../../contract/budgets/budget_state.ts";
import { PAGE_SIZES } from "../../contract/limits.ts";
import { AgentId, Label, name, QueryTime, SessionId } from "../../contract/parts.ts";
import { TAG_LIMITS, withKeyTags } from "../../contract/tags/tags.ts";
import { BILLINGS, CALL_SOURCES, COUNTER_SORTS, REFUSAL_REASONS } from "../../contract/values.ts";
import { findKey } from "../../keys/mod.ts";
import type { Core } from "../../service/mod.ts";
import { findSessionOwner } from "../../sessions/mod.ts";
import { createRoute, z } from "../create_route.ts";
import { headers } from "../../contract/headers.ts";
import { BODY_CODES, problems } from "../problem_responses.ts";
import { json, jsonBody, optionalHeaders } from "../route_parts.ts";
import { isNumberPosition, pageByTime, pageOf, positionIn, readCursor } from "../cursors.ts";
import { createOnce, IDEMPOTENCY_KEY } from "../middleware/idempotency.ts";
import { readTagFilters } from "../cost_query.ts";
import { etagBy, IF_MATCH, readPreconditions } from "../middleware/preconditions.ts";
import { keyTagsOf, narrowToAgent, onlyAgentOf, viewerOfRequest } from "../middleware/agent_reach.ts";
import { page, pageQuery } from "../pagination.ts";
import { createRouter } from "../router.ts";
import { asAuthor } from "../middleware/principal.ts";
import { checkLimitOfKeys, createRaiseRoutes } from "./budget_raises.ts";
import { checkOwnSession, createReservationRoutes, RESERVATIONS } from "./budget_reservations.ts";

const params = z.object({ budget_id: BudgetId });

const OF_ONE_AGENT =
  "A key of one agent sees the budgets that name that agent, one of its sessions or the key itself, and those over all " +
  "calls that bind it: of many counters its own, and no amounts that are those of other agents too.";

const create = createRoute({
  method: "post",
  path: "/budgets",
  scopes: ["admin"],
  operationId: "createBudget",
  summary: "Add a budget",
  description:
    "It holds from the next call on, in other processes within a second. Spending from before it existed counts.",
  tags: ["budgets"],
  request: {
    ...optionalHeaders(IDEMPOTENCY_KEY),
    body: jsonBody(BudgetBody, { name: "Day", limit_usd: 50, per: "day", mode: "strict" }),
  },
  responses: {
    201: { ...json(Budget, "The budget"), headers: headers("Location", "ETag", "Idempotency-Replayed") },
    ...problems("invalid", "conflict", "idempotency_mismatch", ...BODY_CODES),
  },
});

const list = createRoute({
  method: "get",
  path: "/budgets",
  scopes: ["read"],
  agentCheck: "handler",
  operationId: "listBudgets",
  summary: "List budgets with their present state",
  description: OF_ONE_AGENT,
  tags: ["budgets"],
  request: {
    query: z.strictObject({
      name: Label.optional().openapi({ description: "Only budgets of exactly this name", example: "Day" }),
      ...pageQuery(PAGE_SIZES.budgets),
    }),
  },
  responses: { 200: page(z.array(Budget), "Budgets, oldest first"), ...problems("invalid") },
});

const check = createRoute({
  method: "get",
  path: "/budgets/check",
  scopes: ["read", "run"],
  agentCheck: "handler",
  operationId: "checkBudgets",
  summary: "List the budgets that apply to a call, with what is left in each",
  description:
    "The tightest first. Reserves nothing: another call may take what is left. The calls of the request's own API key " +
    "are meant unless `key_id` names another; they bear the tags of the key. Without an agent, session, tags, model, provider or source, budgets of those are " +
    "left out. A key of one agent sees no amounts of budgets over all agents.",
  tags: ["budgets"],
  request: {
    query: z.strictObject({
      agent_id: name("researcher").optional(),
      session_id: name("ses_demo").optional().openapi({
        description: "An existing session is one of its agent, also where `agent_id` is not given",
      }),
      ...keyParameter,
      model: z.string().optional().openapi({
        description: "The model, or `provider:model`",
        example: "claude-opus-5",
      }),
      provider: z.string().optional().openapi({ example: "anthropic" }),
      source: z.enum(CALL_SOURCES).optional(),
      billing: z.enum(BILLINGS).optional().openapi({ description: "Who will pay for the call" }),
      tag: z.union([z.string(), z.array(z.string()).max(TAG_LIMITS.tags)]).optional().openapi({
        description: "A tag of the call, as `key:value`; repeated for more",
        example: "customer:acme",
      }),
    }),
  },
  responses: { 200: json(z.array(BudgetCheck), "The budgets"), ...problems("invalid") },
});

const refusals = createRoute({
  method: "get",
  path: "/budgets/refusals",
  scopes: ["read"],
  agentCheck: "handler",
  operationId: "listBudgetRefusals",
  summary: "List the calls that budgets have refused",
  description:
    "A key of one agent gets the calls of that agent, without amounts that are those of other agents too. All filters " +
    "but the agent search among 10,000 refusals. Calls that a budget with the action `watch` would have refused are " +
    "only counted.",
  tags: ["budgets"],
  request: {
    query: z.strictObject({
      budget_id: Label.optional().openapi({ description: "The id of a budget, or its name", example: "Day" }),
      agent_id: AgentId.optional(),
      session_id: SessionId.optional(),
      ...keyParameter,
      model: z.string().optional().openapi({
        description: "The model, or `provider:model`",
        example: "openai:gpt-6-luna",
      }),
      reason: z.enum(REFUSAL_REASONS).optional(),
      from: QueryTime.optional().openapi({ description: "Inclusive; a date, or a time with its zone" }),
      to: QueryTime.optional().openapi({ description: "Exclusive; a date, or a time with its zone" }),
      ...pageQuery(PAGE_SIZES.refusals),
    }),
  },
  responses: { 200: page(z.array(BudgetRefusal), "Refused calls, newest first"), ...problems("invalid") },
});

const get = createRoute({
  method: "get",
  path: "/budgets/{budget_id}",
  scopes: ["read"],
  agentCheck: "handler",
  operationId: "getBudget",
  summary: "Get a budget with its present state",
  description:
    `The \`ETag\` is that of the fields that its author sets: spending doesn't change it. ${OF_ONE_AGENT}`,
  tags: ["budgets"],
  request: { params },
  responses: {
    200: { ...json(Budget, "The budget"), headers: headers("ETag") },
    ...problems("not_found"),
  },
});

const counterSort = z.enum(COUNTER_SORTS).optional().openapi({
  description: "`used`: the most used first, if not given; `left`: the least left; `name`",
});

const counters = createRoute({
  method: "get",
  path: "/budgets/{budget_id}/counters",
  scopes: ["read"],
  agentCheck: "handler",
  operationId: "listBudgetCounters",
  summary: "List the counters of a budget that has many, with what is spent and left in each",
  description:
    "Of a budget with `each`, or per run or session. Agents and keys also before their first call, sessions and runs of " +
    "the present window. Of a budget with one counter the list is empty. A key of one agent sees its own.",
  tags: ["budgets"],
  request: { params, query: z.strictObject({ sort: counterSort, ...pageQuery(PAGE_SIZES.budgets) }) },
  responses: {
    200: page(z.array(BudgetCounterState), "Counters"),
    ...problems("invalid", "not_found"),
  },
});

const update = createRoute({
  method: "patch",
  path: "/budgets/{budget_id}",
  scopes: ["admin"],
  operationId: "updateBudget",
  summary: "Enable, disable or change a budget",
  description:
    "Changes only the given fields; the budget that results has to be a valid one. A limit below what is spent refuses " +
    "the next call, nothing else. A new limit, window or warning warns anew in the present window.",
  tags: ["budgets"],
  request: { params, ...optionalHeaders(IF_MATCH), body: jsonBody(BudgetChangesBody, { limit_usd: 100 }) },
  responses: {
    200: { ...json(Budget, "The changed budget"), headers: headers("ETag") },
    ...problems("invalid", "not_found", "conflict", "precondition_failed", ...BODY_CODES),
  },
});

const remove = createRoute({
  method: "delete",
  path: "/budgets/{budget_id}",
  scopes: ["admin"],
  operationId: "deleteBudget",
  summary: "Delete a budget with its raises and releases; its alerts stay",
  tags: ["budgets"],
  request: { params, ...optionalHeaders(IF_MATCH) },
  responses: {
    204: { description: "Deleted" },
    ...problems("invalid", "not_found", "conflict", "precondition_failed", ...BODY_CODES),
  },
});

const etagOfBudget = etagBy(["budget_id", "created_at", ...BUDGET_FIELDS]);

/** Returns the routes whose paths those with an id match too, so that they come before them. */
function createFixedRoutes(core: Core) {
  const routes = createRouter()
    .route("/", createReservationRoutes(core))
    .openapi(check, async (c) => {
      const { agent_id, session_id, key_id, model, provider, source, billing, tag } = c.req.valid("query");
      const only = onlyAgentOf(c);
      const agentId = narrowToAgent(c, agent_id);
      const owner = session_id === undefined ? undefined : await findSessionOwner(core, session_id);
      if (only !== undefined && session_id !== undefined) checkOwnSession(session_id, owner, only);
      const viewer = viewerOfRequest(c);
      const key = key_id === undefined
        ? { keyId: viewer.keyId, tags: keyTagsOf(c) }
        : await findKey(core, key_id, viewer);
      const { keyId } = key;
      const tags = withKeyTags(tag === undefined ? {} : readTagFilters([tag].flat()), key.tags);
      const subjects = { ...modelOfCall({ model, provider }), source, billing, tags };
      const call = { agentId: agentId ?? owner ?? undefined, sessionId: session_id, keyId, subjects };
      const checks = await checkBudgets(core, call, viewer);
      return c.json(checks, 200);
    })
    .openapi(refusals, async (c) => {
      const { budget_id, agent_id, session_id, key_id, limit, cursor, ...filter } = c.req.valid("query");
      const viewer = viewerOfRequest(c);
      const list = await listRefusals(core, {
        ...filter,
        budgetId: budget_id === undefined ? undefined : await findBudgetId(core, budget_id, viewer),
        keyId: key_id === undefined ? undefined : (await findKey(core, key_id, viewer)).keyId,
        sessionId: session_id,
        agentId: narrowToAgent(c, agent_id),
        viewer,
        before: readCursor(cursor, isNumberPosition),
        limit,
      });
      return c.json(pageOf(c, list, ({ event_id }) => event_id, list.length === limit), 200);
    });
  // Neither is the id of a budget, with any method.
  for (const path of [check.path, refusals.path, RESERVATIONS]) routes.all(path, (c) => c.notFound());
  return routes;
}

export function createRoutes(core: Core) {
  return createRouter()
    .route("/", createFixedRoutes(core))
    .route("/", createRaiseRoutes(core))
    .openapi(create, async (c) => {
      const input = c.req.valid("json");
      const budget = await createOnce<Budget>(
        c,
        core,
        input,
        (settle) => createBudget(asAuthor(c, core), input, settle),
      );
      c.header("location", `/budgets/${budget.budget_id}`);
      c.header("etag", await etagOfBudget(budget));
      return c.json(budget, 201);
    })
    .openapi(list, async (c) => {
      const { name, ...page } = c.req.valid("query");
      const entries = await pageByTime(
        c,
        page,
        positionIn("created_at", "budget_id"),
        (after, limit) => listBudgets(core, { name, viewer: viewerOfRequest(c), after, limit }),
      );
      return c.json(entries, 200);
    })
    .openapi(get, async (c) => {
      const budget = await getBudget(core, c.req.valid("param").budget_id, viewerOfRequest(c));
      c.header("etag", await etagOfBudget(budget));
      return c.json(budget, 200);
    })
    .openapi(counters, async (c) => {
      const { limit, cursor, sort } = c.req.valid("query");
      const offset = readCursor(cursor, isNumberPosition) ?? 0;
      const page = { viewer: viewerOfRequest(c), limit, offset, ...(sort && { sort }) };
      const counters = await listBudgetCounters(core, c.req.valid("param").budget_id, page);
      const rows = pageOf(c, counters, (_, count) => offset + count, counters.length === limit);
      return c.json(rows, 200);
    })
    .openapi(update, async (c) => {
      const { budget_id } = c.req.valid("param");
      await checkLimitOfKeys(c, core, budget_id);
      const check = readPreconditions(c, etagOfBudget);
      const budget = await updateBudget(asAuthor(c, core), budget_id, c.req.valid("json"), check);
      c.header("etag", await etagOfBudget(budget));
      return c.json(budget, 200);
    })
    .openapi(remove, async (c) => {
      const { budget_id } = c.req.valid("param");
      await checkLimitOfKeys(c, core, budget_id);
      await removeBudget(asAuthor(c, core), budget_id, readPreconditions(c, etagOfBudget));
      return c.body(null, 204);
    });
}
