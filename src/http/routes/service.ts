import { DoctorCheck } from "../../contract/service.ts";
import { examineService } from "../../service/doctor/mod.ts";
import type { Core } from "../../service/mod.ts";
import {
  budgetFamilies,
  EXPOSITION_TYPE,
  readMeasuredBudgets,
  readTotals,
  renderFamilies,
  serviceFamilies,
} from "../../service/metrics/mod.ts";
import { createRoute, z } from "../create_route.ts";
import { problems } from "../problem_responses.ts";
import { json } from "../route_parts.ts";
import { createRouter } from "../router.ts";

const metrics = createRoute({
  method: "get",
  path: "/metrics",
  scopes: ["read"],
  isLarge: true,
  operationId: "getMetrics",
  summary: "Get metrics of spend, tokens, budgets, runs, alerts and deliveries for Prometheus",
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

const doctor = createRoute({
  method: "get",
  path: "/doctor",
  scopes: ["read"],
  operationId: "examineService",
  summary: "Diagnose the service: each check's status, and what to do",
  description:
    "Checks the config, the database and its clock, each channel's settings, the budgets, the alert rules, the keys of models and " +
    "of this API, the prices, and the outbox. Sends nothing and calls no model. The status is 200 whatever was found.",
  tags: ["service"],
  responses: { 200: json(z.array(DoctorCheck), "One entry per check"), ...problems() },
});

export function createRoutes(core: Core) {
  return createRouter()
    .openapi(metrics, async (c) => {
      const totals = await readTotals(core.store, { byAgent: c.req.valid("query").by === "agent" });
      const budgets = budgetFamilies(await readMeasuredBudgets(core));
      const families = serviceFamilies(await core.whole(), totals);
      return c.body(renderFamilies([...families, ...budgets]), 200, {
        "content-type": EXPOSITION_TYPE,
      }) as never;
    })
    .openapi(doctor, async (c) => c.json(await examineService(await core.whole()), 200));
}
