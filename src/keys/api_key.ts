import type { ApiKey } from "../contract/keys.ts";
import { type KeyStatus, type Scope, SCOPES } from "../contract/values.ts";
import { toIso } from "../kernel/clock.ts";
import type { tables } from "../store/mod.ts";

export type KeyRow = typeof tables.apiKeys.$inferSelect;

/** Returns the status of a key at a time. */
export function statusOf(
  { revokedAt, expiresAt }: Pick<KeyRow, "revokedAt" | "expiresAt">,
  now: number,
): KeyStatus {
  if (revokedAt !== null) return "revoked";
  return expiresAt !== null && expiresAt <= now ? "expired" : "active";
}

/** Converts a row to wire form. */
export function toApiKey(row: KeyRow, now: number): ApiKey {
  const time = (at: number | null) => at === null ? null : toIso(at);
  return {
    key_id: row.keyId,
    name: row.name,
    scopes: orderScopes(row.scopes),
    agent_id: row.agentId,
    status: statusOf(row, now),
    created_at: toIso(row.createdAt),
    expires_at: time(row.expiresAt),
    last_used_at: time(row.lastUsedAt),
    revoked_at: time(row.revokedAt),
  };
}

/** Returns whether the scopes include one of the needed ones, or `admin`. */
export function allows(scopes: readonly Scope[], needed: readonly Scope[]): boolean {
  return scopes.includes("admin") || needed.some((scope) => scopes.includes(scope));
}

/** Returns each scope once, in the order of `SCOPES`. */
export function orderScopes(scopes: readonly Scope[]): Scope[] {
  return SCOPES.filter((scope) => scopes.includes(scope));
}
