import { HOUR_MS } from "../kernel/clock.ts";
import { messageOf } from "../kernel/errors.ts";
import { sweepGenerations } from "../snapshots/generations/mod.ts";
import type { Core } from "./core.ts";
import type { CoreParts } from "./core_parts.ts";

/** A process that ends earlier than this leaves the retention sweep to others. */
const FIRST_SWEEP_AFTER_MS = 1_000;

/** Half the lease of a run. */
const RECOVERY_MS = 30_000;

/**
 * Books what dead processes have spooled, then recovers their runs, whose totals include those calls, and removes the messages of
 * replaced sessions.
 */
export async function recover(core: Core): Promise<void> {
  if ((await core.callSpool.readLeft()).length > 0 && !core.stopping.aborted) {
    const [whole, { bookLeftCalls }] = await Promise.all([core.whole(), import("../calls/mod.ts")]);
    await bookLeftCalls(whole);
  }
  if (await hasRunning(core)) await recoverDeadRuns(core);
  try {
    await sweepGenerations(core);
  } catch (error) {
    // This frees space and is retried later; it must not keep a service from starting on a full disk.
    core.log.warn("The messages of replaced sessions could not be removed", { reason: messageOf(error) });
  }
}

async function hasRunning({ store }: Core): Promise<boolean> {
  const { rows } = await store.read({ sql: "SELECT 1 FROM runs WHERE status = 'running' LIMIT 1" });
  return rows.length > 0;
}

async function recoverDeadRuns(core: Core): Promise<void> {
  const { recoverRuns } = await import("../sessions/mod.ts");
  const interrupted = await recoverRuns(core);
  if (interrupted.length === 0) return;
  core.log.warn("Runs of a process that ended were marked interrupted", { runs: interrupted });
  const { removeStaleLocks } = await import("./sweeps.ts");
  await removeStaleLocks(core);
}

/** On a shared database, recovers every 30 s, and removes what dead processes have reserved: any of them may die at any time. */
export async function startRecovery(core: Core, signal: AbortSignal): Promise<void> {
  for (;;) {
    await core.clock.sleep(RECOVERY_MS, signal);
    if (signal.aborted) return;
    try {
      await recover(core);
      const { sweepReservations } = await import("../budgets/reservations/mod.ts");
      await sweepReservations(core);
    } catch (error) {
      core.log.warn("The runs of dead instances could not be recovered", { reason: messageOf(error) });
    }
  }
}

/** The interval at which instances look for alerts that are over, and for digests that are due. */
const FOLLOW_MS = 60_000;

/** Resolves alerts that are over, and writes the digests that are due, every minute. */
export async function startFollowing(core: CoreParts, signal: AbortSignal): Promise<void> {
  for (;;) {
    await core.clock.sleep(FOLLOW_MS, signal);
    if (signal.aborted) return;
    await followAlerts(core);
  }
}

/** Resolves alerts that are over, and writes the digests that are due. Never rejects. */
export async function followAlerts(core: CoreParts): Promise<void> {
  try {
    const { resolveAlerts, writeDigests } = await import("../alerts/follow/mod.ts");
    await resolveAlerts(core);
    await writeDigests(core);
  } catch (error) {
    core.log.warn("Alerts could not be resolved, or digests not be written", { reason: messageOf(error) });
  }
}

/** Imports the bills of the config's sources as they are due: each once a day, by one of the processes. */
export async function startBillImports(core: CoreParts): Promise<void> {
  while (!core.stopping.aborted) {
    const { importDueBills } = await import("../bills/import/mod.ts");
    await importDueBills(core);
    await core.clock.sleep(HOUR_MS, core.stopping);
  }
}

/** Runs the retention sweep after 1 s and then every hour. */
export async function startRetentionSweeps(core: CoreParts, signal: AbortSignal): Promise<void> {
  await core.clock.sleep(FIRST_SWEEP_AFTER_MS, signal);
  while (!signal.aborted) {
    try {
      const { sweepExpired } = await import("./sweeps.ts");
      await sweepExpired(core);
    } catch (error) {
      if (!signal.aborted) core.log.warn("The retention sweep failed", { reason: messageOf(error) });
    }
    await core.clock.sleep(HOUR_MS, signal);
  }
}
