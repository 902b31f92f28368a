import type { Store } from "../store/mod.ts";
import type { KeyContext } from "./context.ts";

const HAS_KEYS = "SELECT EXISTS (SELECT 1 FROM api_keys)";
const HAS_USABLE = `SELECT EXISTS (SELECT 1 FROM api_keys
WHERE revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ?))`;

/**
 * Whether requests need a key: as soon as the database has ever had one; revoked ones count. Where one is shown, a shared
 * database is looked into anew: it may be the first, made through another instance a moment ago.
 */
export function isAuthRequired(
  ctx: Pick<KeyContext, "store" | "keyMemory">,
  { isOneShown = false } = {},
): Promise<boolean> {
  return ctx.keyMemory.hasKeys(() => readHasKeys(ctx.store), isOneShown);
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
