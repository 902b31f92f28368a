import { PAGE_SIZES } from "../../contract/limits.ts";
import type { Core } from "../../service/mod.ts";
import { toIso } from "../../kernel/clock.ts";
import { PurserError } from "../../kernel/errors.ts";
import {
  type CachingGroup,
  type CostScope,
  describeCaching,
  listCosts,
  priceRows,
  whatIfNotes,
} from "../../ledger/mod.ts";
import { isNumberPosition, pageOf, readCursor } from "../cursors.ts";
import { page, pageQuery } from "../pagination.ts";
import { checkGroups, scopeOf, scopeQuery, spanQuery, withGroupNames } from "../cost_query.ts";
import { createRoute, z } from "../create_route.ts";
import { problems } from "../problem_responses.ts";
import { json } from "../route_parts.ts";
import { createRouter } from "../router.ts";
import { CostGroup } from "../../contract/costs.ts";
import { Caching } from "../../contract/costs/caching.ts";
import { WhatIf } from "../../contract/costs/what_if.ts";

/** The model is the other one, whatever the calls were made with. */
const { model: _model, provider: _provider, ...otherFilters } = scopeQuery;

const whatIf = createRoute({
  method: "get",
  path: "/costs/what-if",
  scopes: ["read"],
  agentCheck: "handler",
  operationId: "estimateCosts",
  csvField: "rows",
  summary: "Sum spend, and what the same usage would cost on another model",
  description: "Computed from totals of tokens, not from calls; `notes` says what that leaves out.",
  tags: ["costs"],
  request: {
    query: z.strictObject({
      model: z.string().openapi({ description: "`provider:model`", example: "openai:gpt-6-luna" }),
      group_by: CostGroup.default("model"),
      ...spanQuery,
      ...otherFilters,
      ...pageQuery(PAGE_SIZES.costs),
    }),
  },
  responses: { 200: page(WhatIf, "One row per group"), ...problems("invalid") },
});

const GROUPS = ["model", "agent", "provider"] as const satisfies CachingGroup[];

const caching = createRoute({
  method: "get",
  path: "/costs/caching",
  scopes: ["read"],
  agentCheck: "handler",
  operationId: "estimateCaching",
  csvField: "rows",
  summary: "Sum the tokens of prompt caches, and what they saved",
  description:
    "An estimate from totals of tokens at the present rates of each model, of the thousand pairs of group and model that " +
    "cost the most; `notes` says what that leaves out.",
  tags: ["costs"],
  request: {
    query: z.strictObject({ group_by: z.enum(GROUPS).default("model"), ...spanQuery, ...scopeQuery }),
  },
  responses: { 200: json(Caching, "The groups, and all together"), ...problems("invalid") },
});

async function readCaching(core: Core, scope: CostScope, groupBy: CachingGroup): Promise<Caching> {
  await core.prices.ready();
  const at = core.clock.now();
  const groups = groupBy === "agent" ? { groupBy, splitBy: "model" } as const : { groupBy: "model" } as const;
  const rows = await listCosts(core.store, { ...scope, ...groups, limit: PAGE_SIZES.costs.max, offset: 0 });
  const timeOf = (time: number | undefined) => time === undefined ? null : toIso(time);
  return {
    from: timeOf(scope.from),
    to: timeOf(scope.to),
    ...describeCaching(rows, groupBy, (provider, model) => core.prices.rates({ provider, model, at })),
  };
}

export function createRoutes(core: Core) {
  return createRouter().openapi(caching, async (c) => {
    const { group_by, ...query } = c.req.valid("query");
    return c.json(await readCaching(core, await scopeOf(c, core, query), group_by), 200);
  }).openapi(whatIf, async (c) => {
    const { model, group_by, limit, cursor, ...query } = c.req.valid("query");
    const scope = await scopeOf(c, core, query);
    const rates = await findRates(core, model);
    const offset = readCursor(cursor, isNumberPosition) ?? 0;
    const filter = { ...scope, groupBy: group_by, limit, offset };
    checkGroups(c, filter);
    const read = await withGroupNames(c, core, await listCosts(core.store, filter));
    const rows = pageOf(c, read, (_, count) => offset + count, read.length === limit);
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
      `Cannot price the model ${name}: write its provider too, as in openai:gpt-6-luna`,
    );
  }
  const rates = prices.rates({ provider, model, at: clock.now() });
  if (rates) return rates;
  throw new PurserError(
    "invalid",
    `Cannot price the model ${name}: no price is known for it; set it by purser prices set ${name} --input … --output …`,
  );
}
