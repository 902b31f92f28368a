import type { Store } from "../store/mod.ts";
import type { KnownRules } from "./context.ts";

/** Only a process that is alone sees every rule that is added; on a shared database others may add one at any time. */
export async function knowRules(store: Pick<Store, "isShared" | "read">): Promise<KnownRules> {
  if (store.isShared) return { mayExist: true };
  const { rows } = await store.read({ sql: "SELECT 1 FROM alert_rules LIMIT 1" });
  return { mayExist: rows.length > 0 };
}
