import { SELECT_RESERVING, sweepReservations } from "../budgets/reservations/mod.ts";
import { giveUpOrphans, instanceOf, SELECT_HOLDERS } from "../delivery/mod.ts";
import { selectClaimingInstances, sweepIdempotencyKeys } from "../keys/idempotency/mod.ts";
import { extendCalendars, sweepWindows } from "../ledger/mod.ts";
import type { CoreParts } from "./core_parts.ts";

/** Removes rows and locks that have expired: old spend windows, reservations, orphaned deliveries, idempotency keys, stale locks. */
export async function sweepExpired(core: CoreParts): Promise<void> {
  await sweepWindows(core);
  await extendCalendars(core);
  await sweepReservations(core);
  await giveUpOrphans(core);
  await sweepIdempotencyKeys(core);
  await removeStaleLocks(core);
}

/** Removes the locks of dead instances, except those that a run, an import, a delivery, a claim or a reservation refers to. */
export async function removeStaleLocks(core: CoreParts): Promise<void> {
  const { store } = core;
  const [running, staging, holders, claiming, reserving] = await store.readAll([
    { sql: "SELECT DISTINCT instance_id FROM runs WHERE status = 'running'" },
    { sql: "SELECT DISTINCT staged_by FROM loose_generations WHERE staged_by IS NOT NULL" },
    SELECT_HOLDERS,
    selectClaimingInstances(core),
    SELECT_RESERVING,
  ]);
  const needed = new Set([
    ...[...running!.rows, ...claiming!.rows, ...reserving!.rows].map(([instance]) => instance as string),
    ...staging!.rows.map(([importId]) => (importId as string).split("/")[0]),
    ...holders!.rows.map(([holder]) => instanceOf(holder as string)),
  ]);
  await store.instances.removeStale((instance) => needed.has(instance));
}
