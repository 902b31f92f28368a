import { DoctorCheck } from "../../contract/service.ts";
import { examineService } from "../../service/doctor/mod.ts";
import type { Core } from "../../service/mod.ts";
import { createRoute, json, problems, z } from "../create_route.ts";
import { createRouter } from "../router.ts";

const route = createRoute({
  method: "get",
  path: "/doctor",
  scopes: ["read"],
  operationId: "examineService",
  summary: "Diagnose the service: each check's status, and what to do",
  description:
    "Checks the config, the database and its clock, each channel's settings, the alert rules, the keys of models and " +
    "of this API, the prices, and the outbox. Sends nothing and calls no model. The status is 200 whatever was found.",
  tags: ["service"],
  responses: { 200: json(z.array(DoctorCheck), "One entry per check"), ...problems() },
});

export function createRoutes(core: Core) {
  return createRouter().openapi(route, async (c) => c.json(await examineService(core), 200));
}
