import type { Context } from "hono";
import { matchedRoutes } from "hono/route";
import type { Core } from "../../service/mod.ts";
import { PurserError } from "../../kernel/errors.ts";
import { allows, checkPresentSecret, type Principal } from "../../keys/mod.ts";
import { outOfReach, viewerOfRequest } from "./agent_reach.ts";
import { PERMISSION, type Permission } from "./permission.ts";
import { type ApiEnv, principalOf } from "./principal.ts";
import type { Router } from "../router.ts";
import type { OpenAPIHono, RouteConfig } from "@hono/zod-openapi";

/** Returns the permissions of the routes that some routers define, by method and path. */
export function permissionsOf(
  ...routers: readonly Pick<OpenAPIHono, "openAPIRegistry">[]
): Map<string, Permission> {
  const permissions = new Map<string, Permission>();
  for (const definition of routers.flatMap(({ openAPIRegistry }) => openAPIRegistry.definitions)) {
    if (definition.type !== "route") continue;
    const route: RouteConfig & { [PERMISSION]?: Permission } = definition.route;
    const permission = route[PERMISSION];
    if (permission) permissions.set(`${route.method.toUpperCase()} ${route.path}`, permission);
  }
  return permissions;
}

/**
 * Adds the check of permissions, to be mounted before the routes that it is for. The app's own router matches the paths,
 * so that the route that is checked is the one that answers. A route without a permission answers no key.
 */
export function authorizeRoutes(
  app: Router,
  core: Pick<Core, "store">,
  permissions: ReadonlyMap<string, Permission>,
): void {
  for (const [route, permission] of permissions) {
    const [method, path] = route.split(" ") as [string, string];
    app.on(method, path.replaceAll(/\{(\w+)\}/g, ":$1"), async (c, next) => {
      const principal = principalOf(c);
      // The first route that matches is the one that answers: `/budgets/check` is not `/budgets/{budget_id}`.
      if (principal && !c.get("isAuthorized")) {
        checkScope(principal, permission, route);
        if (permission.needsKey) {
          checkKeyItself(principal, route);
          checkPresentSecret(principal, route);
        }
        await checkAgent(c, core, permission, route);
        c.set("isAuthorized", true);
      }
      await next();
    });
  }
  app.use(async (c, next) => {
    const isUnchecked = principalOf(c) && !c.get("isAuthorized");
    if (isUnchecked && matchedRoutes(c).some(({ method }) => method !== "ALL")) {
      throw new PurserError("forbidden", `Cannot ${c.req.method} ${c.req.path}: no API key may do that`);
    }
    await next();
  });
}

function checkScope({ keyId, scopes }: Principal, permission: Permission, route: string): void {
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

/**
 * Refuses what a session of the dashboard may not do by itself, since whoever has stolen it could make themselves a key, or raise
 * the limits of one. The page asks for the key, and sends the request again with it; `details.step_up` says what is needed.
 */
export function checkKeyItself({ webSession }: Principal, what: string): void {
  if (webSession === undefined) return;
  throw new PurserError(
    "forbidden",
    `Cannot ${what} by the session of the dashboard: enter the API key again, and send it with the request`,
    { details: { step_up: "api_key" } },
  );
}

async function checkAgent(
  c: Context<ApiEnv>,
  core: Pick<Core, "store">,
  { scopes, agentCheck }: Permission,
  route: string,
): Promise<void> {
  const { agentId: only } = viewerOfRequest(c);
  if (only === undefined || scopes === "open" || agentCheck === "handler") return;
  if (agentCheck === undefined) {
    throw new PurserError(
      "forbidden",
      `Cannot ${route}: it is about all agents, and this API key is for agent ${only} only`,
      { details: { agent_id: only } },
    );
  }
  const id = c.req.param(agentCheck)!;
  if (agentCheck === "agent_id") {
    if (id !== only) throw outOfReach(`agent ${id}`, only);
    return;
  }
  const { findRunOwner, findSessionOwner } = await import("../../sessions/mod.ts");
  const owner = agentCheck === "session_id" ? await findSessionOwner(core, id) : await findRunOwner(core, id);
  if (owner === only) return;
  // The same answer for an id that does not exist: this key may not learn what other agents have.
  const kind = agentCheck === "session_id" ? "session" : "run";
  throw new PurserError(
    "not_found",
    `Cannot find ${kind} ${id} among those of agent ${only}, the only one of this API key`,
  );
}
