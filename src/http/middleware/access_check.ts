import type { HeaderFields } from "../../kernel/header_fields.ts";
import type { Core } from "../../service/mod.ts";
import { PurserError } from "../../kernel/errors.ts";
import { authorizationOf, isConnectionProbe } from "../../gateway/mod.ts";
import { authenticate, authenticateSession, isAuthRequired, type Principal } from "../../keys/mod.ts";
import type { FetchHandler } from "../app.ts";
import type { Handler } from "../server/listen.ts";
import { isOpenPath } from "../resources.ts";
import { type RequestLease, RequestLimits } from "./request_limits.ts";
import { CONNECTION_PROBE, LoggedRequest } from "./request_log.ts";
import { ANONYMOUS } from "./principal.ts";
import type { ServerParts } from "./server_request.ts";
import { errorResponse, isGatewayPath } from "./error_response.ts";
import { UNIVERSAL_HEADERS } from "./response_headers.ts";
import { wholeOf } from "./served_body.ts";
import { refusalOf } from "./loopback.ts";
import { sessionTokenOf } from "./web_session.ts";

/**
 * Puts authentication in front of the app, for requests from outside of this process. As soon as the database has ever
 * had a key, every request needs one, also from this machine, since behind a reverse proxy all requests come from it.
 * Before, only requests that provably come from this machine are answered. Each request is logged, and its response has
 * the id under which it is. With `needsKey`, requests need one from the start.
 */
export function withAccessCheck(
  core: Core,
  app: FetchHandler,
  { needsKey = false }: { needsKey?: boolean } = {},
): Handler {
  const limits = new RequestLimits(core);
  const answer = async (request: Request, from?: string, server?: ServerParts): Promise<Response> => {
    const logged = new LoggedRequest(core, request);
    const lease = limits.open(from);
    let response: Response;
    try {
      const address = readAddress(request);
      lease.countForAddress();
      const { pathname: path, search } = address;
      const isGateway = isGatewayPath(path);
      const headers = server?.headers ?? request.headers;
      const principal = await authenticateRequest(core, request, {
        path,
        isGateway,
        search,
        headers,
        from,
        lease,
        needsKey,
      });
      if (isGateway) {
        const user = principal?.tags?.user;
        logged.note({
          ...{ key_id: principal?.keyId ?? null, key_name: principal?.name ?? null },
          ...(user !== undefined && { key_user: user }),
        });
      }
      if (principal?.keyId != null) lease.countForKey(principal.keyId);
      lease.openAnswer(server?.delivery);
      if (isConnectionProbe(request.method, path)) {
        logged.route = CONNECTION_PROBE;
        response = new Response(null, { headers: { ...UNIVERSAL_HEADERS, "cache-control": "no-store" } });
      } else {
        const caller = principal ? { principal } : { isKeyless: true as const };
        const bindings = { ...caller, from, address, lease, logged, server };
        response = await app.fetch(request, bindings);
      }
      lease.answer?.take(wholeOf(response), request.method === "GET");
    } catch (error) {
      response = await errorResponse(core, request, error, logged);
    } finally {
      lease.end();
    }
    lease.addHeaders(response.headers);
    logged.answer(response);
    return response;
  };
  return (request, from, server) => core.telemetry.traceRequest(request, () => answer(request, from, server));
}

/** The path at which a browser learns whether it is signed in, signs in and out: it is answered without a key too. */
const SIGN_IN_PATH = "/ui/session";

/**
 * Returns a request's principal; undefined for this machine, while there are no keys. A key counts before the token of a
 * session, which the gateway doesn't know.
 */
async function authenticateRequest(
  core: Core,
  request: Request,
  { path, isGateway, search, headers, from, lease, needsKey }: {
    path: string;
    isGateway: boolean;
    search: string;
    headers: HeaderFields;
    from: string | undefined;
    lease: RequestLease;
    needsKey: boolean;
  },
): Promise<Principal | undefined> {
  const authorization = isGateway ? authorizationOf(headers, search) : headers.get("authorization");
  if (path !== SIGN_IN_PATH && isOpenRequest(request.method, path)) {
    // Before the database is read: a liveness probe must not depend on it.
    if (refusalOf(request, from) === undefined || await isAuthRequired(core)) return ANONYMOUS;
  } else {
    const token = isGateway || authorization !== null ? undefined : sessionTokenOf(headers);
    const isKeyPresented = authorization !== null || token !== undefined;
    if (needsKey || await isAuthRequired(core, { isKeyPresented })) {
      if (token !== undefined) return await authenticateToken(core, token, path);
      if (authorization === null && path === SIGN_IN_PATH) return ANONYMOUS;
      return await authenticate(core, authorization, (digest) => lease.beginAttempt(digest));
    }
  }
  const refusal = refusalOf(request, from);
  if (refusal) throw refusal;
}

async function authenticateToken(core: Core, token: string, path: string): Promise<Principal> {
  try {
    return await authenticateSession(core, token);
  } catch (error) {
    const hasEnded = error instanceof PurserError && error.code === "unauthorized";
    if (hasEnded && path === SIGN_IN_PATH) return ANONYMOUS;
    throw error;
  }
}

/** Returns whether a request needs no key. Other spellings of an open path do, to be safe. */
function isOpenRequest(method: string, path: string): boolean {
  return ((method === "GET" || method === "HEAD") && isOpenPath(path)) || isConnectionProbe(method, path);
}

/** Parses the address of a request. Servers accept any text as a Host header, and may make an invalid URL of it. */
function readAddress({ url }: Request): URL {
  const address = URL.parse(url);
  if (address) return address;
  throw new PurserError("invalid", "Cannot read the request: its Host header names no host");
}
