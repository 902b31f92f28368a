import { MINUTE_MS } from "../kernel/clock.ts";
import { toHex } from "../kernel/encoding.ts";
import { messageOf } from "../kernel/errors.ts";
import { checkPresentSecret, readSessionKey, unauthorized, usePrincipal } from "./authenticate.ts";
import type { Principal } from "./principal.ts";
import type { KeyContext } from "./context.ts";
import { hashSecret } from "./key_text.ts";
import { IDLE_MS, LONGEST_MS, readKey, readSession } from "./key_rows.ts";

/** The sessions of the dashboard: its page keeps a token of one, never the key, and the database has its hash. */

/** A code is for the moment between a command and the browser that it opens. */
const CODE_MS = MINUTE_MS;
/** The sessions of one key; a further one ends the one that was unused for longest. */
const MAX_PER_KEY = 20;
/** The sessions whose last use is remembered in a process. */
const MAX_REMEMBERED = 10_000;

type SessionContext = Omit<KeyContext, "ids" | "query">;

/** Begins an attempt with a code; the function that it returns is called with true if the code was right. */
type BeginAttempt = (digest: string) => (isValid: boolean) => void;

/** A session that was made just now, with its token, which is stored nowhere else. */
export interface NewWebSession {
  token: string;
  expiresAt: number;
  principal: Principal;
}

const REMOVE_ENDED = "DELETE FROM web_sessions WHERE expires_at <= ?1 OR last_used_at <= ?2";
/** Of the key of a session. */
const OF_KEY = "key_id = (SELECT key_id FROM web_sessions WHERE hash = ?1)";
const REMOVE_EXCESS = `DELETE FROM web_sessions WHERE ${OF_KEY} AND hash NOT IN (
  SELECT hash FROM web_sessions WHERE ${OF_KEY} ORDER BY last_used_at DESC LIMIT ${MAX_PER_KEY})`;
const INSERT = `INSERT INTO web_sessions (hash, key_id, created_at, last_used_at, expires_at)
VALUES (?1, ?2, ?3, ?3, ?4)`;

/** Creates a session of an authenticated key. */
export async function createWebSession(
  { store, clock }: Pick<KeyContext, "store" | "clock">,
  principal: Principal,
  token: string = newSessionToken(),
): Promise<NewWebSession> {
  checkPresentSecret(principal);
  const now = clock.now();
  const [hash, expiresAt] = [hashSecret(token), now + LONGEST_MS];
  await store.write([
    { sql: REMOVE_ENDED, args: [now, now - IDLE_MS] },
    { sql: INSERT, args: [hash, principal.keyId, now, expiresAt] },
    { sql: REMOVE_EXCESS, args: [hash] },
  ]);
  return { token, expiresAt, principal: { ...principal, webSession: hash } };
}

/**
 * Authenticates the token of a session, and records its use. As with keys, other instances on a shared database learn within
 * `KEY_CACHE_MS` that it has ended.
 *
 * @throws {PurserError} `unauthorized` for a session that has ended, or whose key is no longer active
 */
export async function authenticateSession(ctx: SessionContext, token: string): Promise<Principal> {
  const hash = hashSecret(token);
  const row = await ctx.keyCache.get(hash, () => readSessionKey(ctx, hash));
  if (!row) throw unauthorized("Cannot use the session: it has ended; sign in again");
  const principal = usePrincipal(ctx, row);
  recordUse(ctx, hash);
  return { ...principal, webSession: hash };
}

/** Returns the time at which a session ends at the latest; undefined if it has ended. */
export async function readSessionEnd(
  ctx: Pick<KeyContext, "store" | "clock">,
  hash: string,
): Promise<number | undefined> {
  return (await readSession(ctx, hash))?.expiresAt;
}

/** Ends a session: at once in this process. One that has ended already stays so. */
export async function endWebSession({ store, keyCache }: SessionContext, token: string): Promise<void> {
  await store.write([{ sql: "DELETE FROM web_sessions WHERE hash = ?", args: [hashSecret(token)] }]);
  keyCache.clear();
}

const REMOVE_CODES = "DELETE FROM web_codes WHERE expires_at <= ?1 OR key_id = ?2";
const INSERT_CODE = "INSERT INTO web_codes (hash, key_id, expires_at) VALUES (?, ?, ?)";

/** Creates a code that makes a session of a key, once; it replaces the one before it. */
export async function createSignInCode(
  { store, clock }: Pick<KeyContext, "store" | "clock">,
  keyId: string,
  code: string = randomHex(),
): Promise<{ code: string; expiresAt: number }> {
  const now = clock.now();
  await store.write([
    { sql: REMOVE_CODES, args: [now, keyId] },
    { sql: INSERT_CODE, args: [hashSecret(code), keyId, now + CODE_MS] },
  ]);
  return { code, expiresAt: now + CODE_MS };
}

const READ_CODE = "SELECT key_id FROM web_codes WHERE hash = ?1 AND expires_at > ?2";

/** Returns the key of a one-time code, and leaves the code valid. Throws as `redeemSignInCode()` does. */
export async function readCodeKey(
  ctx: SessionContext,
  code: string,
  beginAttempt?: BeginAttempt,
): Promise<Principal> {
  const hash = hashSecret(code);
  const end = beginAttempt?.(hash);
  const { rows: [found] } = await ctx.store.read({ sql: READ_CODE, args: [hash, ctx.clock.now()] }).catch(
    (error) => {
      end?.(true); // no code was wrong
      throw error;
    },
  );
  end?.(found !== undefined);
  const row = found === undefined ? undefined : await readKey(ctx.store, String(found[0]));
  if (!row) throw usedCode();
  return usePrincipal(ctx, row);
}

const usedCode = () => unauthorized("Cannot use the code: it works once, within a minute; make a new one");

// One unit: of two requests with the same code, one makes a session.
const INSERT_BY_CODE = `INSERT INTO web_sessions (hash, key_id, created_at, last_used_at, expires_at)
SELECT ?1, key_id, ?3, ?3, ?4 FROM web_codes WHERE hash = ?2 AND expires_at > ?3`;

/**
 * Creates a session by a one-time code. Throws `unauthorized` for one that was used, has expired or is not known. As with
 * keys, `beginAttempt` may refuse it before the database is asked, and its result is called with whether it was right.
 */
export async function redeemSignInCode(
  ctx: SessionContext,
  code: string,
  beginAttempt?: BeginAttempt,
): Promise<NewWebSession> {
  const now = ctx.clock.now();
  const token = newSessionToken();
  const [hash, codeHash, expiresAt] = [hashSecret(token), hashSecret(code), now + LONGEST_MS];
  const end = beginAttempt?.(codeHash);
  const results = await ctx.store.write([
    { sql: REMOVE_ENDED, args: [now, now - IDLE_MS] },
    { sql: INSERT_BY_CODE, args: [hash, codeHash, now, expiresAt] },
    { sql: "DELETE FROM web_codes WHERE hash = ?", args: [codeHash] },
    { sql: REMOVE_EXCESS, args: [hash] },
    { sql: "SELECT key_id FROM web_sessions WHERE hash = ?", args: [hash] },
  ]).catch((error) => {
    end?.(true); // no code was wrong
    throw error;
  });
  const keyId = results.at(-1)!.rows[0]?.[0];
  end?.(keyId !== undefined);
  const row = keyId === undefined ? undefined : await readKey(ctx.store, String(keyId));
  if (!row) throw usedCode();
  return { token, expiresAt, principal: { ...usePrincipal(ctx, row), webSession: hash } };
}

/** The tokens of earlier versions were in cookies, and have no prefix: they aren't accepted here. */
const newSessionToken = () => `pws_${randomHex()}`;

/** 256 random bits. */
function randomHex(): string {
  return toHex(crypto.getRandomValues(new Uint8Array(32)));
}

const RECORD_USE = "UPDATE web_sessions SET last_used_at = ?2 WHERE hash = ?1 AND last_used_at < ?2";

/** Records the use of a session, once a minute at most, in the background, as that of keys. */
function recordUse({ store, clock, log, keyCache, keepAlive }: SessionContext, hash: string): void {
  const now = clock.now();
  const { useRecordedAt, writing: pending } = keyCache;
  const recordedAt = useRecordedAt.get(hash);
  if (recordedAt !== undefined && recordedAt <= now && now - recordedAt < MINUTE_MS) return;
  if (useRecordedAt.size > MAX_REMEMBERED) useRecordedAt.clear();
  useRecordedAt.set(hash, now);
  const writing = store.write([{ sql: RECORD_USE, args: [hash, now] }]).then(
    () => {},
    (error) => log.warn("The last use of a session could not be recorded", { reason: messageOf(error) }),
  ).finally(() => pending.delete(writing));
  pending.add(writing);
  keepAlive?.(writing);
}
