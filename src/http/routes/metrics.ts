import type { Core } from "../../service/mod.ts";
import { EXPOSITION_TYPE, readTotals, renderFamilies, serviceFamilies } from "../../service/metrics/mod.ts";
import { VERSION } from "../../kernel/version.ts";
import { createRoute, problems, z } from "../create_route.ts";
import { createRouter } from "../router.ts";

const metrics = createRoute({
  method: "get",
  path: "/metrics",
  scopes: ["read"],
  operationId: "getMetrics",
  summary: "Get metrics of spend, tokens, runs, alerts and deliveries for Prometheus",
  tags: ["service"],
  request: {
    query: z.strictObject({
      by: z.enum(["agent"]).optional().openapi({
        description:
          "With `agent`, usage of models is also split by agent: one more label, and one series per agent and model",
      }),
    }),
  },
  responses: {
    200: {
      description: "Metrics in Prometheus' text format 0.0.4",
      content: { "text/plain": { schema: z.string() } },
    },
    ...problems("invalid"),
  },
});

export function createRoutes(core: Core) {
  return createRouter().openapi(metrics, async (c) => {
    const totals = await readTotals(core.store, { byAgent: c.req.valid("query").by === "agent" });
    const families = serviceFamilies(totals, {
      version: VERSION,
      environment: core.environment,
      database: core.store.kind,
      runsInProgress: core.liveRuns.size,
      waitingWrites: core.store.waitingWrites,
      channels: core.channels.list.map(({ name }) => name),
    });
    return c.body(renderFamilies(families), 200, { "content-type": EXPOSITION_TYPE }) as never;
  });
}
