import { ensureRules } from "../alerts/mod.ts";
import { ensureBudgets } from "../budgets/mod.ts";
import { deliverDue, type DeliveryBounds, startDispatcher } from "../delivery/mod.ts";
import { endQuietCalls } from "../gateway/mod.ts";
import { type Monitor, startMonitor } from "../monitor/mod.ts";
import { createRunEndRetries, endLiveRuns, recoverRuns, type RunEndRetries } from "../sessions/mod.ts";
import { recover, startRecovery, startRenewals, startRetentionSweeps, sweepExpired } from "./maintenance.ts";
import { deliveryContext, openParts, OutboxSignal } from "./parts.ts";
import { startPriceReloads } from "./price_updates.ts";
import type { CoreOptions, CoreParts, Runtime } from "./core_parts.ts";

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
  /** Marks the runs of this process `interrupted`, which is about to exit without waiting for them. */
  abandonRuns(): Promise<void>;
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
    if (options.budgets) await ensureBudgets(parts, options.budgets);

    const runEndRetries = createRunEndRetries(parts);
    const dispatcher = options.isReadOnly ? undefined : startDispatcher(deliveryContext(parts));
    if (dispatcher) outboxSignal.onFire(() => dispatcher.wake());
    const monitor = startMonitor({ ...parts, notifyAnomaliesFrom: options.config.notifyAnomaliesFrom });
    const maintenance: Promise<void>[] = [];
    const calling = new AbortController();
    const renewals = startRenewals(parts, calling.signal);
    if (!options.isReadOnly) {
      if (parts.store.isShared) maintenance.push(startRecovery(parts, parts.stopping));
      maintenance.push(startRetentionSweeps(parts, parts.stopping));
      maintenance.push(startPriceReloads(parts, parts.stopping));
      maintenance.push(endQuietCalls(parts, parts.stopping));
    }

    return {
      ...parts,
      monitor,
      runEndRetries,
      async drainDeliveries() {
        await monitor.idle();
        await dispatcher?.drain({ graceMs: DELIVERY_GRACE_MS });
      },
      async abandonRuns() {
        const ctx = { ...parts, liveRuns: { has: () => false } };
        await Promise.all([...parts.liveRuns.keys()].map((runId) => recoverRuns(ctx, runId)));
      },
      async close({ graceMs } = {}) {
        parts.stop();
        await endCalls(parts, graceMs);
        calling.abort();
        await renewals;
        await runEndRetries.stop();
        await Promise.all(maintenance); // a sweep in progress still uses the store and its lock files
        await parts.rollUps.ended();
        await parts.gate.close();
        await monitor.stop();
        await dispatcher?.stop({ graceMs: Math.min(DELIVERY_GRACE_MS, graceMs ?? Infinity) });
        await parts.channels.close();
        await parts.callSpool.close();
        await parts.store.close();
      },
    };
  } catch (error) {
    await parts.store.close();
    throw error;
  }
}

/** Resolves once no run and no call of the gateway is in progress. With `graceMs`, those that take longer are cancelled. */
async function endCalls({ liveRuns, gateway, clock }: CoreParts, graceMs: number | undefined): Promise<void> {
  await endLiveRuns({ liveRuns: new Map([...liveRuns, ...gateway.calls]), clock }, graceMs);
}

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
  const over = new AbortController();
  void endQuietCalls(parts, over.signal);

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
    abandonRuns: () => Promise.resolve(), // no signal ends a request
    /** Leaves the database open: a response may still be streamed, and there is no connection to close. */
    async close({ graceMs } = {}) {
      await endCalls(parts, graceMs);
      await parts.gate.close();
      over.abort();
      await monitor.stop();
      await parts.channels.close();
    },
  };
}
