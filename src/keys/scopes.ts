import type { Scope } from "../store/mod.ts";

export type { Scope };

/** What a key may do, the least first. `admin` implies the others; `read` and `run` are separate. */
export const SCOPES = ["read", "run", "admin"] as const satisfies readonly Scope[];

/** Whether scopes suffice where any of some is needed. */
export function allows(scopes: readonly Scope[], needed: readonly Scope[]): boolean {
  return scopes.includes("admin") || needed.some((scope) => scopes.includes(scope));
}

/** Each scope once, in the order above. */
export function orderScopes(scopes: readonly Scope[]): Scope[] {
  return SCOPES.filter((scope) => scopes.includes(scope));
}
