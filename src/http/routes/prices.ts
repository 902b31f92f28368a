import { QueryTime } from "../../contract/parts.ts";
import { PriceReport } from "../../contract/prices.ts";
import { PurserError } from "../../kernel/errors.ts";
import { describePrice, describeSources } from "../../pricing/show/mod.ts";
import type { Core } from "../../service/mod.ts";
import { createRoute, z } from "../create_route.ts";
import { problems } from "../problem_responses.ts";
import { json } from "../route_parts.ts";
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

export function createRoutes(core: Core) {
  return createRouter().openapi(get, async (c) => {
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
