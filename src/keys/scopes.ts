import { type Scope, SCOPES } from "../contract/values.ts";

/** Whether scopes suffice where any of some is needed. */
export function allows(scopes: readonly Scope[], needed: readonly Scope[]): boolean {
  return scopes.includes("admin") || needed.some((scope) => scopes.includes(scope));
}

/** Each scope once, in the order above. */
export function orderScopes(scopes: readonly Scope[]): Scope[] {
  return SCOPES.filter((scope) => scopes.includes(scope));
}
