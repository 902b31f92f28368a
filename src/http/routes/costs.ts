import { PAGE_SIZES } from "../../contract/limits.ts";
import type { Core } from "../../service/mod.ts";
import { PurserError } from "../../kernel/errors.ts";
import { explainCall, listCosts } from "../../ledger/mod.ts";
import { narrowToAgent, onlyAgentOf } from "../middleware/principal.ts";
import { createRoute, json, problems, z } from "../create_route.ts";
import { isNumberPosition, linkNext, readCursor } from "../cursors.ts";
import { page, pageQuery } from "../pagination.ts";
import { createRouter } from "../router.ts";
import { AgentId, CallId, QueryTime } from "../../contract/parts.ts";
import { CostRow, Grouping } from "../../contract/costs.ts";
import { ExplainedCall } from "../../contract/explained_calls.ts";

const list = createRoute({
  method: "get",
  path: "/costs",
  scopes: ["read"],
  agentCheck: "handler",
  operationId: "listCosts",
  summary: "Sum spend by group",
  description:
    "Agents and models by cost, the highest first; the others latest first. Calls without a known price count " +
    "as zero in `cost_usd` and are counted in `unpriced_calls`.",
  tags: ["costs"],
  request: {
    query: z.strictObject({
      group_by: Grouping.default("agent"),
      from: QueryTime.optional().openapi({ description: "Inclusive; a date, or a time with its zone" }),
      to: QueryTime.optional().openapi({ description: "Exclusive; a date, or a time with its zone" }),
      agent_id: AgentId.optional(),
      model: z.string().optional().openapi({ example: "gpt-5-mini" }),
      ...pageQuery(PAGE_SIZES.costs),
    }),
  },
  responses: { 200: page(z.array(CostRow), "One row per group"), ...problems("invalid") },
});

const explain = createRoute({
  method: "get",
  path: "/costs/calls/{call_id}",
  scopes: ["read"],
  agentCheck: "handler",
  operationId: "explainCall",
  summary: "Explain the cost of a call",
  description:
    "Tokens by rate, line by line, computed again from the usage and the rate card that the ledger " +
    "keeps, and every adjustment since.",
  tags: ["costs"],
  request: { params: z.object({ call_id: CallId }) },
  responses: { 200: json(ExplainedCall, "The call and its prices"), ...problems("not_found") },
});

export function createRoutes(core: Core) {
  return createRouter()
    .openapi(
      explain,
      async (c) => c.json(await explainCall(core, c.req.valid("param").call_id, onlyAgentOf(c)), 200),
    )
    .openapi(list, async (c) => {
      const { group_by, from, to, agent_id, model, limit, cursor } = c.req.valid("query");
      if (from !== undefined && to !== undefined && from > to) {
        throw new PurserError("invalid", "Cannot sum the costs: from is later than to");
      }
      const offset = readCursor(cursor, isNumberPosition) ?? 0;
      const rows = await listCosts(core.store, {
        groupBy: group_by,
        from,
        to,
        agentId: narrowToAgent(c, agent_id),
        model,
        limit,
        offset,
      });
      if (rows.length === limit) linkNext(c, offset + limit);
      return c.json(rows, 200);
    });
}
