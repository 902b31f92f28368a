import type { Store } from "../store/mod.ts";
import { NOW } from "./reservation_logic.ts";

const OLD = `FROM reservations WHERE expires_at <= ${NOW}`;

/**
 * Removes reservations that count no longer: of calls outside a run that Purser keeps, whose process was killed while
 * they were made. Any process may, at any time.
 */
export async function sweepReservations({ store }: { store: Store }): Promise<void> {
  // Looked for first: there is mostly nothing to remove, and a commit costs a flush.
  const { rows } = await store.read({ sql: `SELECT 1 ${OLD} LIMIT 1` });
  if (rows.length > 0) await store.write([{ sql: `DELETE ${OLD}` }]);
}
