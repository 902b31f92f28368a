import { messageOf } from "../kernel/errors.ts";
import { MINUTE_MS } from "../kernel/clock.ts";
import type { KeyRow } from "./api_key.ts";
import type { KeyContext } from "./context.ts";

const NOTE = `UPDATE api_keys SET last_used_at = ?2
WHERE key_id = ?1 AND (last_used_at IS NULL OR last_used_at < ?2)`;

/**
 * Notes that a key is used, once a minute at most. The request does not wait for it, and does not fail with it.
 */
export function noteUse(
  { store, clock, log, keyMemory, keepAlive }: Omit<KeyContext, "query" | "ids">,
  { keyId, lastUsedAt }: Pick<KeyRow, "keyId" | "lastUsedAt">,
): void {
  const now = clock.now();
  const notedAt = keyMemory.notedAt.get(keyId) ?? lastUsedAt;
  // A time in the future is of a clock that was set back: it counts as long ago.
  if (notedAt !== null && notedAt <= now && now - notedAt < MINUTE_MS) return;
  keyMemory.notedAt.set(keyId, now);
  const writing = store.write([{ sql: NOTE, args: [keyId, now] }]).then(
    () => {},
    (error) =>
      log.warn("The last use of an API key could not be noted", { key_id: keyId, reason: messageOf(error) }),
  ).finally(() => keyMemory.writing.delete(writing));
  keyMemory.writing.add(writing);
  keepAlive?.(writing);
}
