import type { Context } from "hono";
import type { ZodType } from "zod";
import type { Principal } from "../../keys/mod.ts";
import type { Core } from "../../service/mod.ts";
import type { Author } from "../../store/mod.ts";
import type { RequestLease } from "./request_limits.ts";
import type { LoggedRequest } from "./request_log.ts";
import type { ServerParts } from "./server_request.ts";

/**
 * The result of authentication, as bindings of a request. Requests without a principal were made in this process, by the
 * library or a command, which can read the database anyway; they may do everything.
 */
export interface ApiEnv {
  Bindings: {
    principal?: Principal;
    /** Answered without a key, since there was none yet. */
    isKeyless?: true;
    /** The address of the client, as far as it is known. */
    from?: string | undefined;
    /** The address of the request, as it was parsed; within this process undefined. */
    address?: URL;
    /** Its share of the server's limits; within this process nothing is limited. */
    lease?: RequestLease;
    /** The parts of the request that the server of this process has read; undefined elsewhere. */
    server?: ServerParts;
    /** The request as the log has it; requests within this process are not logged. */
    logged?: LoggedRequest;
  };
  Variables: {
    isAuthorized?: true;
    /** The answer is that of an earlier request with the same `Idempotency-Key`. */
    isReplayed?: true;
    /** The answer is a provider's, passed on by the gateway. */
    isOfProvider?: true;
    /** The entries of a list that is answered as CSV. */
    csvEntries?: ZodType;
  };
}

/** The principal of requests without a key, which open routes answer. */
export const ANONYMOUS: Principal = { keyId: null, scopes: [], agentId: null };

/** Returns a request's principal; undefined within this process. */
export function principalOf(c: Pick<Context<ApiEnv>, "env">): Principal | undefined {
  return c.env?.principal; // without bindings, Hono has no env at all
}

/** Returns a request's lease; undefined within this process. */
export function leaseOf(c: Pick<Context<ApiEnv>, "env">): RequestLease | undefined {
  return c.env?.lease;
}

/**
 * Returns the core for a change that a request makes: the audit log has its key, or the session of the dashboard, and its
 * address. Within this process the author is that of the core.
 */
export function asAuthor<C extends Pick<Core, "author">>(c: Pick<Context<ApiEnv>, "env">, core: C): C {
  const { principal, isKeyless, from: address } = c.env ?? {};
  if (!principal && !isKeyless) return core;
  const keyId = principal?.keyId ?? null;
  const actor = keyId === null ? "anonymous" : principal?.webSession === undefined ? "key" : "session";
  const author: Author = { actor, keyId, name: principal?.name, address };
  return { ...core, author };
}
