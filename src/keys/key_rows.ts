import { DAY_MS, HOUR_MS } from "../kernel/clock.ts";
import type { Tags } from "../contract/tags/tags.ts";
import type { Scope } from "../contract/values.ts";
import type { SqlValue, Store } from "../store/mod.ts";
import type { KeyRow } from "./api_keys.ts";
import type { KeyContext } from "./context.ts";

/** A session of the dashboard ends after this time without use, */
export const IDLE_MS = 12 * HOUR_MS;
/** and after this one in any case. */
export const LONGEST_MS = 7 * DAY_MS;

const READ_SESSION = "SELECT key_id, last_used_at, expires_at FROM web_sessions WHERE hash = ?";

/** The row of a session that has not ended. */
interface SessionRow {
  keyId: string;
  lastUsedAt: number;
  expiresAt: number;
}

/** Reads a session by the hash of its token; undefined if it doesn't exist or has ended. */
export async function readSession(
  { store, clock }: Pick<KeyContext, "store" | "clock">,
  hash: string,
): Promise<SessionRow | undefined> {
  const { rows: [row] } = await store.read({ sql: READ_SESSION, args: [hash] });
  if (!row) return undefined;
  const session = { keyId: String(row[0]), lastUsedAt: Number(row[1]), expiresAt: Number(row[2]) };
  const now = clock.now();
  return session.expiresAt > now && session.lastUsedAt > now - IDLE_MS ? session : undefined;
}

const COUNT = `SELECT key_id, count(*) FROM web_sessions
WHERE key_id IN (SELECT value FROM json_each(?1)) AND expires_at > ?2 AND last_used_at > ?3 GROUP BY key_id`;

/** Counts the sessions of keys that have not ended, by key. */
export async function countSessions(
  { store, clock }: Pick<KeyContext, "store" | "clock">,
  keyIds: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  const now = clock.now();
  const { rows } = await store.read({ sql: COUNT, args: [JSON.stringify(keyIds), now, now - IDLE_MS] });
  return new Map(rows.map(([keyId, count]) => [String(keyId), Number(count)]));
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
