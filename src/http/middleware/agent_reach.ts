import type { Context } from "hono";
import type { Sender } from "../../calls/mod.ts";
import type { Tags } from "../../contract/tags/tags.ts";
import { PurserError } from "../../kernel/errors.ts";
import { type Viewer, viewerOf } from "../../ledger/mod.ts";
import { type ApiEnv, principalOf } from "./principal.ts";

/** Returns the viewer of a request: that of its key; one that sees all, if it comes from this process. */
export function viewerOfRequest(c: Pick<Context<ApiEnv>, "env">): Viewer {
  return viewerOf(principalOf(c) ?? {});
}

/** Returns the tags that the key of a request gives its calls; undefined for none. */
export function keyTagsOf(c: Pick<Context<ApiEnv>, "env">): Tags | undefined {
  return principalOf(c)?.tags;
}

/** Returns the sender of what a request reports. */
export function senderOf(c: Pick<Context<ApiEnv>, "env">): Sender {
  const { keyId, agentId } = viewerOfRequest(c);
  return { keyId, agentId, keyTags: keyTagsOf(c) };
}

/** Returns the only agent that a request may access; undefined for all. */
export function onlyAgentOf(c: Pick<Context<ApiEnv>, "env">): string | undefined {
  return viewerOfRequest(c).agentId;
}

/** Returns the agent to filter by: the requested one, if the key may access it, else the key's. Throws `forbidden`. */
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

/**
 * Returns whether an id is one that a key of one agent may give: the agent's id, a colon, and a name without a colon, so that
 * each id is of one agent at most. Reporters of other agents choose theirs freely: a key of one agent could otherwise take
 * an id before them, and learn which exist.
 */
export function isNamedAfter(id: string, agentId: string): boolean {
  return id.length > agentId.length + 1 && id.slice(0, Math.max(0, id.lastIndexOf(":"))) === agentId;
}

/** Returns the error for an id that is not the agent's own, whether another agent has it or none. */
export function notOwn(kind: "session" | "run" | "call", id: string, only: string): PurserError {
  return new PurserError(
    "forbidden",
    `Cannot use ${kind} ${id}: this API key is for agent ${only} only, which has none of that id; a new id has to be ` +
      `${only}:NAME`,
    { details: { agent_id: only } },
  );
}

/** Returns the error for a request of one agent's key that is about another agent. */
export function outOfReach(what: string, only: string): PurserError {
  return new PurserError("forbidden", `Cannot reach ${what}: this API key is for agent ${only} only`, {
    details: { agent_id: only },
  });
}
