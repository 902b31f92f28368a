import type { ApiKey } from "../contract/keys.ts";
import { type KeyStatus, type Scope, SCOPES } from "../contract/values.ts";
import { toIso } from "../kernel/clock.ts";
import type { tables } from "../store/mod.ts";

export type KeyRow = typeof tables.apiKeys.$inferSelect;

/** Whether a key is taken at a time. */
export function statusOf(
  { revokedAt, expiresAt }: Pick<KeyRow, "revokedAt" | "expiresAt">,
  now: number,
): KeyStatus {
  if (revokedAt !== null) return "revoked";
  return expiresAt !== null && expiresAt <= now ? "expired" : "active";
}

/** The wire form of a row. */
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

/** Whether scopes suffice where any of some is needed. */
export function allows(scopes: readonly Scope[], needed: readonly Scope[]): boolean {
  return scopes.includes("admin") || needed.some((scope) => scopes.includes(scope));
}

/** Each scope once, in the order above. */
export function orderScopes(scopes: readonly Scope[]): Scope[] {
  return SCOPES.filter((scope) => scopes.includes(scope));
}
