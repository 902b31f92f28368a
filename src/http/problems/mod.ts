import type { Context } from "hono";
import { HTTPException } from "hono/http-exception";
import { type ErrorCode, messageOf, PurserError, STATUS } from "../../kernel/errors.ts";
import type { Log } from "../../kernel/log.ts";
import { shorten } from "../../kernel/text.ts";
import { MAX_ISSUES } from "../../contract/limits.ts";
import { redactCredentials } from "../../redaction/mod.ts";
import type { Secrets } from "../../redaction/values/mod.ts";
import { UNIVERSAL_HEADERS } from "../middleware/response_headers.ts";
import { withBody } from "../middleware/served_body.ts";

/** An RFC 9457 problem document; it may have extension members such as `run_id`. */
export interface Problem {
  type: string;
  title: string;
  status: number;
  detail: string;
  instance: string;
  code: ErrorCode;
  details?: Record<string, unknown>;
  [extension: string]: unknown;
}

const TITLES = {
  invalid: "Invalid request",
  unauthorized: "Unauthorized",
  budget_exceeded: "BudgetExceededError",
  forbidden: "Forbidden",
  not_found: "Not found",
  method_not_allowed: "Method not allowed",
  conflict: "Conflict",
  precondition_failed: "Precondition failed",
  too_large: "Too large",
  unsupported_media_type: "Unsupported media type",
  idempotency_mismatch: "Idempotency mismatch",
  rate_limited: "Rate limited",
  internal: "Internal error",
  unsupported: "Unsupported",
  provider_error: "Provider error",
  unavailable: "Unavailable",
} satisfies Record<ErrorCode, string>;

/** The parts of a process that problem documents use. */
interface ProblemContext {
  log: Log;
  /** The secrets that no document may repeat; a process that could not start knows none. */
  secrets?: Pick<Secrets, "scrubValue">;
}

/**
 * Returns the problem document for anything that was thrown, of a bounded size and without credentials, whatever the
 * request had. What is not a `PurserError` becomes a 500 with a request id and without the error's message, which is
 * logged under the same id.
 */
export function toProblem(
  error: unknown,
  instance: string,
  { log, secrets }: ProblemContext,
  requestId: string,
): Problem {
  const problem = describeError(error, instance, log, requestId);
  // Before texts are truncated, which might leave the beginning of a secret.
  return boundProblem(secrets?.scrubValue(problem) ?? problem);
}

function describeError(error: unknown, instance: string, log: Log, requestId: string): Problem {
  const known = asPurserError(error);
  if (known && known.code !== "internal") {
    const { code, message, details, extensions } = known;
    return {
      type: "about:blank",
      title: TITLES[code],
      status: STATUS[code],
      detail: message,
      instance,
      code,
      ...(details && { details }),
      ...extensions,
    };
  }
  log.error("A request failed", {
    request_id: requestId,
    reason: messageOf(error),
    stack: (error as Error)?.stack,
  });
  return {
    type: "about:blank",
    title: TITLES.internal,
    status: 500,
    detail: `Cannot answer the request: an internal error; the log has it under ${requestId}`,
    instance,
    code: "internal",
    details: { request_id: requestId },
    ...known?.extensions,
  };
}

/** The longest text of a problem document, in characters; a path or a message may be as long as the request. */
const MAX_TEXT = 1_000;
/** The size of `details` from which on the remaining items of its lists are left out, in characters of JSON. */
const MAX_DETAILS = 32_000;

/** Truncates the texts and lists of a problem document, and replaces credentials in them. Field names are the code's own. */
function boundProblem(problem: Problem): Problem {
  let left = MAX_DETAILS;
  const bound = (value: unknown): unknown => {
    if (typeof value !== "object" || value === null) {
      const kept = typeof value === "string" ? boundText(value) : value;
      left -= JSON.stringify(kept)?.length ?? 0;
      return kept;
    }
    if (Array.isArray(value)) {
      const items: unknown[] = [];
      for (let i = 0; i < value.length && i < MAX_ISSUES && left > 0; i++) items.push(bound(value[i]));
      return items;
    }
    return Object.fromEntries(Object.entries(value).map(([name, field]) => [name, bound(field)]));
  };
  const { detail, instance, details } = problem;
  const bounded = { ...problem, detail: boundText(detail), instance: redactPath(instance) };
  if (details) {
    const kept = bound(details) as NonNullable<Problem["details"]>;
    if (Array.isArray(details.issues) && (kept.issues as unknown[]).length < details.issues.length) {
      kept.issue_count = details.issue_count ?? details.issues.length;
    }
    bounded.details = kept;
  }
  return bounded;
}

function boundText(text: string): string {
  return redact(shorten(text, MAX_TEXT));
}

/** Redacts a path that has a credential, as when a key was sent in the place of an id, also percent-encoded. */
function redactPath(path: string): string {
  const kept = shorten(path, MAX_TEXT);
  let decoded: string;
  try {
    decoded = decodeURIComponent(kept);
  } catch {
    decoded = kept; // malformed, or cut within an escape
  }
  const redacted = redact(decoded);
  return redacted === decoded ? redact(kept) : redacted;
}

function redact(text: string): string {
  return redactCredentials(text, () => {}, { withoutEntropy: true }); // ids are random, too
}

function asPurserError(error: unknown): PurserError | undefined {
  if (error instanceof PurserError) return error;
  // The query builder wraps the store's errors, such as that the database can't be reached.
  if (error instanceof Error && error.cause instanceof PurserError) return error.cause;
  if (!(error instanceof HTTPException)) return undefined;
  // Hono's error for a body that JSON.parse refuses.
  if (error.status === 400 && /malformed json/i.test(error.message)) {
    return new PurserError("invalid", "Cannot read the body: it is not JSON");
  }
  const code = (Object.keys(STATUS) as ErrorCode[]).find((key) => STATUS[key] === error.status);
  return code && code !== "internal" ? new PurserError(code, error.message || TITLES[code]) : undefined;
}

/** Returns a response with a problem document; `details.retry_after_seconds` is its `Retry-After` too. `body` replaces the document. */
export function problemResponse(
  problem: Problem,
  headers?: Record<string, string>,
  body: string | Uint8Array<ArrayBuffer> = JSON.stringify(problem),
): Response {
  const retryAfter = problem.details?.retry_after_seconds;
  return withBody(
    new Response(body, {
      status: problem.status,
      headers: {
        "content-type": "application/problem+json",
        ...UNIVERSAL_HEADERS,
        "cache-control": "no-store",
        ...(problem.status === STATUS.unauthorized && { "www-authenticate": "Bearer" }),
        ...(typeof retryAfter === "number" && { "retry-after": String(retryAfter) }),
        ...headers,
      },
    }),
    body,
  );
}

/** Returns a problem's `instance`: the path as it was sent, without the query, which may hold private data. */
export function instanceOf(c: Context): string {
  return pathOf(c.req.url);
}

/** Returns the path of a request's URL, `/` where its Host header made the URL invalid. */
export function pathOf(url: string): string {
  return URL.parse(url)?.pathname ?? "/";
}
