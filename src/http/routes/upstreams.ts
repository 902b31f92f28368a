import { ListedUpstream, Upstream, UpstreamBody, UpstreamId } from "../../contract/costs/upstreams.ts";
import { QueryTime } from "../../contract/parts.ts";
import { DAY_MS } from "../../kernel/clock.ts";
import { listUpstreams, setUpstreamKey } from "../../ledger/mod.ts";
import type { Core } from "../../service/mod.ts";
import { createRoute, z } from "../create_route.ts";
import { asAuthor } from "../middleware/principal.ts";
import { BODY_CODES, problems } from "../problem_responses.ts";
import { json, jsonBody } from "../route_parts.ts";
import { createRouter } from "../router.ts";

const list = createRoute({
  method: "get",
  path: "/upstreams",
  scopes: ["admin"],
  isLarge: true,
  operationId: "listUpstreams",
  summary: "List the credentials and the accounts at providers that pay for calls",
  description:
    "A credential has the name of its setting and a hash of its text, never the text: docs/security.md. Its calls are counted since `from`.",
  tags: ["costs"],
  request: {
    query: z.strictObject({
      from: QueryTime.optional().openapi({ description: "Default: 30 days ago" }),
    }),
  },
  responses: { 200: json(z.array(ListedUpstream), "All of them"), ...problems("invalid") },
});

const set = createRoute({
  method: "patch",
  path: "/upstreams/{upstream_id}",
  scopes: ["admin"],
  operationId: "updateUpstream",
  summary: "Set the provider's id of a key, by which its bills name it",
  tags: ["costs"],
  request: {
    params: z.object({ upstream_id: UpstreamId }),
    body: jsonBody(UpstreamBody, { key_id: "apikey_01Rj2N8SVvo6BePZj99NhmiT" }),
  },
  responses: {
    200: json(Upstream, "The credential or account"),
    ...problems("invalid", "not_found", ...BODY_CODES),
  },
});

export function createRoutes(core: Core) {
  return createRouter().openapi(list, async (c) => {
    const { from = core.clock.now() - 30 * DAY_MS } = c.req.valid("query");
    return c.json(await listUpstreams(core, from), 200);
  }).openapi(set, async (c) => {
    const { upstream_id: id } = c.req.valid("param");
    return c.json(await setUpstreamKey(asAuthor(c, core), id, c.req.valid("json").key_id), 200);
  });
}
