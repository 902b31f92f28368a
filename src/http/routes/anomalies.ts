import { PAGE_SIZES } from "../../contract/limits.ts";
import type { Core } from "../../service/mod.ts";
import { listAnomalies } from "../../anomalies/mod.ts";
import { narrowToAgent } from "../middleware/agent_reach.ts";
import { createRoute, z } from "../create_route.ts";
import { problems } from "../problem_responses.ts";
import { pageByTime, positionIn } from "../cursors.ts";
import { page, pageQuery } from "../pagination.ts";
import { createRouter } from "../router.ts";
import { AgentId, QueryTime } from "../../contract/parts.ts";
import { Anomaly } from "../../contract/anomalies.ts";

const list = createRoute({
  method: "get",
  path: "/anomalies",
  scopes: ["read"],
  agentCheck: "handler",
  operationId: "listAnomalies",
  summary: "List the anomalies that the behavior monitor detected, newest first",
  tags: ["costs"],
  request: {
    query: z.strictObject({
      from: QueryTime.optional().openapi({ description: "Inclusive; a date, or a time with its zone" }),
      agent_id: AgentId.optional(),
      ...pageQuery(PAGE_SIZES.anomalies),
    }),
  },
  responses: { 200: page(z.array(Anomaly), "The anomalies"), ...problems("invalid") },
});

export function createRoutes(core: Core) {
  return createRouter().openapi(list, async (c) => {
    const { from: since, agent_id, ...page } = c.req.valid("query");
    const agentId = narrowToAgent(c, agent_id);
    const entries = await pageByTime(
      c,
      page,
      positionIn("detected_at", "anomaly_id"),
      (after, limit) => listAnomalies(core, { since, agentId, after, limit }),
    );
    return c.json(entries, 200);
  });
}
