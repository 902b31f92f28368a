import { ExportedCalls, ExportedCharges } from "../../contract/exports.ts";
import { DEFAULT_FOCUS_VERSION, FOCUS_VERSIONS } from "../../contract/values.ts";
import { PAGE_SIZES } from "../../contract/limits.ts";
import { QueryTime } from "../../contract/parts.ts";
import { readCalls, readCharges } from "../../bills/exports/mod.ts";
import { invalidField } from "../../kernel/errors.ts";
import type { Core } from "../../service/mod.ts";
import { createRoute, z } from "../create_route.ts";
import { onlyAgentOf, viewerOfRequest } from "../middleware/agent_reach.ts";
import { afterQuery, limitQuery } from "../pagination.ts";
import { problems } from "../problem_responses.ts";
import { json } from "../route_parts.ts";
import { createRouter } from "../router.ts";

const calls = createRoute({
  method: "get",
  path: "/exports/calls",
  scopes: ["read"],
  agentCheck: "handler",
  isLarge: true,
  operationId: "exportCalls",
  summary: "Read the entries of the ledger by position, for an archive",
  description:
    "Calls, and the entries that adjust them, as they were booked: their sums are those of `GET /costs/total`. An entry never changes, " +
    "so that pages of different times fit together. A key of one agent gets those of its agent.",
  tags: ["costs"],
  request: {
    query: z.strictObject({
      after: afterQuery("The last `next_position` received").default(0),
      limit: limitQuery(PAGE_SIZES.exportedRows),
    }),
  },
  responses: { 200: json(ExportedCalls, "A page of entries"), ...problems("invalid") },
});

const focus = createRoute({
  method: "get",
  path: "/exports/focus",
  scopes: ["read"],
  agentCheck: "handler",
  isLarge: true,
  operationId: "exportCharges",
  summary: "Read the calls as charges of FOCUS",
  description:
    "The dataset Cost and Usage of FOCUS, the FinOps Open Cost and Usage Specification: a row per hour, SKU, API key, agent and tags, and the " +
    "lines of bills that are no calls. A page has at least `limit` rows, unless it is the last one.",
  tags: ["costs"],
  request: {
    query: z.strictObject({
      version: z.enum(FOCUS_VERSIONS).optional().openapi({
        description: "The version of FOCUS; 1.4 if not given",
      }),
      from: QueryTime.openapi({ description: "Inclusive; a date in UTC, or a time with its zone" }),
      to: QueryTime.openapi({ description: "Exclusive; a date in UTC, or a time with its zone" }),
      per_call: z.enum(["true", "false"]).optional().openapi({
        description: "Rows for each call, with its ids",
      }),
      limit: limitQuery(PAGE_SIZES.exportedRows),
      cursor: z.string().max(40).optional().openapi({ description: "`next_cursor` of the page before" }),
    }),
  },
  responses: { 200: json(ExportedCharges, "A page of charges"), ...problems("invalid") },
});

export function createRoutes(core: Core) {
  return createRouter()
    .openapi(calls, async (c) => {
      const page = await readCalls(core, { ...c.req.valid("query"), agentId: onlyAgentOf(c) });
      return c.json(page, 200);
    })
    .openapi(focus, async (c) => {
      const { version = DEFAULT_FOCUS_VERSION, per_call, ...query } = c.req.valid("query");
      if (query.from > query.to) throw invalidField("from", "it is later than to");
      const viewer = viewerOfRequest(c);
      return c.json(
        await readCharges(core, { ...query, version, perCall: per_call === "true", viewer }),
        200,
      );
    });
}
