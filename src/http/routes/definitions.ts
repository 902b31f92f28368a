import { Applied, ApplyBody } from "../../contract/definitions/definitions.ts";
import { headers } from "../../contract/headers.ts";
import { applyDefinitions } from "../../service/definitions/mod.ts";
import type { Core } from "../../service/mod.ts";
import { createRoute } from "../create_route.ts";
import { asAuthor } from "../middleware/principal.ts";
import { BODY_CODES, problems } from "../problem_responses.ts";
import { json, jsonBody } from "../route_parts.ts";
import { createRouter } from "../router.ts";

const apply = createRoute({
  needsKey: true,
  method: "post",
  path: "/apply",
  scopes: ["admin"],
  operationId: "applyDefinitions",
  summary: "Change budgets, rules, keys, agents and prices as a file defines them",
  description:
    "All of it, or nothing. Definitions are identified by their names; a field that is left out has its default. Sent again, " +
    "it changes nothing. What the file doesn't name stays, unless `prune` removes it.",
  tags: ["service"],
  request: {
    body: jsonBody(ApplyBody, {
      label: "team.json",
      dry_run: true,
      keys: [{ name: "anna", scopes: ["call"] }],
      budgets: [{ name: "Anna", limit_usd: 200, per: "month", key_id: "anna" }],
    }),
  },
  responses: {
    200: { ...json(Applied, "The changes"), headers: headers("Cache-Control") },
    ...problems("invalid", "conflict", ...BODY_CODES),
  },
});

export function createRoutes(core: Core) {
  return createRouter().openapi(
    apply,
    async (c) => c.json(await applyDefinitions(asAuthor(c, core), c.req.valid("json")), 200),
  );
}
