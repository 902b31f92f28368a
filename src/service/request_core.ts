import type { DeliveryBounds } from "../delivery/mod.ts";
import type { WholeCore } from "./core.ts";
import type { CoreOptions, Runtime } from "./core_parts.ts";
import { openParts } from "./parts.ts";

/** The core of one request. No maintenance runs in the background, so the caller does it. */
export interface RequestCore extends WholeCore {
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
  let hasFired = false;
  const requestOptions = { ...options, runtime: { ...options.runtime, keepAlive } };
  const parts = await openParts(requestOptions, () => hasFired = true);
  const [{ createWork, deliveryContext, endCalls }, { deliverDue }, { endQuietCalls }] = await Promise.all([
    import("./work.ts"),
    import("../delivery/mod.ts"),
    import("../gateway/mod.ts"),
  ]);
  const work = createWork(parts, requestOptions);
  const all = { ...parts, ...work };
  const over = new AbortController();
  void endQuietCalls(all, over.signal);

  const core: RequestCore = {
    ...all,
    whole: () => Promise.resolve(core),
    async settle() {
      while (pending.size > 0) await Promise.all(pending);
      await work.monitor.idle();
    },
    get hasFired() {
      return hasFired;
    },
    deliverDue: (bounds) => deliverDue(deliveryContext(all), bounds),
    async recover() {
      const [{ followAlerts, recover }, { sweepExpired }] = await Promise.all([
        import("./maintenance.ts"),
        import("./sweeps.ts"),
      ]);
      await recover(core);
      await sweepExpired(core);
      await followAlerts(core);
    },
    async drainDeliveries() {
      await core.settle();
      await core.deliverDue({ timeoutMs: 5_000, attemptsPerChannel: 20 });
    },
    abandonRuns: () => Promise.resolve(), // no signal ends a request
    /** Leaves the database open: a response may still be streamed, and there is no connection to close. */
    async close({ graceMs } = {}) {
      await endCalls(all, graceMs);
      await work.gate.close();
      over.abort();
      await work.monitor.stop();
      await work.channels.close();
    },
  };
  return core;
}
