import type { Clock } from "../clock.ts";
import type { Ids } from "../ids.ts";
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

/** How long a run on a shared database may be silent before any instance takes it for dead. */
export const RUN_LEASE_MS = 60_000;

/**
 * The time for leases as SQL: a remote database's own clock, so that instances whose clocks differ agree;
 * the process's clock where it owns the database.
 */
export const LEASE_NOW = "coalesce(?, CAST(unixepoch('subsec') * 1000 AS INTEGER))";

/** The value for the `?` in `LEASE_NOW`. */
export function leaseNow(ctx: Pick<SessionContext, "store" | "clock">): number | null {
  return ctx.store.kind === "remote" ? null : ctx.clock.now();
}
