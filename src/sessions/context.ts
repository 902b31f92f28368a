import type { Clock } from "../kernel/clock.ts";
import type { Ids } from "../kernel/ids.ts";
import type { Query, Store } from "../store/mod.ts";

/** What sessions need of the process they run in. */
export interface SessionContext {
  store: Store;
  query: Query;
  clock: Clock;
  ids: Ids;
  /** This process, as the holder of leases. */
  instanceId: string;
}

/** How long a run on a shared database may be silent before any other instance takes it for dead. */
export const RUN_LEASE_MS = 60_000;
