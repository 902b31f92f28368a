import { createRoute as createAnyRoute, type RouteConfig, z } from "@hono/zod-openapi";
import type { ZodType } from "zod";
import { type ErrorCode, STATUS } from "../kernel/errors.ts";
import { headers } from "../contract/headers.ts";
import { problemOf } from "../contract/problems.ts";
import type { Tag } from "./openapi/tags.ts";
import { PERMISSION, type Permission, SECURITY_SCHEME } from "./permission.ts";

/** The fields that every operation of the API has. */
interface Operation extends Permission {
  /** The operation's name in generated clients: a verb and a noun. It never changes. */
  operationId: string;
  summary: string;
  tags: [Tag];
}

/**
 * Returns a route's definition. It is complete: the permission, every parameter, every status (`problems()` for those
 * that are errors) and every response header (`headers()`).
 */
export const createRoute: <
  Path extends string,
  Route extends Omit<RouteConfig, "path"> & { path: Path } & Operation,
>(route: Route) => ReturnType<typeof createAnyRoute<Path, Route>> = ({ scopes, agentCheck, ...route }) => {
  const permission: Permission = { scopes, agentCheck };
  const checked = ignoresQuery(route) ? route : refusingQuery(route);
  const responses = { ...checked.responses };
  if (scopes === "open") delete responses[STATUS.unauthorized];
  const security = scopes === "open" ? [] : scopes.map((scope) => ({ [SECURITY_SCHEME]: [scope] }));
  return createAnyRoute({ ...checked, responses, security, [PERMISSION]: permission }) as never;
};

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

/** A JSON answer in a route's definition. */
export function json<Schema extends ZodType>(schema: Schema, description: string) {
  return { description, content: { "application/json": { schema } } };
}

/** A JSON answer that is one page of a list; the next one is in its `Link` header. */
export function page<Schema extends ZodType>(schema: Schema, description: string) {
  return { ...json(schema, description), headers: headers("Link") };
}

/** A required JSON body in a route's definition. */
export function jsonBody<Schema extends ZodType>(schema: Schema, example: z.input<Schema>) {
  return { required: true, content: { "application/json": { schema, example } } };
}

/** A stream of server-sent events in a route's definition. To a client it is text; the document has its events. */
export function eventStream(event: ZodType) {
  return { "text/event-stream": { schema: event as unknown as z.ZodString } };
}

/** What each code means to who called; the problem's `detail` says more. */
const DESCRIPTIONS: Record<ErrorCode, string> = {
  invalid: "Something in the request is wrong; `details.issues` names it",
  unauthorized: "No API key came with it, or one that is not taken",
  budget_exceeded: "The run's budget is reached; no further model call was made",
  forbidden: "Not allowed: from there, or with this API key",
  not_found: "There is no such thing",
  method_not_allowed: "The path has no such method; `Allow` has those that it has",
  conflict: "It contradicts what is there",
  precondition_failed: "It is no longer as the request expects it",
  too_large: "The body is too large",
  unsupported_media_type: "The body is not application/json",
  idempotency_mismatch: "The same key came with another request",
  rate_limited: "Too many requests",
  internal: "A fault of the server; its log has it under `details.request_id`",
  unsupported: "Not possible where this server runs",
  provider_error: "The model's provider failed",
  unavailable: "The database can't be reached, or the server is ending; try again",
};

/** What any request may be answered with. */
const ALWAYS = ["unauthorized", "forbidden", "internal", "unavailable"] as const satisfies ErrorCode[];

/** What a request that has a body may be answered with. */
export const BODY_CODES = ["too_large", "unsupported_media_type"] as const satisfies ErrorCode[];

/** Problem answers by error code, beside those that every route can give. */
export function problems(...codes: ErrorCode[]): RouteConfig["responses"] {
  return Object.fromEntries([...codes, ...ALWAYS].map((code) => [STATUS[code], {
    description: DESCRIPTIONS[code],
    ...(code === "unauthorized" && { headers: headers("WWW-Authenticate") }),
    content: {
      "application/problem+json": {
        get schema() {
          return problemOf(code);
        },
      },
    },
  }]));
}

/** A whole number of a query, in digits: `Number` would also take `1e3`, `0x10` and an empty text. */
export function wholeNumber({ min, max }: { min: number; max: number }) {
  const digits = (value: unknown) =>
    typeof value === "string" && /^\d{1,15}$/.test(value) ? Number(value) : value;
  const rule = `must be a whole number from ${min} to ${max}`;
  return z.preprocess(digits, z.number(rule).int(rule).min(min, rule).max(max, rule));
}

interface PageSize {
  default: number;
  max: number;
}

/** The `limit` of a list. */
export const limitQuery = (size: PageSize) =>
  wholeNumber({ min: 1, max: size.max }).default(size.default).openapi({
    type: "integer",
    format: "int32",
    minimum: 1,
    maximum: size.max,
    default: size.default,
    description: `Maximum number of entries, 1 to ${size.max}`,
  });

/** The `limit` and `cursor` of a list that comes in pages. */
export const pageQuery = (size: PageSize) => ({
  limit: limitQuery(size),
  cursor: z.string().optional().openapi({ description: "From the `Link` header of the page before" }),
});

/** Where in a numbered list to go on. */
export const afterQuery = (description: string) =>
  wholeNumber({ min: 0, max: Number.MAX_SAFE_INTEGER }).openapi({
    type: "integer",
    format: "int64",
    minimum: 0,
    description,
  });

export { headers, z };
