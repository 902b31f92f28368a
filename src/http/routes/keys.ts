import { PAGE_SIZES } from "../../contract/limits.ts";
import type { Core } from "../../service/mod.ts";
import { createKey, getKey, listKeys, revokeKey } from "../../keys/mod.ts";
import { ApiKey, ApiKeyBody, KeyId, KeyStatus, NewApiKey } from "../../contract/keys.ts";
import { createRoute, z } from "../create_route.ts";
import { headers } from "../../contract/headers.ts";
import { BODY_CODES, problems } from "../problem_responses.ts";
import { json, jsonBody } from "../route_parts.ts";
import { isTimePosition, pageOf, readCursor, type TimePosition } from "../cursors.ts";
import { page, pageQuery } from "../pagination.ts";
import { createRouter } from "../router.ts";

const params = z.object({ key_id: KeyId });

const create = createRoute({
  method: "post",
  path: "/keys",
  scopes: ["admin"],
  operationId: "createApiKey",
  summary: "Create an API key",
  description:
    "Only this response has the key; a hash of its secret part is stored. From the first key on, every request to a " +
    "server over this database needs one.",
  tags: ["keys"],
  request: { body: jsonBody(ApiKeyBody, { name: "ci", scopes: ["run"], agent_id: "researcher" }) },
  responses: {
    201: {
      ...json(NewApiKey, "The key"),
      headers: headers("Location", "Cache-Control"),
    },
    ...problems("invalid", ...BODY_CODES),
  },
});

const list = createRoute({
  method: "get",
  path: "/keys",
  scopes: ["admin"],
  operationId: "listApiKeys",
  summary: "List API keys, newest first",
  description: "Includes revoked and expired keys; keys are never deleted.",
  tags: ["keys"],
  request: { query: z.strictObject({ status: KeyStatus.optional(), ...pageQuery(PAGE_SIZES.keys) }) },
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
  responses: { 200: json(ApiKey, "The key, without its text"), ...problems("not_found") },
});

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

export function createRoutes(core: Core) {
  return createRouter()
    .openapi(create, async (c) => {
      const { name, scopes, agent_id, models, expires_at } = c.req.valid("json");
      const key = await createKey(core, {
        name,
        scopes,
        agentId: agent_id ?? null,
        models: models ?? null,
        expiresAt: expires_at ? Date.parse(expires_at) : null,
      });
      c.header("location", `/keys/${key.key_id}`);
      return c.json(key, 201);
    })
    .openapi(list, async (c) => {
      const { status, limit, cursor } = c.req.valid("query");
      const position = readCursor(cursor, isTimePosition);
      const before = position && { createdAt: position[0], keyId: position[1] };
      const keys = await listKeys(core, { status, limit, before });
      const positionOf = (last: ApiKey): TimePosition => [Date.parse(last.created_at), last.key_id];
      return c.json(pageOf(c, keys, positionOf, keys.length === limit), 200);
    })
    .openapi(get, async (c) => c.json(await getKey(core, c.req.valid("param").key_id), 200))
    .openapi(revoke, async (c) => {
      await revokeKey(core, c.req.valid("param").key_id);
      return c.body(null, 204);
    });
}
