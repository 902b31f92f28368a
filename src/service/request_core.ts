import { deliverDue, type DeliveryBounds } from "../delivery/mod.ts";
import { startMonitor } from "../monitor/mod.ts";
import { endLiveRuns } from "../sessions/mod.ts";
import type { Core } from "./core.ts";
import { recover, sweepExpired } from "./maintenance.ts";
import { type CoreOptions, deliveryContext, openParts, OutboxSignal, type Runtime } from "./parts.ts";

/** The core of one request. Nothing runs in the background, so the caller does the follow-up work. */
export interface RequestCore extends Core {
  /** Resolves when the work of the request has ended: runs, roll-ups and the monitor. Never rejects. */
  settle(): Promise<void>;
  /** True once something has fired that waits for delivery. */
  readonly hasFired: boolean;
  /** Delivers due notifications once; see `deliverDue()`. */
  deliverDue(bounds: DeliveryBounds): Promise<void>;
  /** Recovers the runs of dead instances, and runs the retention sweep. */
  recover(): Promise<void>;
}

/** Options of the core of one request. */
export interface RequestCoreOptions extends Omit<CoreOptions, "runtime"> {
  runtime: Omit<Runtime, "keepAlive">;
}

/**
 * Opens the core of one request, for runtimes where requests share no connections and nothing runs between them. On a
 * database whose schema is known it opens without a round trip.
 */
export async function openRequestCore(options: RequestCoreOptions): Promise<RequestCore> {
  const pending = new Set<Promise<unknown>>();
  const keepAlive = (work: Promise<unknown>) => {
    const ended = work.catch(() => {}).finally(() => pending.delete(ended));
    pending.add(ended);
  };
  const outboxSignal = new OutboxSignal();
  const parts = await openParts({ ...options, runtime: { ...options.runtime, keepAlive } }, outboxSignal);
  const monitor = startMonitor({ ...parts, notifyAnomaliesFrom: options.config.notifyAnomaliesFrom });

  const settle = async () => {
    while (pending.size > 0) await Promise.all(pending);
    await monitor.idle();
  };
  const deliver = (bounds: DeliveryBounds) => deliverDue(deliveryContext(parts), bounds);
  return {
    ...parts,
    monitor,
    settle,
    get hasFired() {
      return outboxSignal.hasFired;
    },
    deliverDue: deliver,
    async recover() {
      await recover(parts);
      await sweepExpired(parts);
    },
    async drainDeliveries() {
      await settle();
      await deliver({ timeoutMs: 5_000, attemptsPerChannel: 20 });
    },
    /** Leaves the database open: a response may still be streamed, and there is no connection to close. */
    async close({ graceMs } = {}) {
      await endLiveRuns(parts, graceMs);
      await monitor.stop();
      await parts.channels.close();
    },
  };
}
