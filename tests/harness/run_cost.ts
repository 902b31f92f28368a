import { runCost } from "../../src/ledger/mod.ts";
import type { Store } from "../../src/store/mod.ts";

/** Returns the cost of a run so far in nano-USD, as budgets see it. */
export async function readRunCost(store: Pick<Store, "read">, runId: string): Promise<bigint> {
  return (await store.read({ sql: `SELECT ${runCost("?1")}`, args: [runId] })).rows[0]![0] as bigint;
}
