import type { DeliveryContext } from "../delivery/mod.ts";
import type { Store } from "../store/mod.ts";

/** False while there are certainly no enabled rules: then booking a call skips the decision. */
export interface KnownRules {
  mayExist: boolean;
}

/** The context of alerts. */
export interface AlertContext extends DeliveryContext {
  rules: KnownRules;
}

/** Returns true if there may be rules. On a shared database that is always so: another process may add one at any time. */
export async function hasRules(store: Pick<Store, "isShared" | "read">): Promise<boolean> {
  if (store.isShared) return true;
  const { rows } = await store.read({ sql: "SELECT 1 FROM alert_rules LIMIT 1" });
  return rows.length > 0;
}
