import { PAGE_SIZES } from "../../contract/limits.ts";
import type { Core } from "../../service/mod.ts";
import { PurserError } from "../../kernel/errors.ts";
import { listCosts, priceRows, whatIfNotes } from "../../ledger/mod.ts";
import { isNumberPosition, linkNext, readCursor } from "../cursors.ts";
import { page, pageQuery } from "../pagination.ts";
import { scopeOf, scopeQuery, spanQuery } from "../cost_query.ts";
import { createRoute, problems, z } from "../create_route.ts";
import { createRouter } from "../router.ts";
import { CostGroup, WhatIf } from "../../contract/costs.ts";

const whatIf = createRoute({
  method: "get",
  path: "/costs/what-if",
  scopes: ["read"],
  agentCheck: "handler",
  operationId: "estimateCosts",
  summary: "Sum spend, and what the same usage would cost on another model",
  description: "Computed from totals of tokens, not from calls; `notes` says what that leaves out.",
  tags: ["costs"],
  request: {
    query: z.strictObject({
      model: z.string().openapi({ description: "`provider:model`", example: "openai:gpt-5-mini" }),
      group_by: CostGroup.default("model"),
      ...spanQuery,
      agent_id: scopeQuery.agent_id,
      tag: scopeQuery.tag,
      ...pageQuery(PAGE_SIZES.costs),
    }),
  },
  responses: { 200: page(WhatIf, "One row per group"), ...problems("invalid") },
});

export function createRoutes(core: Core) {
  return createRouter().openapi(whatIf, async (c) => {
    const { model, group_by, limit, cursor, ...query } = c.req.valid("query");
    const scope = scopeOf(c, query);
    const rates = await findRates(core, model);
    const offset = readCursor(cursor, isNumberPosition) ?? 0;
    const filter = { ...scope, groupBy: group_by, limit, offset };
    const rows = await listCosts(core.store, filter);
    if (rows.length === limit) linkNext(c, offset + limit);
    return c.json({
      model,
      price_source: rates.source,
      rows: priceRows(rows, rates),
      notes: whatIfNotes(rows, rates),
    }, 200);
  });
}

async function findRates({ prices, clock }: Core, name: string) {
  await prices.ready();
  const [, provider, model] = /^([^:]+):(.+)$/s.exec(name) ?? [];
  if (!provider || !model) {
    throw new PurserError(
      "invalid",
      `Cannot price the model ${name}: write its provider too, as in openai:gpt-5-mini`,
    );
  }
  const rates = prices.rates({ provider, model, at: clock.now() });
  if (rates) return rates;
  throw new PurserError(
    "invalid",
    `Cannot price the model ${name}: no price is known for it; add one to "prices" in the config`,
  );
}
