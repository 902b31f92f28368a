import type { Context } from "hono";
import { getBudget, listRaises, raiseBudget } from "../../budgets/mod.ts";
import { listReleases, releaseHolds } from "../../budgets/reservations/mod.ts";
import { BudgetId } from "../../contract/budgets/budgets.ts";
import { BudgetRaise, BudgetRaiseBody } from "../../contract/budgets/budget_raises.ts";
import { BudgetRelease, BudgetReleaseBody } from "../../contract/budgets/budget_releases.ts";
import { headers } from "../../contract/headers.ts";
import { PAGE_SIZES } from "../../contract/limits.ts";
import { settleClaim } from "../../keys/idempotency/mod.ts";
import type { Core } from "../../service/mod.ts";
import { createRoute, z } from "../create_route.ts";
import { pageByTime, positionIn } from "../cursors.ts";
import { viewerOfRequest } from "../middleware/agent_reach.ts";
import { checkKeyItself } from "../middleware/authorize.ts";
import { answerOnce, createOnce, fingerprintOf, IDEMPOTENCY_KEY } from "../middleware/idempotency.ts";
import { type ApiEnv, asAuthor, principalOf } from "../middleware/principal.ts";
import { page, pageQuery } from "../pagination.ts";
import { BODY_CODES, problems } from "../problem_responses.ts";
import { json, jsonBody, optionalHeaders } from "../route_parts.ts";
import { createRouter } from "../router.ts";

/* Raises and releases of a budget; `./budgets.ts` mounts them. */

const params = z.object({ budget_id: BudgetId });

const raise = createRoute({
  method: "post",
  path: "/budgets/{budget_id}/raises",
  scopes: ["admin"],
  operationId: "raiseBudget",
  summary: "Raise the limit of a budget for a time",
  description:
    "Raises add up. They are kept with the API key that made them, and can't be changed or taken back.",
  tags: ["budgets"],
  request: {
    params,
    ...optionalHeaders(IDEMPOTENCY_KEY),
    body: jsonBody(BudgetRaiseBody, { extra_usd: 20, reason: "Release" }),
  },
  responses: {
    201: { ...json(BudgetRaise, "The raise"), headers: headers("Location", "Idempotency-Replayed") },
    ...problems("invalid", "not_found", "conflict", "idempotency_mismatch", ...BODY_CODES),
  },
});

const raises = createRoute({
  method: "get",
  path: "/budgets/{budget_id}/raises",
  scopes: ["read"],
  agentCheck: "handler",
  operationId: "listBudgetRaises",
  summary: "List the raises of a budget, also those that have ended",
  tags: ["budgets"],
  request: { params, query: z.strictObject(pageQuery(PAGE_SIZES.raises)) },
  responses: {
    200: page(z.array(BudgetRaise), "Raises, newest first"),
    ...problems("invalid", "not_found"),
  },
});

const release = createRoute({
  method: "post",
  path: "/budgets/{budget_id}/releases",
  scopes: ["admin"],
  operationId: "releaseBudget",
  summary: "Release what a strict budget holds for calls that are not in progress",
  description:
    "For calls that the provider has not billed: see `holds` of the budget. A reservation is released in all budgets that " +
    "count it. A call of it that is booked later counts in full. Releases are kept with the API key that made them.",
  tags: ["budgets"],
  request: {
    params,
    ...optionalHeaders(IDEMPOTENCY_KEY),
    body: jsonBody(BudgetReleaseBody, { reason: "Not on the provider's bill" }),
  },
  responses: {
    201: { ...json(BudgetRelease, "The release"), headers: headers("Location", "Idempotency-Replayed") },
    ...problems("invalid", "not_found", "conflict", "idempotency_mismatch", ...BODY_CODES),
  },
});

const releases = createRoute({
  method: "get",
  path: "/budgets/{budget_id}/releases",
  scopes: ["read"],
  agentCheck: "handler",
  operationId: "listBudgetReleases",
  summary: "List what was released of a strict budget",
  tags: ["budgets"],
  request: { params, query: z.strictObject(pageQuery(PAGE_SIZES.releases)) },
  responses: {
    200: page(z.array(BudgetRelease), "Releases, newest first"),
    ...problems("invalid", "not_found"),
  },
});

/** Refuses a session of the dashboard that would change what keys may spend, by themselves or by the tags that they bear. Throws `not_found`, too. */
export async function checkLimitOfKeys(c: Context<ApiEnv>, core: Core, budgetId: string): Promise<void> {
  const principal = principalOf(c);
  if (principal?.webSession === undefined) return;
  const { key_id, tags, each } = await getBudget(core, budgetId, viewerOfRequest(c));
  if (key_id === null && tags === null && !/^(?:key$|tag:)/.test(each ?? "")) return;
  checkKeyItself(principal, "change the limit of a key");
}

/** Returns the routes of raises and releases. */
export function createRaiseRoutes(core: Core) {
  return createRouter()
    .openapi(raise, async (c) => {
      const { budget_id } = c.req.valid("param");
      await checkLimitOfKeys(c, core, budget_id);
      const body = c.req.valid("json");
      const raise = await answerOnce(
        c,
        core,
        () => fingerprintOf([budget_id, body]),
        (claim) =>
          raiseBudget(asAuthor(c, core), budget_id, body, {
            settle: (raise) =>
              claim
                ? settleClaim(claim, {
                  sql: "SELECT ?1 WHERE EXISTS (SELECT 1 FROM budget_raises WHERE raise_id = ?2)",
                  args: [JSON.stringify(raise), raise.raise_id],
                })
                : [],
          }),
      );
      c.header("location", `/budgets/${budget_id}/raises`);
      return c.json(raise, 201);
    })
    .openapi(raises, async (c) => {
      const { budget_id } = c.req.valid("param");
      const entries = await pageByTime(
        c,
        c.req.valid("query"),
        positionIn("created_at", "raise_id"),
        (before, limit) => listRaises(core, budget_id, { viewer: viewerOfRequest(c), before, limit }),
      );
      return c.json(entries, 200);
    })
    .openapi(release, async (c) => {
      const { budget_id } = c.req.valid("param");
      await checkLimitOfKeys(c, core, budget_id);
      const body = c.req.valid("json");
      const release = await createOnce<BudgetRelease>(
        c,
        core,
        [budget_id, body],
        (settle) => releaseHolds(asAuthor(c, core), budget_id, body, { settle }),
      );
      c.header("location", `/budgets/${budget_id}/releases`);
      return c.json(release, 201);
    })
    .openapi(releases, async (c) => {
      const { budget_id } = c.req.valid("param");
      const entries = await pageByTime(
        c,
        c.req.valid("query"),
        positionIn("created_at", "release_id"),
        (before, limit) => listReleases(core, budget_id, { viewer: viewerOfRequest(c), before, limit }),
      );
      return c.json(entries, 200);
    });
}
