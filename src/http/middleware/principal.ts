import type { Context } from "hono";
import { PurserError } from "../../kernel/errors.ts";
import type { Principal } from "../../keys/mod.ts";

/**
 * What authentication tells the app of a request. Without a principal it was made in this process, by the library or a
 * command, which can read the database anyway, and so may everything.
 */
export interface ApiEnv {
  Bindings: {
    principal?: Principal;
    /** Let in at the door while there was no key. */
    isKeyless?: true;
  };
  Variables: { isAuthorized?: true };
}

/** Whoever has shown no key: open routes answer them. */
export const ANONYMOUS: Principal = { keyId: null, scopes: [], agentId: null };

/** Who a request comes from; undefined within this process. */
export function principalOf(c: Pick<Context<ApiEnv>, "env">): Principal | undefined {
  return c.env?.principal; // without bindings, Hono has no env at all
}

/** The only agent that a request may reach; undefined for all of them. */
export function onlyAgentOf(c: Pick<Context<ApiEnv>, "env">): string | undefined {
  return principalOf(c)?.agentId ?? undefined;
}

/** The agent to filter by: the one that was asked for, and in any case one within reach. Throws `forbidden`. */
export function narrowToAgent(
  c: Pick<Context<ApiEnv>, "env">,
  wanted: string | undefined,
): string | undefined {
  const only = onlyAgentOf(c);
  if (only !== undefined && wanted !== undefined && wanted !== only) {
    throw outOfReach(`agent ${wanted}`, only);
  }
  return only ?? wanted;
}

/** The error for what a key of one agent asks of another. */
export function outOfReach(what: string, only: string): PurserError {
  return new PurserError("forbidden", `Cannot reach ${what}: this API key is for agent ${only} only`, {
    details: { agent_id: only },
  });
}
