import { createHash } from "node:crypto";
import { MINUTE_MS, toIso } from "../kernel/clock.ts";
import { type ErrorDetails, messageOf, PurserError } from "../kernel/errors.ts";
import { KEY_OF_CAPTURE } from "../kernel/ids.ts";
import { type KeyRow, statusOf } from "./api_keys.ts";
import type { VerifiedKey } from "./shared_keys.ts";
import type { KeyContext } from "./context.ts";
import { hasHash, parseKeyText } from "./key_text.ts";
import type { Principal } from "./principal.ts";
import { readKey, readSession } from "./key_rows.ts";
import type { Store } from "../store/mod.ts";

const BEARER = /^Bearer +([\w.~+/-]+=*) *$/i;

/**
 * Authenticates the key of an `Authorization` header, and records its use. A wrong secret and an unknown id take the same time
 * and give the same error; that a key is revoked or expired is disclosed only with the right secret. `beginAttempt` is called
 * with the digest of a key that was never valid in this process, before it is looked up, and may refuse it; its result is
 * called with whether the secret was right.
 *
 * @throws {PurserError} `unauthorized`; its message never includes the key
 */
export async function authenticate(
  ctx: Omit<KeyContext, "ids" | "query">,
  authorization: string | null,
  beginAttempt?: (digest: string) => (isValid: boolean) => void,
): Promise<Principal> {
  if (authorization === null) {
    throw unauthorized("Cannot answer without an API key: send one as Authorization: Bearer psr_…");
  }
  const text = BEARER.exec(authorization)?.[1];
  if (text === undefined) {
    throw unauthorized("Cannot read the Authorization header: it has to be Bearer and an API key");
  }
  const digest = createHash("sha256").update(text).digest("base64");
  const row = ctx.keyCache.wasValid(digest)
    ? await findKey(ctx, text, digest)
    : await attempt(ctx, text, digest, beginAttempt?.(digest));
  const principal = usePrincipal(ctx, row);
  ctx.secrets?.add([text]);
  return principal;
}

/** Returns the principal of a key whose secret was right, and records its use. Throws `unauthorized` unless it is active. */
export function usePrincipal(ctx: Omit<KeyContext, "ids" | "query">, row: VerifiedKey): Principal {
  const status = statusOf(row, ctx.clock.now());
  const details = { key_id: row.keyId, key_name: row.name };
  if (status === "revoked") throw unauthorized("Cannot use the API key: it was revoked", details);
  if (status === "expired" && row.isReplaced) {
    throw unauthorized("Cannot use the API key: it got a new secret; use that one", details);
  }
  if (status === "expired") {
    throw unauthorized(
      `Cannot use the API key: it expired at ${toIso(row.expiresAt!)}; make a new one`,
      details,
    );
  }
  recordUse(ctx, row);
  const { keyId, scopes, agentId, name, models, hash, stopBeforeCredits, tags } = row;
  const principal = {
    keyId,
    scopes,
    agentId,
    name,
    models,
    secretHash: hash,
    stopsBeforeCredits: stopBeforeCredits,
    ...(tags && { tags }),
  };
  return row.isReplaced ? { ...principal, isReplaced: true } : principal;
}

/** Looks up a key that is not known to be valid, and reports the result. */
async function attempt(
  ctx: Pick<KeyContext, "store" | "keyCache">,
  text: string,
  digest: string,
  end?: (isValid: boolean) => void,
): Promise<VerifiedKey> {
  try {
    const row = await findKey(ctx, text, digest);
    end?.(true);
    return row;
  } catch (error) {
    // Not a database that can't be reached: no key was wrong.
    end?.(!(error instanceof PurserError && error.code === "unauthorized"));
    throw error;
  }
}

/** Returns the row of a key. Throws `unauthorized` unless the secret is right. */
async function findKey(
  ctx: Pick<KeyContext, "store" | "keyCache">,
  text: string,
  digest: string,
): Promise<VerifiedKey> {
  const row = await ctx.keyCache.get(digest, () => verify(ctx, text));
  if (row === undefined) throw unauthorized("Cannot use the API key: it is not known here");
  return row;
}

/**
 * Returns the row of a key if the secret is right; with a secret that was replaced, the row expires when that ends. Throws
 * `unauthorized` for a text that isn't a whole key.
 */
async function verify({ store }: Pick<KeyContext, "store">, text: string): Promise<VerifiedKey | undefined> {
  const parsed = parseKeyText(text);
  if (parsed.is === "foreign") throw unauthorized("Cannot use the API key: it is not one of Purser's, psr_…");
  if (parsed.is === "damaged") {
    throw unauthorized("Cannot use the API key: it is cut off or mistyped; copy all of it again");
  }
  const row = await readKey(store, parsed.keyId);
  const [isPresent, isReplaced] = [row?.hash, row?.previousHash ?? undefined].map((hash) =>
    hasHash(parsed.secret, hash)
  );
  if (isPresent) return row;
  if (!isReplaced || !row) return undefined;
  const expiresAt = Math.min(row.previousUntil!, row.expiresAt ?? Infinity);
  return { ...row, hash: row.previousHash!, expiresAt, isReplaced };
}

/**
 * Creates a function that returns whether a key, or a session of the dashboard, is still active, for long-lived streams. All
 * streams of a key or a session share one reading of its row, which is repeated every `KEY_CHECK_MS`.
 */
export function createKeyCheck(
  ctx: Pick<KeyContext, "store" | "clock" | "keyCache">,
  { keyId, webSession, secretHash }: Principal,
): () => Promise<boolean> {
  const { store, clock, keyCache } = ctx;
  return async () => {
    if (keyId === null) return false;
    const row = webSession === undefined
      ? await keyCache.getById(keyId, () => readKey(store, keyId))
      : await keyCache.getById(webSession, () => readSessionKey(ctx, webSession));
    if (row === undefined || statusOf(row, clock.now()) !== "active") return false;
    if (webSession !== undefined || secretHash === undefined || row.hash === secretHash) return true;
    return row.previousHash === secretHash && clock.now() < row.previousUntil!;
  };
}

/** Reads the key of a session that has not ended; the key itself may be revoked or expired. */
export async function readSessionKey(
  ctx: Pick<KeyContext, "store" | "clock">,
  hash: string,
): Promise<KeyRow | undefined> {
  const session = await readSession(ctx, hash);
  return session && await readKey(ctx.store, session.keyId);
}

/** Refuses a replaced secret for requests whose result would outlive it: a session of the dashboard, a new key, a new secret. */
export function checkPresentSecret({ isReplaced }: Principal, what = "sign in"): void {
  if (!isReplaced) return;
  throw unauthorized(`Cannot ${what} with this secret: the API key got a new one; use that one`);
}

export function unauthorized(message: string, details?: ErrorDetails): PurserError {
  return new PurserError("unauthorized", message, details && { details });
}

const RECORD_USE = `UPDATE api_keys SET last_used_at = ?2
WHERE key_id = ?1 AND (last_used_at IS NULL OR last_used_at < ?2)`;

/** Records the use of a key, once a minute at most, in the background: a failure is logged and does not fail the request. */
function recordUse(
  { store, clock, log, keyCache, keepAlive }: Omit<KeyContext, "query" | "ids">,
  { keyId, lastUsedAt }: Pick<KeyRow, "keyId" | "lastUsedAt">,
): void {
  const now = clock.now();
  const useRecordedAt = keyCache.useRecordedAt.get(keyId) ?? lastUsedAt;
  // A time in the future comes from a clock that was set back, and counts as long ago.
  if (useRecordedAt !== null && useRecordedAt <= now && now - useRecordedAt < MINUTE_MS) return;
  keyCache.useRecordedAt.set(keyId, now);
  const writing = store.write([{ sql: RECORD_USE, args: [keyId, now] }]).then(
    () => {},
    (error) =>
      log.warn("The last use of an API key could not be recorded", {
        key_id: keyId,
        reason: messageOf(error),
      }),
  ).finally(() => keyCache.writing.delete(writing));
  keyCache.writing.add(writing);
  keepAlive?.(writing);
}

/** SQL for whether a key counts as one that a database has: those of commands are required by their own servers only. */
const IS_COUNTED = `key_id NOT LIKE '${KEY_OF_CAPTURE}%'`;

const HAS_KEYS = `SELECT EXISTS (SELECT 1 FROM api_keys WHERE ${IS_COUNTED})`;
const HAS_USABLE = `SELECT EXISTS (SELECT 1 FROM api_keys
WHERE ${IS_COUNTED} AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ?))`;

/**
 * Returns whether requests need a key: once the database has ever had one, revoked ones included. If the request presents a
 * key, a shared database is read again: the key may be the first, created by another instance a moment ago.
 */
export function isAuthRequired(
  ctx: Pick<KeyContext, "store" | "keyCache">,
  { isKeyPresented = false } = {},
): boolean | Promise<boolean> {
  return ctx.keyCache.hasKeys(() => readHasKeys(ctx.store), isKeyPresented);
}

/** Returns whether there is an active key. */
export async function hasUsableKey({ store, clock }: Pick<KeyContext, "store" | "clock">): Promise<boolean> {
  const { rows } = await store.read({ sql: HAS_USABLE, args: [clock.now()] });
  return Number(rows[0]![0]) === 1;
}

async function readHasKeys(store: Pick<Store, "read">): Promise<boolean> {
  const { rows } = await store.read({ sql: HAS_KEYS });
  return Number(rows[0]![0]) === 1;
}
