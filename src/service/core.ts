import { ensureRules } from "../alerts/mod.ts";
import { startDispatcher } from "../delivery/mod.ts";
import { type Monitor, startMonitor } from "../monitor/mod.ts";
import { createRunEndRetries, endLiveRuns, type RunEndRetries } from "../sessions/mod.ts";
import { recover, startRecovery, startRetentionSweeps } from "./maintenance.ts";
import { startPriceReloads } from "./price_updates.ts";
import { type CoreOptions, type CoreParts, deliveryContext, openParts, OutboxSignal } from "./parts.ts";

/** The time that a closing process leaves for the first attempts to deliver. */
const DELIVERY_GRACE_MS = 5_000;

/** The parts of one process, with its work in the background. */
export interface Core extends CoreParts {
  /** Detects anomalies in the behavior of agents. */
  monitor: Monitor;
  /** Ends runs whose end could not be written. A request leaves them to recovery. */
  runEndRetries?: RunEndRetries;
  /** Makes the first attempts to deliver what has fired, for a bounded time. Later alerts are delivered too. */
  drainDeliveries(): Promise<void>;
  /** Stops, ends the runs, and closes the database once everything is written. With `graceMs`, longer runs are cancelled. */
  close(options?: { graceMs?: number }): Promise<void>;
}

/**
 * Opens the core of a process: opens the database, recovers the runs of dead processes, and starts the dispatcher, the
 * monitor and the maintenance.
 *
 * @throws {PurserError} `unavailable` when the database can't be opened
 */
export async function openCore(options: CoreOptions): Promise<Core> {
  const outboxSignal = new OutboxSignal();
  const parts = await openParts(options, outboxSignal);
  try {
    if (!options.isReadOnly) await recover(parts);
    if (options.alerts) await ensureRules(parts, options.alerts.rules);

    const runEndRetries = createRunEndRetries(parts);
    const dispatcher = options.isReadOnly ? undefined : startDispatcher(deliveryContext(parts));
    if (dispatcher) outboxSignal.onFire(() => dispatcher.wake());
    const monitor = startMonitor({ ...parts, notifyAnomaliesFrom: options.config.notifyAnomaliesFrom });
    if (!options.isReadOnly) {
      if (parts.store.isShared) startRecovery(parts, parts.stopping);
      startRetentionSweeps(parts, parts.stopping);
      startPriceReloads(parts, parts.stopping);
    }

    return {
      ...parts,
      monitor,
      runEndRetries,
      async drainDeliveries() {
        await monitor.idle();
        await dispatcher?.drain({ graceMs: DELIVERY_GRACE_MS });
      },
      async close({ graceMs } = {}) {
        parts.stop();
        await endLiveRuns(parts, graceMs);
        await runEndRetries.stop();
        await parts.rollUps.ended();
        await monitor.stop();
        await dispatcher?.stop({ graceMs: DELIVERY_GRACE_MS });
        await parts.channels.close();
        await parts.store.close();
      },
    };
  } catch (error) {
    await parts.store.close();
    throw error;
  }
}
