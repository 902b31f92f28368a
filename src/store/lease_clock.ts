import type { Store } from "./store.ts";

/** SQL for the database's own clock, in epoch milliseconds. */
export const DATABASE_NOW = "CAST(unixepoch('subsec') * 1000 AS INTEGER)";

/**
 * SQL for the time that leases go by, in epoch milliseconds; `parameter`, such as `?3`, takes the value of `leaseNow()`.
 */
export function leaseTime(parameter: string): string {
  return `coalesce(${parameter}, ${DATABASE_NOW})`;
}

/**
 * The value for the parameter of `leaseTime()`: null on a shared database, whose own clock counts, so that processes whose
 * clocks differ agree; this process's time where it is alone.
 */
export function leaseNow(
  { store, clock }: { store: Pick<Store, "isShared">; clock: { now(): number } },
): number | null {
  return store.isShared ? null : clock.now();
}
