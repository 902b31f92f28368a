/** The state of the API keys, for the doctor. */
import { DAY_MS } from "../../kernel/clock.ts";
import { isActive } from "../api_keys.ts";
import type { KeyContext } from "../context.ts";

/** A key that has expired or will soon. */
export interface DueKey {
  keyId: string;
  name: string;
  expiresAt: number;
}

/** The state of the API keys, for the doctor. */
interface KeyReport {
  /** All keys, including revoked and expired ones. */
  all: number;
  /** Keys that are neither revoked nor expired. */
  active: number;
  /** Active keys with the scope `admin`. */
  admin: number;
  /** Active keys that expire within a week, earliest first. */
  expiring: DueKey[];
  /** Keys that have expired within the last week while in use, latest first. */
  lapsed: DueKey[];
  /** Names that several active keys have, with the ids of these. */
  shared: { name: string; keyIds: string[] }[];
}

const WEEK_MS = 7 * DAY_MS;
const MAX_NAMED = 5;

const ACTIVE = isActive("?1");
const IS_ADMIN = "EXISTS (SELECT 1 FROM json_each(scopes) WHERE value = 'admin')";
const COUNT = `SELECT count(*), count(*) FILTER (WHERE ${ACTIVE}),
  count(*) FILTER (WHERE ${ACTIVE} AND ${IS_ADMIN}) FROM api_keys`;
const EXPIRING = `SELECT key_id, name, expires_at FROM api_keys
WHERE revoked_at IS NULL AND expires_at > ?1 AND expires_at <= ?1 + ${WEEK_MS}
ORDER BY expires_at LIMIT ${MAX_NAMED}`;
// In use: within a day before it expired. No key of that name has been created since, so it was not replaced.
const LAPSED = `SELECT key_id, name, expires_at FROM api_keys k
WHERE revoked_at IS NULL AND expires_at <= ?1 AND expires_at > ?1 - ${WEEK_MS} AND last_used_at > expires_at - ${DAY_MS}
  AND NOT EXISTS (SELECT 1 FROM api_keys n WHERE n.name = k.name AND n.created_at > k.created_at)
ORDER BY expires_at DESC LIMIT ${MAX_NAMED}`;

const SHARED = `SELECT name, string_agg(key_id, ' ') FROM api_keys WHERE ${ACTIVE}
GROUP BY name HAVING count(*) > 1 ORDER BY name LIMIT ${MAX_NAMED}`;

/** Counts the keys, and names those that need attention. */
export async function checkKeys({ store, clock }: Pick<KeyContext, "store" | "clock">): Promise<KeyReport> {
  const args = [clock.now()];
  const [counts, expiring, lapsed, shared] = await store.readAll(
    [COUNT, EXPIRING, LAPSED, SHARED].map((sql) => ({ sql, args })),
  );
  const [all, active, admin] = counts!.rows[0]!.map(Number) as [number, number, number];
  return {
    all,
    active,
    admin,
    expiring: expiring!.rows.map(toDueKey),
    lapsed: lapsed!.rows.map(toDueKey),
    shared: shared!.rows.map(([name, ids]) => ({
      name: String(name),
      keyIds: String(ids).split(" ").sort(),
    })),
  };
}

function toDueKey([keyId, name, expiresAt]: readonly unknown[]): DueKey {
  return { keyId: String(keyId), name: String(name), expiresAt: Number(expiresAt) };
}
