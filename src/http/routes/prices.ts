import { QueryTime } from "../../contract/parts.ts";
import { PAGE_SIZES } from "../../contract/limits.ts";
import { PriceOverride } from "../../contract/price_override.ts";
import { PriceReport, SetPrice } from "../../contract/prices.ts";
import { PurserError } from "../../kernel/errors.ts";
import { getPrice, listPrices, removePrice, setPrice } from "../../price_rows/mod.ts";
import { describePrice, describeSources } from "../../pricing/show/mod.ts";
import type { Core } from "../../service/mod.ts";
import { createRoute, z } from "../create_route.ts";
import { isNumberPosition, pageOf, readCursor } from "../cursors.ts";
import { headers } from "../../contract/headers.ts";
import { etagBy, IF_MATCH, IF_NONE_MATCH, readPreconditions } from "../middleware/preconditions.ts";
import { asAuthor } from "../middleware/principal.ts";
import { page, pageQuery } from "../pagination.ts";
import { BODY_CODES, problems } from "../problem_responses.ts";
import { json, jsonBody, optionalHeaders } from "../route_parts.ts";
import { createRouter } from "../router.ts";

const get = createRoute({
  method: "get",
  path: "/prices",
  scopes: ["read"],
  operationId: "getPrices",
  summary: "Show where prices come from, and the rates of a model",
  description:
    "The rates are those by which a call at that time is billed: of the config, else of both sources, each rate with the " +
    "one that has it. Of an unknown model, `details.nearest` of the 404 has the known ones with the nearest names.",
  tags: ["costs"],
  request: {
    query: z.strictObject({
      model: z.string().min(1).max(400).optional().openapi({
        description: "`provider:model`, or a bare name where the provider is unambiguous",
        example: "openai:gpt-6-luna",
      }),
      provider: z.string().min(1).max(400).optional().openapi({ description: "The provider of `model`" }),
      at: QueryTime.optional().openapi({ description: "The time of the call; default: now" }),
      service_tier: z.string().min(1).max(100).optional().openapi({
        description: "The service tier of the call",
        example: "flex",
      }),
    }),
  },
  responses: { 200: json(PriceReport, "The sources, and the rates"), ...problems("invalid", "not_found") },
});

const list = createRoute({
  method: "get",
  path: "/prices/rows",
  scopes: ["read"],
  operationId: "listPrices",
  summary: "List the prices that were set, by name",
  description:
    "They apply before those of the config and of the sources: a model with one has none of the config.",
  tags: ["costs"],
  request: { query: z.strictObject(pageQuery(PAGE_SIZES.costs)) },
  responses: { 200: page(z.array(SetPrice), "A page of prices"), ...problems("invalid") },
});

const set = createRoute({
  method: "put",
  path: "/prices/rows",
  scopes: ["admin"],
  operationId: "setPrice",
  summary: "Set the price of a model",
  description:
    "It replaces the price of the same provider, model, `service_tier` and `from` as a whole. Calls are billed by it at once in this " +
    "process, and within a minute in others; those that are booked keep their price until they are repriced.",
  tags: ["costs"],
  request: {
    ...optionalHeaders({ ...IF_MATCH, ...IF_NONE_MATCH }),
    body: jsonBody(PriceOverride, {
      ...{ provider: "openai", model: "gpt-6-luna", from: "2026-11-01" },
      ...{ input_usd_per_million: 0.2, output_usd_per_million: 0.6 },
    }),
  },
  responses: {
    200: { ...json(SetPrice, "The price, which was changed"), headers: headers("ETag") },
    201: { ...json(SetPrice, "The price, which is new"), headers: headers("ETag") },
    ...problems("invalid", "conflict", "precondition_failed", ...BODY_CODES),
  },
});

const params = z.object({ price_id: z.string().openapi({ example: "prc_9f86d081884c7d659a2feaa0c5" }) });

const read = createRoute({
  method: "get",
  path: "/prices/rows/{price_id}",
  scopes: ["read"],
  operationId: "getPrice",
  summary: "Get a price that was set",
  tags: ["costs"],
  request: { params },
  responses: {
    200: { ...json(SetPrice, "The price"), headers: headers("ETag") },
    ...problems("not_found"),
  },
});

const remove = createRoute({
  method: "delete",
  path: "/prices/rows/{price_id}",
  scopes: ["admin"],
  operationId: "removePrice",
  summary: "Remove a price that was set",
  description: "The model has the price of the config, or of the sources, again.",
  tags: ["costs"],
  request: { params, ...optionalHeaders(IF_MATCH) },
  responses: {
    204: { description: "It is removed" },
    ...problems("not_found", "conflict", "precondition_failed", ...BODY_CODES),
  },
});

const etagOfPrice = etagBy(["created_at", ...Object.keys(PriceOverride.shape) as (keyof SetPrice)[]]);

export function createRoutes(core: Core) {
  return createRouter().openapi(list, async (c) => {
    const { limit, cursor } = c.req.valid("query");
    const offset = readCursor(cursor, isNumberPosition) ?? 0;
    const prices = (await listPrices(core)).slice(offset, offset + limit);
    return c.json(pageOf(c, prices, (_, count) => offset + count, prices.length === limit), 200);
  }).openapi(set, async (c) => {
    const check = readPreconditions(c, etagOfPrice);
    const { price, isNew } = await setPrice(asAuthor(c, core), c.req.valid("json"), check);
    c.header("etag", await etagOfPrice(price));
    return isNew ? c.json(price, 201) : c.json(price, 200);
  }).openapi(remove, async (c) => {
    await removePrice(
      asAuthor(c, core),
      c.req.valid("param").price_id,
      readPreconditions(c, etagOfPrice),
    );
    return c.body(null, 204);
  }).openapi(read, async (c) => {
    const price = await getPrice(core, c.req.valid("param").price_id);
    c.header("etag", await etagOfPrice(price));
    return c.json(price, 200);
  }).openapi(get, async (c) => {
    const { model, provider, at = core.clock.now(), service_tier: serviceTier } = c.req.valid("query");
    if (model === undefined && (provider ?? serviceTier) !== undefined) {
      throw new PurserError(
        "invalid",
        "Cannot show prices: provider and service_tier are of a model; give one",
      );
    }
    const prices = await core.prices.inUse();
    const price = model === undefined ? null : describePrice(prices, { model, provider, at, serviceTier });
    return c.json({ sources: describeSources(prices, core.clock.now()), price }, 200);
  });
}
