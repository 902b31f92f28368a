import { draftStatement, findStatement, issueStatement } from "../../bills/statements/mod.ts";
import { CostStatement, statementFields } from "../../contract/statements.ts";
import type { Core } from "../../service/mod.ts";
import { createRoute, z } from "../create_route.ts";
import { wholeNumber } from "../pagination.ts";
import { BODY_CODES, problems } from "../problem_responses.ts";
import { asAuthor } from "../middleware/principal.ts";
import { json, jsonBody } from "../route_parts.ts";
import { createRouter } from "../router.ts";

const MAX_VERSION = 100_000;

const show = createRoute({
  method: "get",
  path: "/statements",
  scopes: ["read"],
  operationId: "getStatement",
  summary: "Read the statement of a month by a tag",
  description:
    "A draft of its present state, or with `version` one that was issued. Months are those of the server's time zone. A key of one agent has none: " +
    "a statement is of all agents.",
  tags: ["costs"],
  request: {
    query: z.strictObject({
      ...statementFields,
      version: wholeNumber({ min: 1, max: MAX_VERSION }).optional().openapi({
        type: "integer",
        format: "int32",
        minimum: 1,
        maximum: MAX_VERSION,
        description: "Of an issued one, with the markup and the rule that it was issued with",
      }),
    }),
  },
  responses: { 200: json(CostStatement, "The statement"), ...problems("invalid", "not_found") },
});

const issue = createRoute({
  method: "post",
  path: "/statements",
  scopes: ["admin"],
  operationId: "issueStatement",
  summary: "Issue the statement of a month by a tag",
  description:
    "Keeps it as the next version, which says what has changed since the one before; if nothing has, that one is returned. What is booked later " +
    "becomes a correction in the statement of a later month.",
  tags: ["costs"],
  request: { body: jsonBody(z.strictObject(statementFields), { month: "2026-10", by: "team", markup: "5" }) },
  responses: { 200: json(CostStatement, "The statement"), ...problems("invalid", "conflict", ...BODY_CODES) },
});

export function createRoutes(core: Core) {
  return createRouter()
    .openapi(show, async (c) => {
      const { version, ...query } = c.req.valid("query");
      const statement = version === undefined
        ? await draftStatement(core, query)
        : await findStatement(core, { ...query, version });
      return c.json(statement, 200);
    })
    .openapi(issue, async (c) => c.json(await issueStatement(asAuthor(c, core), c.req.valid("json")), 200));
}
