import type { Tags } from "../contract/tags/tags.ts";
import type { KeyStatus, Scope } from "../contract/values.ts";
import type { SqlValue, Store, tables } from "../store/mod.ts";

/* The rows of API keys, as a request reads them. */

export type KeyRow = typeof tables.apiKeys.$inferSelect;

/** Returns the status of a key at a time. */
export function statusOf(
  { revokedAt, expiresAt }: Pick<KeyRow, "revokedAt" | "expiresAt">,
  now: number,
): KeyStatus {
  if (revokedAt !== null) return "revoked";
  return expiresAt !== null && expiresAt <= now ? "expired" : "active";
}

const READ =
  `SELECT key_id, name, hash, scopes, agent_id, models, created_at, previous_hash, expires_at, last_used_at, revoked_at,
  rotated_at, previous_until, stop_before_credits, tags FROM api_keys WHERE key_id = ?`;

/** Reads the row of a key, if it exists. Written as SQL, because it runs on each request. */
export async function readKey(store: Pick<Store, "read">, keyId: string): Promise<KeyRow | undefined> {
  const { rows: [row] } = await store.read({ sql: READ, args: [keyId] });
  if (!row) return undefined;
  const [id, name, hash, scopes, agentId, models, createdAt, previousHash, ...times] = row.slice(0, -1);
  const tags = row.at(-1);
  const [expiresAt, lastUsedAt, revokedAt, rotatedAt, previousUntil, stopBeforeCredits] = times.map(toTime);
  return {
    keyId: id as string,
    name: name as string,
    hash: hash as string,
    scopes: JSON.parse(scopes as string) as Scope[],
    agentId: agentId as string | null,
    models: models === null ? null : JSON.parse(models as string) as string[],
    createdAt: Number(createdAt),
    expiresAt: expiresAt!,
    lastUsedAt: lastUsedAt!,
    revokedAt: revokedAt!,
    rotatedAt: rotatedAt!,
    previousHash: previousHash as string | null,
    previousUntil: previousUntil!,
    stopBeforeCredits: stopBeforeCredits === 1,
    tags: tags == null ? null : JSON.parse(tags as string) as Tags,
  };
}

function toTime(value: SqlValue): number | null {
  return value === null ? null : Number(value);
}
