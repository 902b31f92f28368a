import type { Scope } from "../contract/values.ts";
import type { SqlValue, Store } from "../store/mod.ts";
import type { KeyRow } from "./api_key.ts";

const READ = `SELECT key_id, name, hash, scopes, agent_id, created_at, expires_at, last_used_at, revoked_at
FROM api_keys WHERE key_id = ?`;

/** One key as the database has it; undefined where there is none. Each request pays for it, so no builder. */
export async function readKey(store: Pick<Store, "read">, keyId: string): Promise<KeyRow | undefined> {
  const { rows: [row] } = await store.read({ sql: READ, args: [keyId] });
  if (!row) return undefined;
  const [id, name, hash, scopes, agentId, createdAt, ...times] = row;
  const [expiresAt, lastUsedAt, revokedAt] = times.map(toTime);
  return {
    keyId: id as string,
    name: name as string,
    hash: hash as string,
    scopes: JSON.parse(scopes as string) as Scope[],
    agentId: agentId as string | null,
    createdAt: Number(createdAt),
    expiresAt: expiresAt!,
    lastUsedAt: lastUsedAt!,
    revokedAt: revokedAt!,
  };
}

function toTime(value: SqlValue): number | null {
  return value === null ? null : Number(value);
}
