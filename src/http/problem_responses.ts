import type { RouteConfig } from "@hono/zod-openapi";
import { headers, type ResponseHeader } from "../contract/headers.ts";
import { type ErrorCode, STATUS } from "../kernel/errors.ts";

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

/** Returns the name of a code in the document, such as `NotFound`; that of its schema is `NotFoundProblem`. */
export const nameOfCode = (code: ErrorCode): string =>
  code.split("_").map((word) => word[0]!.toUpperCase() + word.slice(1)).join("");

/** Returns the problem responses of these codes and of those that every route may have. The document has their schemas. */
export function problems(...codes: ErrorCode[]): RouteConfig["responses"] {
  return Object.fromEntries([...codes, ...ALWAYS].map((code) => [STATUS[code], {
    description: DESCRIPTIONS[code],
    ...(HEADERS[code] && { headers: headers(...HEADERS[code]) }),
    content: {
      "application/problem+json": { schema: { $ref: `#/components/schemas/${nameOfCode(code)}Problem` } },
    },
  }]));
}
