import { findTarget, mayBeGateway, wireError } from "../../gateway/mod.ts";
import type { Core } from "../../service/mod.ts";
import { isApiPath } from "../resources.ts";
import { pathOf, problemResponse, toProblem } from "./problem.ts";
import { UNIVERSAL_HEADERS, withWhole } from "./response_headers.ts";

/** The parts of a core that say how a request's errors are written. */
type ErrorContext = Pick<Core, "log" | "secrets" | "providerSources">;

/**
 * Returns the response to a request that has failed: a problem document, or on the paths of the gateway an error as that
 * provider would write it, so that its SDK shows the message.
 */
export function errorResponse(
  ctx: ErrorContext,
  request: Request,
  error: unknown,
  requestId: string,
  headers?: Record<string, string>,
): Response {
  const path = pathOf(request.url);
  const problem = toProblem(error, path, ctx, requestId);
  const target = isGatewayPath(path) &&
    findTarget(
      { pathname: path, headers: request.headers },
      (name) => Object.hasOwn(ctx.providerSources.providers, name),
    );
  if (!target) return problemResponse(problem, headers);
  const { status, headers: own, body } = wireError(target.family, problem, requestId);
  const text = JSON.stringify(body);
  const all = { ...UNIVERSAL_HEADERS, "cache-control": "no-store", ...own, ...headers };
  return withWhole(new Response(text, { status, headers: all }), text);
}

/** Returns whether a path is the gateway's: those of the API's own resources come first. */
export function isGatewayPath(path: string): boolean {
  return mayBeGateway(path) && !isApiPath(path);
}
