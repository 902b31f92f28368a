import type { KeyStatus, Scope } from "../contract/values.ts";
import { PurserError } from "../kernel/errors.ts";
import { type KeyRow, orderScopes, toApiKey } from "./api_key.ts";
import { type ApiKey } from "../contract/keys.ts";
import type { KeyContext } from "./context.ts";
import { hashSecret, newSecret, writeKeyText } from "./key_text.ts";
import { and, desc, eq, gt, isNotNull, isNull, lt, lte, or } from "drizzle-orm";
import { type SqlValue, type Store, tables } from "../store/mod.ts";

/** A key that is to be made. */
export interface NewKey {
  name: string;
  scopes: readonly Scope[];
  /** The only agent that it is to reach; null for all. */
  agentId: string | null;
  /** When it ends, in milliseconds since the epoch; null for never. */
  expiresAt: number | null;
}

const INSERT = `INSERT INTO api_keys (key_id, name, hash, scopes, agent_id, created_at, expires_at)
VALUES (?, ?, ?, ?, ?, ?, ?)`;

/**
 * Makes a key. Its text is in the answer and nowhere else; the database has a hash of its secret part. From the first
 * key on, keys are asked for.
 *
 * @throws {PurserError} `invalid` when it has no name, could do nothing, has ended already, or is one agent's and `admin`
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

/** Which keys are listed. */
export interface KeyFilter {
  limit: number;
  status?: KeyStatus;
  /** The last one of the page before. */
  before?: { createdAt: number; keyId: string };
}

/** Keys, newest first; the revoked and the expired ones too. */
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

/** One key. Throws `not_found`. */
export async function getKey(
  { store, clock }: Pick<KeyContext, "store" | "clock">,
  keyId: string,
): Promise<ApiKey> {
  const row = await readKey(store, keyId);
  if (!row) throw keyNotFound(keyId);
  return toApiKey(row, clock.now());
}

/** The same as `statusOf()` says of a row. */
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

/** By its id alone: whoever puts a whole key in its place by mistake must not find it in an error. */
export function keyNotFound(keyId: string): PurserError {
  const named = /^key_\w{1,40}$/.test(keyId) ? ` ${keyId}` : "";
  return new PurserError("not_found", `Cannot find API key${named}; purser keys list tells the ids`);
}

/**
 * Takes a key back for good: at once in this process, within `KEY_CACHE_MS` in others on the same database. One that
 * is revoked already stays as it is. Throws `not_found`.
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
  ctx.keyCache.forget();
  if (results[1]!.rows.length === 0) throw keyNotFound(keyId);
}

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
