import { DATABASE_NOW } from "./dialect.ts";
import type { Store } from "./store.ts";

/**
 * SQL expression of the time that leases are measured by, in epoch milliseconds; `parameter`, such as `?3`, is bound to
 * `leaseNow()`.
 */
export function leaseTime(parameter: string): string {
  return `coalesce(${parameter}, ${DATABASE_NOW})`;
}

/**
 * Returns the value for the parameter of `leaseTime()`: null on a shared database, whose own clock is used, so that
 * processes with different clocks agree; else the time of this process.
 */
export function leaseNow(
  { store, clock }: { store: Pick<Store, "isShared">; clock: { now(): number } },
): number | null {
  return store.isShared ? null : clock.now();
}
