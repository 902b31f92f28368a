import { STATUS } from "../../kernel/errors.ts";
import type { LogFields } from "../../kernel/log.ts";
import type { Core } from "../../service/mod.ts";
import { isApiPath, isOtlpPath, mayBeGateway } from "../resources.ts";
import { pathOf, type Problem, problemResponse, toProblem } from "../problems/mod.ts";
import { UNIVERSAL_HEADERS } from "./response_headers.ts";
import { withBody } from "./served_body.ts";

/** The parts of a core that say how a request's errors are written. */
type ErrorContext = Pick<Core, "log" | "secrets" | "providerSources">;

/** The line that the log has of a request. */
export interface RequestLine {
  id: string;
  note?(facts: LogFields): void;
}

/**
 * Returns the response to a request that has failed: a problem document, on the paths of the gateway an error as that
 * provider would write it, so that its SDK shows the message, and on those of OTLP a `Status`.
 */
export async function errorResponse(
  ctx: ErrorContext,
  request: Request,
  error: unknown,
  line: RequestLine,
  headers?: Record<string, string>,
): Promise<Response> {
  const path = pathOf(request.url);
  const problem = toProblem(error, path, ctx, line.id);
  if (isOtlpPath(path)) {
    const { CONTENT_TYPE, encodingOf, failure } = await import("../../ingest/otlp/mod.ts");
    const encoding = encodingOf(request.headers) ?? "json";
    // Exporters give up after any other error.
    const isBusy = problem.code === "unavailable" || problem.code === "conflict";
    const code = isBusy ? "unavailable" : problem.code;
    const wait = isBusy && problem.details?.retry_after_seconds === undefined;
    return problemResponse({ ...problem, status: STATUS[code] }, {
      ...headers,
      ...(wait && { "retry-after": String(OTLP_RETRY_SECONDS) }),
      "content-type": CONTENT_TYPE[encoding],
    }, failure(encoding, GRPC_CODES[code] ?? 2, problem.detail));
  }
  if (!isGatewayPath(path)) return problemResponse(problem, headers);
  // Elsewhere a message may repeat the path.
  line.note?.({ ...keyOf(problem.details), error_code: problem.code, reason: problem.detail });
  const { findTarget, wireError } = await import("../../gateway/mod.ts");
  const target = findTarget(
    { pathname: path, headers: request.headers },
    (name) => Object.hasOwn(ctx.providerSources.providers, name),
  );
  if (!target) return problemResponse(problem, headers);
  const { status, headers: own, body } = wireError(target.family, problem, line.id);
  const text = JSON.stringify(body);
  const all = { ...UNIVERSAL_HEADERS, "cache-control": "no-store", ...own, ...headers };
  return withBody(new Response(text, { status, headers: all }), text);
}

/** The `Retry-After` of an exporter while the database can't be reached. */
const OTLP_RETRY_SECONDS = 5;

/** The codes of gRPC by those of problems; 2 (unknown) for all others. */
const GRPC_CODES: Partial<Record<Problem["code"], number>> = {
  invalid: 3,
  unsupported_media_type: 3,
  too_large: 3,
  not_found: 5,
  forbidden: 7,
  rate_limited: 8,
  method_not_allowed: 12,
  internal: 13,
  unavailable: 14,
  unauthorized: 16,
};

/** Returns the key that an error names, which was refused. */
function keyOf({ key_id, key_name }: Record<string, unknown> = {}): LogFields {
  return typeof key_id === "string" && typeof key_name === "string" ? { key_id, key_name } : {};
}

/** Returns whether a path is the gateway's: those of the API's own resources come first. */
export function isGatewayPath(path: string): boolean {
  return mayBeGateway(path) && !isApiPath(path);
}
