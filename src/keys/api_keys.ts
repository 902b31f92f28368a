import type { KeyStatus, Scope } from "../contract/values.ts";
import { PurserError } from "../kernel/errors.ts";
import { type KeyRow, orderScopes, toApiKey } from "./api_key.ts";
import type { ApiKey } from "../contract/keys.ts";
import type { KeyContext } from "./context.ts";
import { hashSecret, newSecret, writeKeyText } from "./key_text.ts";
import { and, desc, eq, gt, isNotNull, isNull, lt, lte, or } from "drizzle-orm";
import { type SqlValue, type Store, tables } from "../store/mod.ts";

/** A key to create. */
export interface NewKey {
  name: string;
  scopes: readonly Scope[];
  /** The only agent that the key grants access to; null for all. */
  agentId: string | null;
  /** The expiry, in milliseconds since the epoch; null for none. */
  expiresAt: number | null;
}

const INSERT = `INSERT INTO api_keys (key_id, name, hash, scopes, agent_id, created_at, expires_at)
VALUES (?, ?, ?, ?, ?, ?, ?)`;

/**
 * Creates a key. Its text is only in the result; the database has a hash of its secret part. From the first key on,
 * authentication is required.
 *
 * @throws {PurserError} `invalid` without a name or scope, for an expiry in the past, and for `admin` limited to one agent
 */
export async function createKey(
  ctx: Pick<KeyContext, "store" | "clock" | "ids" | "keyCache">,
  input: NewKey,
  secret: string = newSecret(),
): Promise<ApiKey & { key: string }> {
  const now = ctx.clock.now();
  check(input, now);
  const row = {
    ...input,
    scopes: orderScopes(input.scopes),
    keyId: ctx.ids.next("key"),
    hash: hashSecret(secret),
    createdAt: now,
    lastUsedAt: null,
    revokedAt: null,
  };
  await ctx.store.write([{
    sql: INSERT,
    args: [row.keyId, row.name, row.hash, JSON.stringify(row.scopes), row.agentId, now, row.expiresAt],
  }]);
  ctx.keyCache.recordCreation();
  return { ...toApiKey(row, now), key: writeKeyText(row.keyId, secret) };
}

function check({ name, scopes, agentId, expiresAt }: NewKey, now: number): void {
  if (name.trim() === "") throw invalid("name", "it needs a name that can be seen");
  if (scopes.length === 0) throw invalid("scopes", "it needs at least one scope");
  if (agentId !== null && scopes.includes("admin")) {
    throw invalid("scopes", "a key of one agent can't have the scope admin, which is about all of them");
  }
  if (expiresAt !== null && expiresAt <= now) throw invalid("expires_at", "it would have expired already");
}

function invalid(path: string, message: string): PurserError {
  return new PurserError("invalid", `Cannot make the API key: ${message}`, {
    details: { issues: [{ path, message }] },
  });
}

const { apiKeys } = tables;

/** A filter of keys. */
export interface KeyFilter {
  limit: number;
  status?: KeyStatus;
  /** The last key of the previous page. */
  before?: { createdAt: number; keyId: string };
}

/** Lists keys, newest first, including revoked and expired ones. */
export async function listKeys(
  { query, clock }: Pick<KeyContext, "query" | "clock">,
  { limit, status, before }: KeyFilter,
): Promise<ApiKey[]> {
  const now = clock.now();
  const { createdAt, keyId } = apiKeys;
  const rows = await query.select().from(apiKeys).where(and(
    status && hasStatus(status, now),
    before &&
      or(lt(createdAt, before.createdAt), and(eq(createdAt, before.createdAt), lt(keyId, before.keyId))),
  )).orderBy(desc(createdAt), desc(keyId)).limit(limit);
  return rows.map((row) => toApiKey(row, now));
}

/** Returns one key. Throws `not_found`. */
export async function getKey(
  { store, clock }: Pick<KeyContext, "store" | "clock">,
  keyId: string,
): Promise<ApiKey> {
  const row = await readKey(store, keyId);
  if (!row) throw keyNotFound(keyId);
  return toApiKey(row, clock.now());
}

/** SQL for the same status that `statusOf()` returns. */
function hasStatus(status: KeyStatus, now: number) {
  const { revokedAt, expiresAt } = apiKeys;
  switch (status) {
    case "revoked":
      return isNotNull(revokedAt);
    case "expired":
      return and(isNull(revokedAt), lte(expiresAt, now));
    case "active":
      return and(isNull(revokedAt), or(isNull(expiresAt), gt(expiresAt, now)));
  }
}

/** Returns the error for an unknown id, but without a text that may be a whole key passed by mistake. */
export function keyNotFound(keyId: string): PurserError {
  const named = /^key_\w{1,40}$/.test(keyId) ? ` ${keyId}` : "";
  return new PurserError("not_found", `Cannot find API key${named}; purser keys list shows the ids`);
}

/**
 * Revokes a key: at once in this process, within `KEY_CACHE_MS` in others on the same database. A key that is revoked already
 * stays as it is. Throws `not_found`.
 */
export async function revokeKey(
  ctx: Pick<KeyContext, "store" | "clock" | "keyCache">,
  keyId: string,
): Promise<void> {
  const results = await ctx.store.write([
    {
      sql: "UPDATE api_keys SET revoked_at = ? WHERE key_id = ? AND revoked_at IS NULL",
      args: [ctx.clock.now(), keyId],
    },
    { sql: "SELECT 1 FROM api_keys WHERE key_id = ?", args: [keyId] },
  ]);
  ctx.keyCache.clear();
  if (results[1]!.rows.length === 0) throw keyNotFound(keyId);
}

const READ = `SELECT key_id, name, hash, scopes, agent_id, created_at, expires_at, last_used_at, revoked_at
FROM api_keys WHERE key_id = ?`;

/** Reads the row of a key, if it exists. Written as SQL, because it runs on each request. */
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
