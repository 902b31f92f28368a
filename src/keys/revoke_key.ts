import type { KeyContext } from "./context.ts";
import { keyNotFound } from "./list_keys.ts";

/**
 * Takes a key back for good: at once in this process, within `REMEMBERED_MS` in others on the same database. One that
 * is revoked already stays as it is. Throws `not_found`.
 */
export async function revokeKey(
  ctx: Pick<KeyContext, "store" | "clock" | "keyMemory">,
  keyId: string,
): Promise<void> {
  const results = await ctx.store.write([
    {
      sql: "UPDATE api_keys SET revoked_at = ? WHERE key_id = ? AND revoked_at IS NULL",
      args: [ctx.clock.now(), keyId],
    },
    { sql: "SELECT 1 FROM api_keys WHERE key_id = ?", args: [keyId] },
  ]);
  ctx.keyMemory.forget();
  if (results[1]!.rows.length === 0) throw keyNotFound(keyId);
}
