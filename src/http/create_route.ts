import { createRoute as createAnyRoute, type RouteConfig, z } from "@hono/zod-openapi";
import type { ZodType } from "zod";
import { type ErrorCode, STATUS } from "../kernel/errors.ts";
import { headers, type ResponseHeader } from "../contract/headers.ts";
import { problemOf } from "../contract/problems.ts";
import type { Tag } from "./openapi/document.ts";
import { CSV, csvOf, entriesOf } from "./middleware/csv.ts";
import { PERMISSION, type Permission, SECURITY_SCHEME } from "./middleware/authorize.ts";

/** The fields that every operation of the API has. */
interface Operation extends Permission {
  /** The operation's name in generated clients: a verb and a noun. It never changes. */
  operationId: string;
  summary: string;
  tags: [Tag];
  /** The field of a response that is an object whose list is its CSV; a response that is a list is CSV anyway. */
  csvField?: string;
}

/**
 * Returns a route's definition. It is complete: the permission, every parameter, every status (`problems()` for those
 * that are errors) and every response header (`headers()`).
 */
export const createRoute: <
  Path extends string,
  Route extends Omit<RouteConfig, "path"> & { path: Path } & Operation,
>(route: Route) => ReturnType<typeof createAnyRoute<Path, Route>> = (
  { scopes, agentCheck, csvField, ...route },
) => {
  const permission: Permission = { scopes, agentCheck };
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
  return createAnyRoute({
    ...checked,
    ...(entries && { middleware: csvOf(entries, csvField) }),
    responses,
    security,
    [PERMISSION]: permission,
  }) as never;
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

/** Returns a JSON response for a route's definition. */
export function json<Schema extends ZodType>(schema: Schema, description: string) {
  return { description, content: { "application/json": { schema } } };
}

/** Returns a required JSON body for a route's definition. */
export function jsonBody<Schema extends ZodType>(schema: Schema, example: z.input<Schema>) {
  return { required: true, content: { "application/json": { schema, example } } };
}

/**
 * Returns the optional request headers of a route, for its `request`. The typed client has no field for them, since it would
 * be a required one; it sends those of its options: `$put(…, { headers: { "if-match": etag } })`.
 */
export function optionalHeaders(shape: Record<string, z.ZodOptional<z.ZodString>>): object {
  return { headers: z.object(shape) };
}

/** Returns a stream of server-sent events for a route's definition. The typed client reads text; the document has the events' schema. */
export function eventStream(event: ZodType) {
  return { "text/event-stream": { schema: event as unknown as z.ZodString } };
}

/** The meaning of each code; the problem's `detail` has the particulars. */
const DESCRIPTIONS: Record<ErrorCode, string> = {
  invalid: "The request is invalid; `details.issues` lists why",
  unauthorized: "The API key is missing or not valid",
  budget_exceeded:
    "A budget doesn't allow the next model call, which was not made; `details` has the amounts",
  forbidden: "Not allowed from this address, or with this API key",
  not_found: "Not found",
  method_not_allowed: "The path does not support the method; `Allow` lists those that it supports",
  conflict: "Conflicts with the current state",
  precondition_failed: "The current state is not the one that the request expects",
  too_large: "The body is too large",
  unsupported_media_type: "The body is not application/json",
  idempotency_mismatch: "The same key was used with another request",
  rate_limited:
    "A limit is reached, of this API key, of this address, or on failed keys; `Retry-After` says for how long",
  internal: "Internal error; the server's log has it under `details.request_id`",
  unsupported: "Not supported where this server runs",
  provider_error: "The model's provider failed",
  unavailable:
    "The database can't be reached, the server is shutting down, or it is at one of its limits; try again",
};

/** The codes that any request may be refused with. */
const ALWAYS = [
  "unauthorized",
  "forbidden",
  "rate_limited",
  "internal",
  "unavailable",
] as const satisfies ErrorCode[];

/** The codes that a request with a body may be refused with. */
export const BODY_CODES = ["too_large", "unsupported_media_type"] as const satisfies ErrorCode[];

/** The headers of problems by code. */
const HEADERS: Partial<Record<ErrorCode, ResponseHeader[]>> = {
  unauthorized: ["WWW-Authenticate"],
  conflict: ["Retry-After", "Idempotency-Replayed"],
  // Problems that end a run, which a request that is sent again gets too.
  invalid: ["Idempotency-Replayed"],
  budget_exceeded: ["Idempotency-Replayed"],
  provider_error: ["Idempotency-Replayed"],
  internal: ["Idempotency-Replayed"],
  rate_limited: ["Retry-After", "RateLimit-Policy", "RateLimit"],
  unavailable: ["Retry-After", "Idempotency-Replayed"],
};

/** Returns the problem responses of these codes and of those that every route may have. */
export function problems(...codes: ErrorCode[]): RouteConfig["responses"] {
  return Object.fromEntries([...codes, ...ALWAYS].map((code) => [STATUS[code], {
    description: DESCRIPTIONS[code],
    ...(HEADERS[code] && { headers: headers(...HEADERS[code]) }),
    content: {
      "application/problem+json": {
        get schema() {
          return problemOf(code);
        },
      },
    },
  }]));
}

export { headers, z };
