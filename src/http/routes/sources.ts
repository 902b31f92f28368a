import { SourceOfCalls } from "../../contract/costs/sources.ts";
import { PAGE_SIZES } from "../../contract/limits.ts";
import { listSources } from "../../ingest/mod.ts";
import type { Core } from "../../service/mod.ts";
import { createRoute, z } from "../create_route.ts";
import { isNumberPosition, pageOf, readCursor } from "../cursors.ts";
import { viewerOfRequest } from "../middleware/agent_reach.ts";
import { page, pageQuery } from "../pagination.ts";
import { problems } from "../problem_responses.ts";
import { createRouter } from "../router.ts";

const list = createRoute({
  method: "get",
  path: "/sources",
  scopes: ["read"],
  agentCheck: "handler",
  operationId: "listSources",
  summary: "List where calls were booked from, the newest call first",
  description:
    "The gateway, runs, `meter()` and reports, and each agent whose logs are imported, by machine. A key of one agent sees the " +
    "calls of its agent, and the files that it has imported itself.",
  tags: ["costs"],
  request: { query: z.strictObject(pageQuery(PAGE_SIZES.costs)) },
  responses: { 200: page(z.array(SourceOfCalls), "A page of sources"), ...problems("invalid") },
});

export function createRoutes(core: Core) {
  return createRouter().openapi(list, async (c) => {
    const { limit, cursor } = c.req.valid("query");
    const offset = readCursor(cursor, isNumberPosition) ?? 0;
    const sources = (await listSources(core, viewerOfRequest(c))).slice(offset, offset + limit);
    return c.json(pageOf(c, sources, (_, count) => offset + count, sources.length === limit), 200);
  });
}
