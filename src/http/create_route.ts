import { createRoute as createAnyRoute, type RouteConfig, z } from "@hono/zod-openapi";
import type { MiddlewareHandler } from "hono";
import { STATUS } from "../kernel/errors.ts";
import { problems } from "./problem_responses.ts";
import type { Tag } from "./openapi/document.ts";
import { CSV, csvOf, entriesOf } from "./middleware/csv.ts";
import { type ApiEnv, leaseOf } from "./middleware/principal.ts";
import { PERMISSION, type Permission, SECURITY_SCHEME } from "./middleware/permission.ts";

/** The fields that every operation of the API has. */
interface Operation extends Permission {
  /** The operation's name in generated clients: a verb and a noun. It never changes. */
  operationId: string;
  summary: string;
  tags: [Tag];
  /** The field of a response that is an object whose list is its CSV; a response that is a list is CSV anyway. */
  csvField?: string;
  /** One entry of a response may have megabytes: few are made at a time, and none while too many wait to be read. */
  isLarge?: true;
}

/**
 * Returns a route's definition. It is complete: the permission, every parameter, every status (`problems()` for those
 * that are errors) and every response header (`headers()`).
 */
export const createRoute: <
  Path extends string,
  Route extends Omit<RouteConfig, "path"> & { path: Path } & Operation,
>(route: Route) => ReturnType<typeof createAnyRoute<Path, Route>> = (
  { scopes, agentCheck, needsKey, csvField, isLarge, ...route },
) => {
  const permission: Permission = { scopes, agentCheck, needsKey };
  const checked = ignoresQuery(route) ? route : refusingQuery(route);
  const responses: RouteConfig["responses"] = { ...checked.responses };
  const entries = route.method === "get"
    ? entriesOf(contentOf(responses[200])["application/json"]?.schema, csvField)
    : undefined;
  if (entries) {
    // The typed client reads JSON; the document has both.
    const ok = responses[200]!;
    responses[200] = { ...ok, content: { ...contentOf(ok), [CSV]: { schema: z.string() } } };
  }
  if (scopes === "open") delete responses[STATUS.unauthorized];
  const security = scopes === "open" ? [] : scopes.map((scope) => ({ [SECURITY_SCHEME]: [scope] }));
  const middleware = [...(isLarge ? [waitForRoom] : []), ...(entries ? [csvOf(entries, csvField)] : [])];
  return createAnyRoute({
    ...checked,
    ...(middleware.length > 0 && { middleware }),
    responses,
    security,
    [PERMISSION]: permission,
  }) as never;
};

/** Waits for the memory that a large answer needs. Throws `rate_limited` or `unavailable` where there is none. */
const waitForRoom: MiddlewareHandler<ApiEnv> = async (c, next) => {
  await leaseOf(c)?.answer?.enter();
  await next();
};

type Content = Record<string, { schema?: unknown }>;

const contentOf = (response: unknown): Content =>
  (response as { content?: Content } | undefined)?.content ?? {};

type RouteFields = Pick<RouteConfig, "request" | "responses"> & Pick<Operation, "tags">;

/** Probes and browsers may add a query of their own to the address of a service route. */
function ignoresQuery({ tags, request }: RouteFields): boolean {
  return request?.query !== undefined || tags[0] === "service";
}

/** A filter that is silently ignored would return more than was requested. */
function refusingQuery<Route extends RouteFields>(route: Route): Route {
  const responses = { ...route.responses, ...problems("invalid") };
  return { ...route, request: { ...route.request, query: z.strictObject({}) }, responses };
}

export { z };
