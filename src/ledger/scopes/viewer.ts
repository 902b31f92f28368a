import { COUNTED } from "../../contract/costs/dimensions.ts";
import { ALL_CALLS, scopeIn, scopeOf, type Scopes } from "./scopes.ts";
import { isScopeBy, subjectsIn } from "./subjects.ts";

/**
 * Decides what a caller may see of the spending of others. A key of one agent sees what belongs to that agent or to the key
 * itself; every other caller sees everything. Reports and lists are narrowed to `agentId`; budgets, refusals, alerts and the names
 * of keys ask `sees()`, or match `scopes`.
 */
export interface Viewer {
  /** The API key of the caller; null without one. */
  readonly keyId: string | null;
  /** The only agent whose calls, sessions and events it sees; undefined for all of them. */
  readonly agentId: string | undefined;
  /** True for a caller that sees everything. */
  readonly seesAll: boolean;
  /** The scopes of its own agent and key; empty if it sees all. */
  readonly scopes: readonly string[];
  /** Returns whether it may see what belongs to an agent or a key. */
  sees(of: Partial<Pick<Scopes, "agentId" | "keyId">>): boolean;
}

/** Returns the viewer of a key: of one agent, or of all agents if `agentId` is null. */
export function viewerOf(key: { keyId?: string | null; agentId?: string | null }): Viewer {
  const own = { keyId: key.keyId ?? null, agentId: key.agentId ?? undefined };
  const seesAll = own.agentId === undefined;
  return {
    ...own,
    seesAll,
    scopes: seesAll ? [] : COUNTED.flatMap((kind) => scopeIn(kind, own) ?? []),
    sees: ({ agentId, keyId }) =>
      seesAll || agentId === own.agentId || (own.keyId !== null && keyId === own.keyId),
  };
}

/** Returns whether all calls in a scope are those of a viewer's own agent or key. */
export function ownsScope(viewer: Viewer, scope: string): boolean {
  if (viewer.seesAll || viewer.scopes.includes(scope)) return true;
  return isScopeBy(scope) &&
    subjectsIn(scope).some(([part, value]) =>
      (part === "agent" || part === "key") && viewer.scopes.includes(scopeOf(part, value!))
    );
}

/** Returns the scope of the key of a scope, or of one of its subjects; all calls without one. */
export function keyScopeIn(scope: string): string {
  if (!isScopeBy(scope)) return scope;
  const key = subjectsIn(scope).find(([part]) => part === "key");
  return key ? scopeOf("key", key[1]!) : ALL_CALLS;
}

/** Returns the scopes of a call that a caller makes or reports, in the tree of a session if one is given. */
export function callScopes(
  { agentId, sessionId, runId }: Pick<Scopes, "agentId" | "sessionId" | "runId">,
  { keyId }: Pick<Viewer, "keyId">,
  rootSessionId?: string,
): Scopes {
  const isOther = rootSessionId !== undefined && rootSessionId !== sessionId;
  return { agentId, sessionId, runId, keyId, ...(isOther && { rootSessionId }) };
}

/** The viewer of callers within this process, which can read the database anyway. */
export const ALL_SEEING: Viewer = viewerOf({});

/** A viewer of nothing that belongs to an agent or a key. */
export const SEES_NOTHING: Viewer = {
  keyId: null,
  agentId: undefined,
  seesAll: false,
  scopes: [],
  sees: () => false,
};
