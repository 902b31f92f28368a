import type { Core } from "../../core.ts";
import { listAnomalies } from "../../monitor/mod.ts";
import { linkNext, readCursor } from "../page.ts";
import { createRoute, json, pageQuery, problems, z } from "../route_parts.ts";
import { createRouter } from "../router.ts";
import { Anomaly } from "../schemas.ts";

const Time = z.union([z.iso.datetime({ offset: true }), z.iso.date()]).transform((text) => Date.parse(text))
  .openapi({ type: "string", format: "date-time" });

const list = createRoute({
  method: "get",
  path: "/anomalies",
  summary: "What the behaviour monitor has noticed, newest first",
  tags: ["costs"],
  request: {
    query: z.strictObject({
      from: Time.optional().openapi({ description: "Inclusive; a date or a time with its zone" }),
      agent_id: z.string().optional(),
      ...pageQuery(100, 500),
    }),
  },
  responses: { 200: json(z.array(Anomaly), "The anomalies"), ...problems("invalid") },
});

type Position = [detectedAt: number, anomalyId: string];

function isPosition(value: unknown): value is Position {
  return Array.isArray(value) && value.length === 2 && Number.isSafeInteger(value[0]) &&
    typeof value[1] === "string";
}

export function anomalyRoutes(core: Pick<Core, "query">) {
  return createRouter().openapi(list, async (c) => {
    const { from, agent_id: agentId, limit, cursor } = c.req.valid("query");
    const position = readCursor(cursor, isPosition);
    const after = position && { detectedAt: position[0], anomalyId: position[1] };
    const anomalies = await listAnomalies(core, { limit, since: from, agentId, after });
    const last = anomalies.at(-1);
    if (last && anomalies.length === limit) linkNext(c, [Date.parse(last.detected_at), last.anomaly_id]);
    return c.json(anomalies, 200);
  });
}
