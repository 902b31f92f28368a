import { DAY_MS, HOUR_MS } from "../kernel/clock.ts";
import { type KeyRow, readKey } from "./api_keys.ts";
import type { KeyContext } from "./context.ts";

/** A session of the dashboard ends after this time without use, */
export const IDLE_MS = 12 * HOUR_MS;
/** and after this one in any case. */
export const LONGEST_MS = 7 * DAY_MS;

const READ = "SELECT key_id, last_used_at, expires_at FROM web_sessions WHERE hash = ?";

/** The row of a session that has not ended. */
interface SessionRow {
  keyId: string;
  lastUsedAt: number;
  expiresAt: number;
}

/** Reads a session by the hash of its token; undefined if there is none, or it has ended. */
export async function readSession(
  { store, clock }: Pick<KeyContext, "store" | "clock">,
  hash: string,
): Promise<SessionRow | undefined> {
  const { rows: [row] } = await store.read({ sql: READ, args: [hash] });
  if (!row) return undefined;
  const session = { keyId: String(row[0]), lastUsedAt: Number(row[1]), expiresAt: Number(row[2]) };
  const now = clock.now();
  return session.expiresAt > now && session.lastUsedAt > now - IDLE_MS ? session : undefined;
}

/** Reads the key of a session that has not ended; the key itself may be revoked or expired. */
export async function readSessionKey(
  ctx: Pick<KeyContext, "store" | "clock">,
  hash: string,
): Promise<KeyRow | undefined> {
  const session = await readSession(ctx, hash);
  return session && await readKey(ctx.store, session.keyId);
}
