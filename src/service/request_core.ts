import { deliverDue, type DeliveryBounds } from "../delivery/mod.ts";
import { assembleCore, type Core, type CoreOptions, recover, type Runtime, tidy } from "./core.ts";
import { startMonitor } from "../monitor/mod.ts";

/** A core that lives as long as one request, and what follows from it. */
export interface RequestCore extends Core {
  /** Resolves when all that the request set going has ended: runs, and what the monitor makes of them. Never rejects. */
  settle(): Promise<void>;
  /** Whether something fired that waits to be delivered. */
  readonly hasFired: boolean;
  /** Goes through the outbox once; see `deliverDue`. */
  deliverDue(bounds: DeliveryBounds): Promise<void>;
  /** Ends the runs of instances that died, and removes what they, replaced sessions and time have left. */
  recover(): Promise<void>;
}

/** How a core for one request is opened. */
export interface RequestCoreOptions extends Omit<CoreOptions, "runtime"> {
  runtime: Omit<Runtime, "keepAlive">;
}

/**
 * Opens a core for one request, where requests may share no connections and nothing runs between them. It goes on no
 * longer than it is waited for: nothing is recovered, delivered or watched in the background. On a database whose
 * schema is known it opens without a round trip.
 */
export async function openRequestCore(options: RequestCoreOptions): Promise<RequestCore> {
  const runs = new Set<Promise<unknown>>();
  const keepAlive = (run: Promise<unknown>) => {
    const ended = run.catch(() => {}).finally(() => runs.delete(ended));
    runs.add(ended);
  };
  const { core, dispatch, delivering } = await assembleCore({
    ...options,
    runtime: { ...options.runtime, keepAlive },
  });
  let hasFired = false;
  delivering.wake = () => void (hasFired = true);
  const monitor = startMonitor({ ...core, notifyAnomaliesFrom: options.config.notifyAnomaliesFrom });
  const settle = async () => {
    while (runs.size > 0) await Promise.all(runs);
    await monitor.idle();
  };
  const deliver = (bounds: DeliveryBounds) => deliverDue(dispatch, bounds);
  return {
    ...core,
    monitor,
    settle,
    get hasFired() {
      return hasFired;
    },
    deliverDue: deliver,
    async recover() {
      await recover(core);
      await tidy(core);
    },
    async drainDeliveries() {
      await settle();
      await deliver({ timeoutMs: 5_000, attemptsPerChannel: 20 });
    },
    /** The database stays usable: an answer may still be on its way out, and there is no connection to end. */
    async close(closing) {
      await core.endRuns(closing);
      await monitor.stop();
      await core.channels.close();
    },
  };
}
