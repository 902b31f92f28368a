import type { OpenAPIHono } from "@hono/zod-openapi";
import type { Context } from "hono";
import { matchedRoutes } from "hono/route";
import type { Core } from "../../service/mod.ts";
import { PurserError } from "../../kernel/errors.ts";
import { allows, type Principal } from "../../keys/mod.ts";
import { findRunOwner, findSessionOwner } from "../../sessions/mod.ts";
import { type ApiEnv, outOfReach, principalOf } from "./principal.ts";
import { ROUTE_PERMISSIONS, type RoutePermission } from "../route_permissions.ts";

/**
 * Lets only those through whom the table of permissions names, in front of every route. The app's own router matches
 * the paths, so that what is checked is what is answered. `paths` are those that the app answers at, as `/runs/:run_id`;
 * default: all.
 */
export function authorizeRoutes(
  app: OpenAPIHono<ApiEnv>,
  core: Pick<Core, "store">,
  paths?: readonly string[],
): void {
  for (const [route, permission] of Object.entries(ROUTE_PERMISSIONS)) {
    const [method, documented] = route.split(" ") as [string, string];
    const path = documented.replaceAll(/\{(\w+)\}/g, ":$1");
    if (paths && !paths.includes(path)) continue;
    app.on(method, path, async (c, next) => {
      const principal = principalOf(c);
      if (principal) {
        checkScope(principal, permission, route);
        await checkAgent(c, core, principal, permission, route);
        c.set("isAuthorized", true);
      }
      await next();
    });
  }
  app.use(async (c, next) => {
    const isRoute = matchedRoutes(c).some(({ method }) => method !== "ALL");
    if (isRoute && principalOf(c) && !c.get("isAuthorized")) {
      throw new PurserError("forbidden", `Cannot ${c.req.method} ${c.req.path}: no API key may do that`);
    }
    await next();
  });
}

function checkScope({ keyId, scopes }: Principal, permission: RoutePermission, route: string): void {
  if (permission.scopes === "open" || allows(scopes, permission.scopes)) return;
  if (keyId === null) {
    throw new PurserError(
      "unauthorized",
      "Cannot answer without an API key: send one as Authorization: Bearer psr_…",
    );
  }
  throw new PurserError(
    "forbidden",
    `Cannot ${route}: this API key lacks the scope ${permission.scopes.join(" or ")}; use one that has it`,
    { details: { scopes: permission.scopes } },
  );
}

async function checkAgent(
  c: Context<ApiEnv>,
  core: Pick<Core, "store">,
  { agentId: only }: Principal,
  { scopes, ofOneAgent }: RoutePermission,
  route: string,
): Promise<void> {
  if (only === null || scopes === "open" || ofOneAgent === "handler") return;
  if (ofOneAgent === undefined) {
    throw new PurserError(
      "forbidden",
      `Cannot ${route}: it is about all agents, and this API key is for agent ${only} only`,
      { details: { agent_id: only } },
    );
  }
  const id = c.req.param(ofOneAgent)!;
  if (ofOneAgent === "agent_id") {
    if (id !== only) throw outOfReach(`agent ${id}`, only);
    return;
  }
  const owner = ofOneAgent === "session_id" ? await findSessionOwner(core, id) : await findRunOwner(core, id);
  if (owner === only) return;
  // The same for what is not there: whether another agent has it is not for this key to know.
  const kind = ofOneAgent === "session_id" ? "session" : "run";
  throw new PurserError(
    "not_found",
    `Cannot find ${kind} ${id} among those of agent ${only}, the only one of this API key`,
  );
}
