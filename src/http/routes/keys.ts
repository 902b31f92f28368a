import { checkBudgets, listRefusals } from "../../budgets/mod.ts";
import { PAGE_SIZES } from "../../contract/limits.ts";
import { Label } from "../../contract/parts.ts";
import type { Core } from "../../service/mod.ts";
import type { TimePosition } from "../../store/mod.ts";
import { changeKey, createKey, getKey, listKeys, revokeKey, rotateKey } from "../../keys/mod.ts";
import {
  ApiKey,
  ApiKeyBody,
  ApiKeyChanges,
  KeyId,
  KeyName,
  KeyRotationBody,
  KeyStatus,
  NewApiKey,
} from "../../contract/keys.ts";
import { OwnView } from "../../contract/costs/own_view.ts";
import { startOf } from "../../contract/windows.ts";
import { PurserError } from "../../kernel/errors.ts";
import { listCosts, readCostTotal, toName, type Viewer } from "../../ledger/mod.ts";
import { createRoute, z } from "../create_route.ts";
import { headers } from "../../contract/headers.ts";
import { BODY_CODES, problems } from "../problem_responses.ts";
import { json, jsonBody, optionalHeaders } from "../route_parts.ts";
import { pageByTime, positionIn } from "../cursors.ts";
import { viewerOfRequest } from "../middleware/agent_reach.ts";
import { etagBy, IF_MATCH, readPreconditions } from "../middleware/preconditions.ts";
import { page, pageQuery } from "../pagination.ts";
import { createRouter } from "../router.ts";
import { asAuthor } from "../middleware/principal.ts";

const params = z.object({ key_id: KeyId });

const create = createRoute({
  method: "post",
  path: "/keys",
  scopes: ["admin"],
  needsKey: true,
  operationId: "createApiKey",
  summary: "Create an API key",
  description:
    "Only this response has the key; a hash of its secret part is stored. From the first key on, every request to a " +
    "server over this database needs one. A name that an active key has is refused.",
  tags: ["keys"],
  request: { body: jsonBody(ApiKeyBody, { name: "ci", scopes: ["run"], agent_id: "researcher" }) },
  responses: {
    201: {
      ...json(NewApiKey, "The key"),
      headers: headers("Location", "Cache-Control"),
    },
    ...problems("invalid", "conflict", ...BODY_CODES),
  },
});

const names = createRoute({
  method: "get",
  path: "/key-names",
  scopes: ["read"],
  agentCheck: "handler",
  operationId: "listApiKeyNames",
  summary: "List the names of API keys, newest first",
  description: "For readers of costs and budgets. A key of one agent sees its own name only.",
  tags: ["keys"],
  request: { query: z.strictObject({ name: Label.optional(), ...pageQuery(PAGE_SIZES.keys) }) },
  responses: { 200: page(z.array(KeyName), "A page of names"), ...problems("invalid") },
});

const me = createRoute({
  method: "get",
  path: "/me",
  scopes: ["read", "run", "call", "report", "approve"],
  agentCheck: "handler",
  operationId: "getOwnView",
  summary: "Get what the API key of the request has spent, and the budgets that it meets",
  description: "For its holder, whatever the key may see otherwise.",
  tags: ["keys"],
  responses: { 200: json(OwnView, "Spending, budgets, sessions and refusals"), ...problems("not_found") },
});

const list = createRoute({
  method: "get",
  path: "/keys",
  scopes: ["admin"],
  operationId: "listApiKeys",
  summary: "List API keys, newest first",
  description: "Includes revoked and expired keys; keys are never deleted.",
  tags: ["keys"],
  request: {
    query: z.strictObject({
      status: KeyStatus.optional(),
      name: Label.optional().openapi({ description: "Only keys of exactly this name", example: "ci" }),
      ...pageQuery(PAGE_SIZES.keys),
    }),
  },
  responses: { 200: page(z.array(ApiKey), "A page of keys"), ...problems("invalid") },
});

const get = createRoute({
  method: "get",
  path: "/keys/{key_id}",
  scopes: ["admin"],
  operationId: "getApiKey",
  summary: "Get an API key",
  tags: ["keys"],
  request: { params },
  responses: {
    200: { ...json(ApiKey, "The key, without its text"), headers: headers("ETag") },
    ...problems("not_found"),
  },
});

const change = createRoute({
  method: "patch",
  path: "/keys/{key_id}",
  scopes: ["admin"],
  needsKey: true,
  operationId: "updateApiKey",
  summary:
    "Change the tags or the expiry of an API key, or whether it stops before it spends a plan's credits",
  description:
    "Calls that are booked already keep their tags. Takes effect at once in this instance, and within 5 seconds in others on the same database.",
  tags: ["keys"],
  request: {
    params,
    ...optionalHeaders(IF_MATCH),
    body: jsonBody(ApiKeyChanges, { tags: { user: "anna", team: "search" } }),
  },
  responses: {
    200: { ...json(ApiKey, "The changed key"), headers: headers("ETag") },
    ...problems("invalid", "not_found", "conflict", "precondition_failed", ...BODY_CODES),
  },
});

const rotate = createRoute({
  needsKey: true,
  method: "post",
  path: "/keys/{key_id}/rotate",
  scopes: ["admin"],
  operationId: "rotateApiKey",
  summary: "Give an API key a new secret",
  description:
    "Its id, name, permissions and budgets stay. Only this response has the new key. The secret before ends at once in " +
    "this instance and within 5 seconds in others, or after `grace_seconds`; sessions of the dashboard end.",
  tags: ["keys"],
  request: {
    params,
    ...optionalHeaders(IF_MATCH),
    body: jsonBody(KeyRotationBody, { grace_seconds: 86_400 }),
  },
  responses: {
    200: { ...json(NewApiKey, "The key with its new text"), headers: headers("Cache-Control") },
    ...problems("invalid", "not_found", "conflict", "precondition_failed", ...BODY_CODES),
  },
});

/** The ETag of the fields of a key that an administrator decides: its use doesn't change it. */
const etagOfKey = etagBy([
  ...["key_id", "name", "scopes", "agent_id", "models", "created_at", "expires_at", "revoked_at"] as const,
  ...["rotated_at", "stop_before_credits", "tags"] as const,
]);

const revoke = createRoute({
  method: "delete",
  path: "/keys/{key_id}",
  scopes: ["admin"],
  operationId: "revokeApiKey",
  summary: "Revoke an API key permanently",
  description:
    "Takes effect at once in this instance, and within 5 seconds in others on the same database. A key that is " +
    "already revoked stays unchanged.",
  tags: ["keys"],
  request: { params },
  responses: { 204: { description: "Revoked" }, ...problems("not_found", ...BODY_CODES) },
});

/** The newest sessions and refusals of the holder of a key. */
const OWN_ROWS = 10;

async function readOwnView(core: Core, viewer: Viewer): Promise<OwnView> {
  const { keyId } = viewer;
  if (keyId === null) {
    throw new PurserError("not_found", "Cannot tell whose spending is meant: the request has no API key");
  }
  const key = await getKey(core, keyId);
  const { key_id, name, scopes, agent_id, models, stop_before_credits, tags, expires_at } = key;
  const now = core.clock.now();
  const page = { limit: OWN_ROWS, offset: 0 };
  const call = { agentId: agent_id ?? toName(name), keyId, subjects: { tags } };
  const [today, month, budgets, sessions, refusals] = await Promise.all([
    readCostTotal(core.store, { keyId, from: startOf("day", now, 0, core) }),
    readCostTotal(core.store, { keyId, from: startOf("month", now, 0, core) }),
    checkBudgets(core, call, viewer),
    listCosts(core.store, { keyId, groupBy: "session", ...page }),
    listRefusals(core, { keyId, limit: OWN_ROWS, viewer }),
  ]);
  return {
    key: { key_id, name, scopes, agent_id, models, stop_before_credits, tags, expires_at },
    time_zone: core.timeZone,
    ...{ today, month, budgets, sessions, refusals },
  };
}

const positionOf = positionIn("created_at", "key_id");

export function createRoutes(core: Core) {
  return createRouter()
    .openapi(names, async (c) => {
      const { name, ...page } = c.req.valid("query");
      const viewer = viewerOfRequest(c);
      const list = (before: TimePosition | undefined, limit: number) =>
        listKeys(core, {
          keyId: viewer.seesAll ? undefined : viewer.keyId ?? undefined,
          name,
          before,
          limit,
        });
      const keys = !viewer.seesAll && viewer.keyId === null
        ? []
        : await pageByTime(c, page, positionOf, list);
      return c.json(keys.map(({ key_id, name, status }) => ({ key_id, name, status })), 200);
    })
    .openapi(me, async (c) => c.json(await readOwnView(core, viewerOfRequest(c)), 200))
    .openapi(create, async (c) => {
      const { name, scopes, agent_id, models, stop_before_credits, tags, expires_at } = c.req.valid("json");
      const key = await createKey(asAuthor(c, core), {
        name,
        scopes,
        agentId: agent_id ?? null,
        models: models ?? null,
        stopBeforeCredits: stop_before_credits ?? false,
        tags,
        expiresAt: expires_at ? Date.parse(expires_at) : null,
      });
      c.header("location", `/keys/${key.key_id}`);
      return c.json(key, 201);
    })
    .openapi(list, async (c) => {
      const { status, name, ...page } = c.req.valid("query");
      const entries = await pageByTime(
        c,
        page,
        positionOf,
        (before, limit) => listKeys(core, { status, name, before, limit }),
      );
      return c.json(entries, 200);
    })
    .openapi(get, async (c) => {
      const key = await getKey(core, c.req.valid("param").key_id);
      c.header("etag", await etagOfKey(key));
      const calls = [...core.gatewayCalls.values()].filter(({ viewer }) =>
        viewer.keyId === key.key_id
      ).length;
      return c.json({ ...key, ...(calls > 0 && { calls_in_progress: calls }) }, 200);
    })
    .openapi(change, async (c) => {
      const { stop_before_credits: stopBeforeCredits, tags, expires_at } = c.req.valid("json");
      const expiresAt = expires_at == null ? expires_at : Date.parse(expires_at);
      const check = readPreconditions(c, etagOfKey);
      const key = await changeKey(
        asAuthor(c, core),
        c.req.valid("param").key_id,
        { stopBeforeCredits, tags, expiresAt },
        check,
      );
      c.header("etag", await etagOfKey(key));
      return c.json(key, 200);
    })
    .openapi(rotate, async (c) => {
      const { grace_seconds = 0, expires_at } = c.req.valid("json");
      const rotation = {
        graceMs: grace_seconds * 1_000,
        expiresAt: expires_at == null ? expires_at : Date.parse(expires_at),
      };
      const check = readPreconditions(c, etagOfKey);
      return c.json(await rotateKey(asAuthor(c, core), c.req.valid("param").key_id, rotation, check), 200);
    })
    .openapi(revoke, async (c) => {
      await revokeKey(asAuthor(c, core), c.req.valid("param").key_id);
      return c.body(null, 204);
    });
}
