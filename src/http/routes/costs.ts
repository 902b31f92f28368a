import { calendarWith } from "../../contract/calendars/calendar_input.ts";
import { reportDays } from "../../contract/windows.ts";
import { PAGE_SIZES } from "../../contract/limits.ts";
import type { Core } from "../../service/mod.ts";
import {
  type CostFilter,
  type CostScope,
  forecastCosts,
  keyColumnsOf,
  listCosts,
  listTagKeys,
  MAX_TAGGED_CALLS,
  readCostTotal,
} from "../../ledger/mod.ts";
import { cellOf, toLines } from "../../kernel/csv.ts";
import { acceptsCsv, CSV } from "../middleware/csv.ts";
import { createRoute, z } from "../create_route.ts";
import { problems } from "../problem_responses.ts";
import { json } from "../route_parts.ts";
import { isNumberPosition, pageOf, readCursor } from "../cursors.ts";
import { page, pageQuery } from "../pagination.ts";
import { createRouter } from "../router.ts";
import {
  calendarQuery,
  checkGroups,
  compareQuery,
  monthQuery,
  scopeOf,
  scopeQuery,
  spanQuery,
  withGroupNames,
} from "../cost_query.ts";
import { TagKey } from "../../contract/tags/tag_schemas.ts";
import { CostGroup, CostRow, CostSort, CostSplit, CostSums, CostTotal } from "../../contract/costs.ts";
import { CostForecast } from "../../contract/costs/cost_forecast.ts";
import { withNameField } from "../../contract/costs/dimensions.ts";

const list = createRoute({
  method: "get",
  path: "/costs",
  scopes: ["read"],
  agentCheck: "handler",
  operationId: "listCosts",
  summary: "Sum spend by group",
  description:
    "Agents, models and providers by cost, the highest first; the others latest first, unless `sort` is `cost`. " +
    "Calls without a known price count as zero in `cost_usd` and are counted in `unpriced_calls`. " +
    "With `Accept: text/csv` the same rows as CSV with a header.",
  tags: ["costs"],
  request: {
    query: z.strictObject({
      group_by: CostGroup.default("agent").openapi({
        description:
          "Or a tag, such as `tag:customer`: one row for each of its values, and one for the calls without it",
      }),
      split_by: CostSplit.optional().openapi({
        description:
          "A second level of groups: one row for each pair. Not of sessions and runs; one tag in all",
      }),
      sort: CostSort.optional().openapi({
        description: "`time` is for groups that have one: sessions, runs, hours, days, weeks and months",
      }),
      ...spanQuery,
      ...compareQuery,
      ...scopeQuery,
      ...calendarQuery,
      ...pageQuery(PAGE_SIZES.costs),
    }),
  },
  responses: {
    200: page(z.array(CostRow), "One row per group"),
    ...problems("invalid"),
  },
});

const total = createRoute({
  method: "get",
  path: "/costs/total",
  scopes: ["read"],
  agentCheck: "handler",
  operationId: "getCostTotal",
  summary: "Sum spend",
  description: "The exact sum of all calls that match, also of those without a session or run.",
  tags: ["costs"],
  request: { query: z.strictObject({ ...spanQuery, ...compareQuery, ...scopeQuery }) },
  responses: { 200: json(CostTotal, "The sums"), ...problems("invalid") },
});

const forecast = createRoute({
  method: "get",
  path: "/costs/forecast",
  scopes: ["read"],
  agentCheck: "handler",
  operationId: "forecastCosts",
  summary: "Estimate the spend of the current month",
  description: "The spend of the month of the time zone so far, and to its end at the pace so far.",
  tags: ["costs"],
  request: { query: z.strictObject({ ...scopeQuery, ...monthQuery }) },
  responses: { 200: json(CostForecast, "The estimate"), ...problems("invalid") },
});

const tagKeys = createRoute({
  method: "get",
  path: "/costs/tag-keys",
  scopes: ["read"],
  agentCheck: "handler",
  operationId: "listCostTagKeys",
  summary: "List the keys of the tags that calls have",
  description:
    `By name; those of the newest ${MAX_TAGGED_CALLS} calls with tags that match. Each is a group of \`GET /costs\`, such ` +
    "as `tag:customer`. A key of one agent sees those of its agent.",
  tags: ["costs"],
  request: { query: z.strictObject({ ...spanQuery, ...scopeQuery, ...pageQuery(PAGE_SIZES.costs) }) },
  responses: { 200: page(z.array(TagKey), "A page of keys"), ...problems("invalid") },
});

export function createRoutes(core: Core) {
  return createRouter()
    .openapi(
      total,
      async (c) => c.json(await readCostTotal(core.store, await scopeOf(c, core, c.req.valid("query"))), 200),
    )
    .openapi(tagKeys, async (c) => {
      const { limit, cursor, ...query } = c.req.valid("query");
      const offset = readCursor(cursor, isNumberPosition) ?? 0;
      const keys = await listTagKeys(core.store, await scopeOf(c, core, query), { limit, offset });
      return c.json(pageOf(c, keys, (_, count) => offset + count, keys.length === limit), 200);
    })
    .openapi(forecast, async (c) => {
      const query = c.req.valid("query");
      const scope = await scopeOf(c, core, query);
      return c.json(await forecastCosts(core.store, scope, core.clock.now(), calendarWith(query, core)), 200);
    })
    .openapi(list, async (c) => {
      const { group_by, split_by, sort, limit, cursor, ...query } = c.req.valid("query");
      const scope = await scopeOf(c, core, query);
      const offset = readCursor(cursor, isNumberPosition) ?? 0;
      const days = reportDays(calendarWith(query, core), scope.from ?? 0, scope.to ?? core.clock.now());
      const filter: CostFilter = {
        ...scope,
        groupBy: group_by,
        splitBy: split_by,
        sort,
        days,
        limit,
        offset,
      };
      checkGroups(c, filter);
      const read = await withGroupNames(c, core, await listCosts(core.store, filter));
      const rows = pageOf(c, read, (_, count) => offset + count, read.length === limit);
      if (!acceptsCsv(c.req.header("accept"))) return c.json(rows, 200);
      const csv = toCostCsv(rows, filter, await hasPlanValue(core.store, scope));
      return c.body(csv, 200, { "content-type": `${CSV}; charset=utf-8` }) as never;
    });
}

const SUMS = (Object.keys(CostSums.shape) as (keyof CostSums)[]).filter((name) => name !== "plan_usd");

/** Returns whether calls of a scope have a plan value: all pages of a report have the same columns. */
async function hasPlanValue(store: Core["store"], scope: CostScope): Promise<boolean> {
  const { plan_usd, previous } = await readCostTotal(store, scope);
  return (plan_usd ?? previous?.plan_usd) !== undefined;
}

/**
 * Returns rows of costs as CSV (RFC 4180) with a header: the columns that identify a group, the sums, with `hasPlans` also the plan
 * value, and with a comparison `previous_…` and `difference_usd`. An unknown cost is empty.
 */
export function toCostCsv(rows: readonly CostRow[], filter: CostFilter, hasPlans = false): string {
  const isCompared = filter.compare !== undefined;
  const keys = keyColumnsOf(filter).flatMap(withNameField);
  const sums = [...SUMS, ...hasPlans ? ["plan_usd" as const] : []];
  const cellsOf = (row: CostSums) => sums.map((name) => cellOf(name, { plan_usd: 0, ...row }[name]));
  const header = [
    ...keys,
    ...sums,
    ...isCompared ? [...sums.map((name) => `previous_${name}`), "difference_usd"] : [],
  ];
  const lines = rows.map((row) => [
    ...keys.map((name) => cellOf(name, row[name])),
    ...cellsOf(row),
    ...isCompared ? [...cellsOf(row.previous!), cellOf("difference_usd", row.difference_usd)] : [],
  ]);
  return toLines([header, ...lines]);
}
