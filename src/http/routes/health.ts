import type { Core } from "../../service/mod.ts";
import { VERSION } from "../../kernel/version.ts";
import { checkWritable } from "../../store/mod.ts";
import { createRoute } from "../create_route.ts";
import { problems } from "../problem_responses.ts";
import { json } from "../route_parts.ts";
import { createRouter } from "../router.ts";
import { Health } from "../../contract/service.ts";

const healthz = createRoute({
  method: "get",
  path: "/healthz",
  scopes: "open",
  operationId: "getHealth",
  summary: "Check that the process is alive",
  tags: ["service"],
  responses: { 200: json(Health, "Alive"), ...problems() },
});

const readyz = createRoute({
  method: "get",
  path: "/readyz",
  scopes: "open",
  operationId: "getReadiness",
  summary: "Check that the service is ready: the database takes a write",
  tags: ["service"],
  responses: { 200: json(Health, "Ready"), ...problems() },
});

export function createRoutes(core: Core) {
  const { environment, timeZone: time_zone, weekStart: week_start, monthStartDay: month_start_day } = core;
  const health = {
    status: "ok" as const,
    version: VERSION,
    environment,
    time_zone,
    week_start,
    month_start_day,
  };
  return createRouter()
    .openapi(healthz, (c) => c.json(health, 200))
    .openapi(readyz, async (c) => {
      await checkWritable(core.store);
      return c.json(health, 200);
    });
}
