import { bookLeftCalls } from "../calls/mod.ts";
import { RENEW_MS, SELECT_RESERVING, sweepReservations } from "../budgets/mod.ts";
import { giveUpOrphans, instanceOf, SELECT_HOLDERS } from "../delivery/mod.ts";
import { selectClaimingInstances, sweepIdempotencyKeys } from "../keys/idempotency/mod.ts";
import { HOUR_MS } from "../kernel/clock.ts";
import { messageOf } from "../kernel/errors.ts";
import { sweepWindows } from "../ledger/mod.ts";
import { recoverRuns, RUN_LEASE_MS } from "../sessions/mod.ts";
import { sweepGenerations } from "../snapshots/generations/mod.ts";
import type { CoreParts } from "./core_parts.ts";

/** Processes that live shorter than this leave the retention sweep to others, and write nothing. */
const FIRST_SWEEP_AFTER_MS = 1_000;

/**
 * Books what dead processes have spooled, recovers their runs, which count those calls, and removes the messages of replaced
 * sessions.
 */
export async function recover(core: CoreParts): Promise<void> {
  await bookLeftCalls(core);
  const interrupted = await recoverRuns(core);
  if (interrupted.length > 0) {
    core.log.warn("Runs of a process that ended were marked interrupted", { runs: interrupted });
    await removeStaleLocks(core);
  }
  try {
    await sweepGenerations(core);
  } catch (error) {
    // This frees space and is retried later; it must not keep a service from starting on a full disk.
    core.log.warn("The messages of replaced sessions could not be removed", { reason: messageOf(error) });
  }
}

/** On a shared database, recovers every 30 s, and removes what dead processes have reserved: any of them may die at any time. */
export async function startRecovery(core: CoreParts, signal: AbortSignal): Promise<void> {
  for (;;) {
    await core.clock.sleep(RUN_LEASE_MS / 2, signal);
    if (signal.aborted) return;
    try {
      await recover(core);
      await sweepReservations(core);
    } catch (error) {
      core.log.warn("The runs of dead instances could not be recovered", { reason: messageOf(error) });
    }
  }
}

/** Renews the reservations of long calls until `signal` aborts, which is after the last call. */
export async function startRenewals({ gate, clock, log }: CoreParts, signal: AbortSignal): Promise<void> {
  for (;;) {
    await clock.sleep(RENEW_MS, signal);
    if (signal.aborted) return;
    try {
      await gate.renew();
    } catch (error) {
      log.warn("The reservations of calls in progress could not be renewed", { reason: messageOf(error) });
    }
  }
}

/** Removes rows and locks that have expired: old spend windows, reservations, orphaned deliveries, idempotency keys, stale locks. */
export async function sweepExpired(core: CoreParts): Promise<void> {
  await sweepWindows(core);
  await sweepReservations(core);
  await giveUpOrphans(core);
  await sweepIdempotencyKeys(core);
  await removeStaleLocks(core);
}

/** Runs the retention sweep after 1 s and then every hour. */
export async function startRetentionSweeps(core: CoreParts, signal: AbortSignal): Promise<void> {
  await core.clock.sleep(FIRST_SWEEP_AFTER_MS, signal);
  while (!signal.aborted) {
    try {
      await sweepExpired(core);
    } catch (error) {
      if (!signal.aborted) core.log.warn("The retention sweep failed", { reason: messageOf(error) });
    }
    await core.clock.sleep(HOUR_MS, signal);
  }
}

/** Removes the locks of dead instances, except those that a run, an import, a delivery, a claim or a reservation refers to. */
async function removeStaleLocks(core: CoreParts): Promise<void> {
  const { store } = core;
  const [running, staging, holders, claiming, reserving] = await store.readAll([
    { sql: "SELECT DISTINCT instance_id FROM runs WHERE status = 'running'" },
    { sql: "SELECT DISTINCT staged_by FROM loose_generations WHERE staged_by IS NOT NULL" },
    { sql: SELECT_HOLDERS },
    selectClaimingInstances(core),
    { sql: SELECT_RESERVING },
  ]);
  const needed = new Set([
    ...[...running!.rows, ...claiming!.rows, ...reserving!.rows].map(([instance]) => instance as string),
    ...staging!.rows.map(([importId]) => (importId as string).split("/")[0]),
    ...holders!.rows.map(([holder]) => instanceOf(holder as string)),
  ]);
  await store.instances.removeStale((instance) => needed.has(instance));
}
