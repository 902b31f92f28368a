import { PAGE_SIZES } from "../../contract/limits.ts";
import type { Core } from "../../service/mod.ts";
import {
  applyRepricing,
  continueRepricing,
  getRepricing,
  listRepricings,
  planRepricing,
  undoRepricing,
} from "../../calls/repricing/mod.ts";
import { createRoute, z } from "../create_route.ts";
import { BODY_CODES, problems } from "../problem_responses.ts";
import { json, jsonBody } from "../route_parts.ts";
import { isNumberPosition, pageOf, readCursor } from "../cursors.ts";
import { page, pageQuery } from "../pagination.ts";
import { createRouter } from "../router.ts";
import { asAuthor } from "../middleware/principal.ts";
import { Repricing, RepricingBody, RepricingId } from "../../contract/repricings.ts";

const params = z.object({ repricing_id: RepricingId });

const create = createRoute({
  method: "post",
  path: "/repricings",
  scopes: ["admin"],
  operationId: "repriceCalls",
  summary: "Price booked calls again by today's prices",
  description:
    "Each call is priced at its own time, and the difference from what it costs so far is booked as an adjustment; " +
    "no row is changed. Without `apply`, or where no cost would change, nothing is booked. A call that has no known price today keeps its cost, and " +
    "so does one whose cost was reported or stated by the provider. An answer with the status `applying` took too " +
    "long for one request, and is continued by the next, or by `POST /repricings/{repricing_id}/apply`.",
  tags: ["costs"],
  request: { body: jsonBody(RepricingBody, { unpriced: true, apply: false }) },
  responses: {
    200: json(Repricing, "What has changed, or would change"),
    ...problems("invalid", "conflict", ...BODY_CODES),
  },
});

const list = createRoute({
  method: "get",
  path: "/repricings",
  scopes: ["admin"],
  isLarge: true,
  operationId: "listRepricings",
  summary: "List repricings, newest first",
  tags: ["costs"],
  request: { query: z.strictObject(pageQuery(PAGE_SIZES.repricings)) },
  responses: { 200: page(z.array(Repricing), "A page of repricings"), ...problems("invalid") },
});

const get = createRoute({
  method: "get",
  path: "/repricings/{repricing_id}",
  scopes: ["admin"],
  operationId: "getRepricing",
  summary: "Get a repricing",
  tags: ["costs"],
  request: { params },
  responses: { 200: json(Repricing, "The repricing"), ...problems("not_found") },
});

const apply = createRoute({
  method: "post",
  path: "/repricings/{repricing_id}/apply",
  scopes: ["admin"],
  operationId: "applyRepricing",
  summary: "Continue a repricing that was interrupted",
  tags: ["costs"],
  request: { params },
  responses: { 200: json(Repricing, "The repricing"), ...problems("not_found", "conflict", ...BODY_CODES) },
});

const undo = createRoute({
  method: "post",
  path: "/repricings/{repricing_id}/undo",
  scopes: ["admin"],
  operationId: "undoRepricing",
  summary: "Undo a repricing",
  description: "Books the opposite of each of its adjustments, once. Later repricings must be undone first.",
  tags: ["costs"],
  request: { params },
  responses: { 200: json(Repricing, "The repricing"), ...problems("not_found", "conflict", ...BODY_CODES) },
});

export function createRoutes(core: Core) {
  return createRouter()
    .openapi(create, async (c) => {
      const { apply, ...filter } = c.req.valid("json");
      const whole = asAuthor(c, await core.whole());
      return c.json(await (apply ? applyRepricing : planRepricing)(whole, filter), 200);
    })
    .openapi(list, async (c) => {
      const { limit, cursor } = c.req.valid("query");
      const before = readCursor(cursor, isNumberPosition);
      const { rows, positions, hasMore } = await listRepricings(core, { limit, before });
      return c.json(pageOf(c, rows, (_, count) => positions[count - 1]!, hasMore), 200);
    })
    .openapi(get, async (c) => c.json(await getRepricing(core, c.req.valid("param").repricing_id), 200))
    .openapi(
      apply,
      async (c) =>
        c.json(await continueRepricing(await core.whole(), c.req.valid("param").repricing_id), 200),
    )
    .openapi(
      undo,
      async (c) =>
        c.json(
          await undoRepricing(asAuthor(c, await core.whole()), c.req.valid("param").repricing_id),
          200,
        ),
    );
}
