import type { OpenAPIHono } from "@hono/zod-openapi";
import type { Context, MiddlewareHandler } from "hono";
import { getPath } from "hono/utils/url";
import type { UnionToIntersection } from "hono/utils/types";
import { PurserError } from "../kernel/errors.ts";
import type { Core } from "../service/mod.ts";
import type { Telemetry } from "../telemetry/mod.ts";
import { permissionsOf } from "./middleware/authorize.ts";
import { authorizeRoutes } from "./middleware/authorize.ts";
import { REPLAYED } from "./middleware/idempotency.ts";
import type { ApiEnv } from "./middleware/principal.ts";
import { routeOf } from "./middleware/request_log.ts";
import type { errorResponse } from "./middleware/error_response.ts";
import { addUniversalHeaders } from "./middleware/response_headers.ts";
import { keepTexts } from "./middleware/served_body.ts";
import { checkBody } from "./middleware/request_body.ts";
import { ALL_RESOURCES, findResource, type Resource, type RESOURCES, type RouteModule } from "./resources.ts";
import { createRouter, type Router } from "./router.ts";

/** Answers the API's requests in this process. */
export interface FetchHandler {
  fetch(request: Request, env?: ApiEnv["Bindings"]): Response | Promise<Response>;
}

type RoutesOf<One extends (typeof RESOURCES)[number]> = One extends unknown
  ? ReturnType<Awaited<ReturnType<One["load"]>>["createRoutes"]>
  : never;
type SchemaOf<Routes> = Routes extends OpenAPIHono<ApiEnv, infer Schema, "/"> ? Schema : never;

/** The API's type, from which the client's is made. */
export type App = OpenAPIHono<
  ApiEnv,
  UnionToIntersection<SchemaOf<RoutesOf<(typeof RESOURCES)[number]>>>,
  "/"
>;

/** Creates the API over a core: the same for the network, the edge, the CLI in-process and the library. */
export async function createApp(core: Core): Promise<App> {
  const modules = await Promise.all(ALL_RESOURCES.map((resource) => resource.load()));
  const app: Router = mountRoutes(core, modules, () => Promise.resolve(app));
  return app as App;
}

/**
 * Creates the same API, each resource of which is loaded by its first request. For processes that end after a few
 * requests, and for the edge, where each request has an app of its own.
 */
export function createLazyApp(core: Core): FetchHandler {
  const apps = new Map<Resource | undefined, Promise<Router>>();

  async function load(resource: Resource | undefined): Promise<Router> {
    const modules = resource ? [await resource.load()] : [];
    return mountRoutes(core, modules, () => createApp(core));
  }

  return {
    async fetch(request, env) {
      const resource = findResource(getPath(request));
      let loading = apps.get(resource);
      if (!loading) apps.set(resource, loading = load(resource));
      let app: Router;
      try {
        app = await loading;
      } catch (error) {
        apps.delete(resource); // the next request tries again
        return failed(core, request, error, env?.logged ?? { id: core.ids.next("req") });
      }
      return await app.fetch(request, env);
    },
  };
}

/** Returns the response to a request that has failed. The search for credentials in its text is loaded by the first failure. */
async function failed(...args: Parameters<typeof errorResponse>): Promise<Response> {
  const { errorResponse } = await import("./middleware/error_response.ts");
  return await errorResponse(...args);
}

/** Mounts routes behind the middleware of the API. */
function mountRoutes(
  core: Core,
  modules: readonly RouteModule[],
  wholeApp: () => Promise<Router>,
): Router {
  const routers = modules.map((module) => module.createRoutes(core, wholeApp));
  const streamed = modules.flatMap((module) => module.createStreamedRoutes?.(core) ?? []);
  const app = createRouter();
  app.onError((error, c) => {
    const line = c.env?.logged ?? { id: core.ids.next("req") };
    return failed(core, c.req.raw, error, line, c.get("isReplayed") && { [REPLAYED]: "true" });
  });
  app.notFound((c) => {
    const { error, headers } = explainUnknownRoute(app, c);
    return failed(core, c.req.raw, error, c.env?.logged ?? { id: "" }, headers);
  });
  app.use(addUniversalHeaders, keepTexts, nameRequests(core.telemetry));
  const permissions = permissionsOf(...streamed, ...routers);
  for (const module of modules) {
    for (const [route, permission] of module.permissions ?? []) permissions.set(route, permission);
  }
  authorizeRoutes(app, core, permissions);
  for (const router of streamed) app.route("/", router);
  app.use(checkBody(core));
  for (const router of routers) app.route("/", router);
  return app;
}

/** Names a request, in the log and as the server's span, by its route, such as `/agents/{agent_id}`, not by its path. */
function nameRequests(telemetry: Telemetry): MiddlewareHandler<ApiEnv> {
  return (c, next) => {
    const logged = c.env?.logged;
    if (telemetry.isOn || logged) {
      const route = routeOf(c);
      if (route !== undefined) telemetry.nameRequest(c.req.raw, route);
      if (logged) logged.route = route ?? null;
    }
    return next();
  };
}

/** Explains why no route matched: there is none at the path, or none for the method, in which case `Allow` lists them. */
function explainUnknownRoute(
  app: Pick<Router, "routes">,
  { req: { method, path } }: Context,
): { error: PurserError; headers?: Record<string, string> } {
  const routes = app.routes.filter((route) => route.method !== "ALL");
  const exact = routes.filter((route) => route.path === path);
  const methods = (exact.length > 0 ? exact : routes.filter((route) => isAt(route.path, path)))
    .map((route) => route.method);
  if (methods.length === 0) {
    return { error: new PurserError("not_found", `Cannot find ${method} ${path}: see /docs for the routes`) };
  }
  const allow = [...new Set(methods)].sort().join(", ");
  return {
    error: new PurserError("method_not_allowed", `Cannot ${method} ${path}: it takes ${allow}`),
    headers: { allow },
  };
}

/** Returns whether a pattern such as `/runs/:run_id` matches a path. */
function isAt(pattern: string, path: string): boolean {
  const wanted = pattern.split("/");
  const given = path.split("/");
  return wanted.length === given.length &&
    wanted.every((part, i) => part.startsWith(":") ? given[i] !== "" : part === given[i]);
}
