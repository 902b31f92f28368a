import type { Scope } from "../contract/values.ts";
import { createHash } from "node:crypto";
import { MINUTE_MS, toIso } from "../kernel/clock.ts";
import { messageOf, PurserError } from "../kernel/errors.ts";
import { type KeyRow, statusOf } from "./api_key.ts";
import type { KeyContext } from "./context.ts";
import { hasHash, parseKeyText } from "./key_text.ts";
import { KEY_CACHE_MS } from "./key_cache.ts";
import { readKey } from "./api_keys.ts";
import type { Store } from "../store/mod.ts";

/** Who a request comes from, and what they may. */
export interface Principal {
  /** Null: whoever has shown no key. */
  readonly keyId: string | null;
  readonly scopes: readonly Scope[];
  /** The only agent within reach; null for all. */
  readonly agentId: string | null;
}

const BEARER = /^Bearer +([\w.~+/-]+=*) *$/i;

/**
 * Recognises the key of an `Authorization` header, and notes its use. A wrong secret and an unknown id cost the same
 * work and get the same answer; that a key is revoked or expired is told only to who has all of it.
 *
 * @throws {PurserError} `unauthorized`; its message never holds the key
 */
export async function authenticate(
  ctx: Omit<KeyContext, "ids" | "query">,
  authorization: string | null,
): Promise<Principal> {
  if (authorization === null) {
    throw unauthorized("Cannot answer without an API key: send one as Authorization: Bearer psr_…");
  }
  const text = BEARER.exec(authorization)?.[1];
  if (text === undefined) {
    throw unauthorized("Cannot read the Authorization header: it has to be Bearer and an API key");
  }
  const parsed = parseKeyText(text);
  if (parsed.is === "foreign") throw unauthorized("Cannot use the API key: it is not one of Purser's, psr_…");
  if (parsed.is === "damaged") {
    throw unauthorized("Cannot use the API key: it is cut off or mistyped; copy all of it again");
  }
  const digest = createHash("sha256").update(text).digest("base64");
  const row = await ctx.keyCache.recall(digest, () => verify(ctx, parsed));
  if (row === undefined) throw unauthorized("Cannot use the API key: it is not known here");
  const status = statusOf(row, ctx.clock.now());
  if (status === "revoked") throw unauthorized("Cannot use the API key: it was revoked");
  if (status === "expired") {
    throw unauthorized(`Cannot use the API key: it expired at ${toIso(row.expiresAt!)}; make a new one`);
  }
  recordUse(ctx, row);
  return { keyId: row.keyId, scopes: row.scopes, agentId: row.agentId };
}

/** The row of a key, if the secret is the right one. */
async function verify(
  { store }: Pick<KeyContext, "store">,
  { keyId, secret }: { keyId: string; secret: string },
): Promise<KeyRow | undefined> {
  const row = await readKey(store, keyId);
  return hasHash(secret, row?.hash) ? row : undefined;
}

/**
 * Tells, as often as it is asked, whether a key is still taken: for answers that go on for as long as the client likes.
 * On a shared database it looks every `KEY_CACHE_MS`.
 */
export function createKeyCheck(
  { store, clock }: Pick<KeyContext, "store" | "clock">,
  { keyId }: Principal,
): () => Promise<boolean> {
  let row: KeyRow | undefined;
  let readAt = -Infinity;
  return async () => {
    if (keyId === null) return false;
    const now = clock.monotonic();
    if (!store.isShared || now - readAt >= KEY_CACHE_MS) {
      row = await readKey(store, keyId);
      readAt = now;
    }
    return row !== undefined && statusOf(row, clock.now()) === "active";
  };
}

function unauthorized(message: string): PurserError {
  return new PurserError("unauthorized", message);
}

const NOTE = `UPDATE api_keys SET last_used_at = ?2
WHERE key_id = ?1 AND (last_used_at IS NULL OR last_used_at < ?2)`;

/**
 * Notes that a key is used, once a minute at most. The request does not wait for it, and does not fail with it.
 */
export function recordUse(
  { store, clock, log, keyCache, keepAlive }: Omit<KeyContext, "query" | "ids">,
  { keyId, lastUsedAt }: Pick<KeyRow, "keyId" | "lastUsedAt">,
): void {
  const now = clock.now();
  const useRecordedAt = keyCache.useRecordedAt.get(keyId) ?? lastUsedAt;
  // A time in the future is of a clock that was set back: it counts as long ago.
  if (useRecordedAt !== null && useRecordedAt <= now && now - useRecordedAt < MINUTE_MS) return;
  keyCache.useRecordedAt.set(keyId, now);
  const writing = store.write([{ sql: NOTE, args: [keyId, now] }]).then(
    () => {},
    (error) =>
      log.warn("The last use of an API key could not be noted", { key_id: keyId, reason: messageOf(error) }),
  ).finally(() => keyCache.writing.delete(writing));
  keyCache.writing.add(writing);
  keepAlive?.(writing);
}

const HAS_KEYS = "SELECT EXISTS (SELECT 1 FROM api_keys)";
const HAS_USABLE = `SELECT EXISTS (SELECT 1 FROM api_keys
WHERE revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ?))`;

/**
 * Whether requests need a key: as soon as the database has ever had one; revoked ones count. Where one is shown, a shared
 * database is looked into anew: it may be the first, made through another instance a moment ago.
 */
export function isAuthRequired(
  ctx: Pick<KeyContext, "store" | "keyCache">,
  { isKeyPresented = false } = {},
): Promise<boolean> {
  return ctx.keyCache.hasKeys(() => readHasKeys(ctx.store), isKeyPresented);
}

/** Whether there is a key that is neither revoked nor expired. */
export async function hasUsableKey({ store, clock }: Pick<KeyContext, "store" | "clock">): Promise<boolean> {
  const { rows } = await store.read({ sql: HAS_USABLE, args: [clock.now()] });
  return Number(rows[0]![0]) === 1;
}

async function readHasKeys(store: Pick<Store, "read">): Promise<boolean> {
  const { rows } = await store.read({ sql: HAS_KEYS });
  return Number(rows[0]![0]) === 1;
}
