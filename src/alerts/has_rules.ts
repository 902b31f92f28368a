import type { Store } from "../store/mod.ts";

/**
 * Returns whether there may be rules. On a shared database always true: another process may add one at any time.
 */
export async function hasRules(store: Pick<Store, "isShared" | "read">): Promise<boolean> {
  if (store.isShared) return true;
  const { rows } = await store.read({ sql: "SELECT 1 FROM alert_rules LIMIT 1" });
  return rows.length > 0;
}
