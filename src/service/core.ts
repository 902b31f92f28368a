import type { RunEndRetries } from "../sessions/mod.ts";
import type { CoreOptions, CoreParts, WorkParts } from "./core_parts.ts";
import { BY_CODE, openParts } from "./parts.ts";
import { startPriceReloads } from "./price_updates.ts";
import type { Work } from "./work.ts";

/** The parts of one process, with its maintenance in the background. */
export interface Core extends CoreParts {
  /** Returns the core with the parts that make, book and watch calls, and deliver alerts. The first use loads and opens them. */
  whole(): Promise<WholeCore>;
  /** Marks the runs as `interrupted` before the process exits without waiting for them. */
  abandonRuns(): Promise<void>;
  /**
   * Stops background work, waits for the runs, and closes the database once everything is written. With `graceMs`, runs that
   * take longer are cancelled.
   */
  close(options?: { graceMs?: number }): Promise<void>;
}

/** A core that is opened as a whole. */
export interface WholeCore extends Core, WorkParts {
  /** Ends runs whose end could not be written. A request leaves them to recovery. */
  runEndRetries?: RunEndRetries;
  /** Makes the first attempts to deliver what has fired, for a bounded time. Later alerts are delivered too. */
  drainDeliveries(): Promise<void>;
}

/**
 * Opens a core as a whole, for processes that make calls: opens the database, recovers the runs of dead processes, and
 * starts the dispatcher, the monitor and the maintenance.
 *
 * @throws {PurserError} `unavailable` when the database can't be opened
 */
export async function openCore(options: CoreOptions): Promise<WholeCore> {
  const core = await openProcess(options);
  try {
    return await core.whole();
  } catch (error) {
    await core.close();
    throw error;
  }
}

/**
 * Opens a core that loads the parts that make, book and watch calls, and deliver alerts, when they are first used: for commands,
 * most of which only read or write a few rows. What another process has left to be delivered is delivered all the same.
 *
 * @throws {PurserError} `unavailable` when the database can't be opened
 */
export async function openLazyCore(options: CoreOptions): Promise<Core> {
  const core = await openProcess(options);
  if (options.isReadOnly) return core;
  const delivering = isDeliveryWaiting(core).catch(() => true).then(async (isWaiting) => {
    if (isWaiting) await core.whole();
  });
  return {
    ...core,
    async close(closing) {
      try {
        await delivering;
      } finally {
        await core.close(closing);
      }
    },
  };
}

async function isDeliveryWaiting({ store }: Core): Promise<boolean> {
  const { rows } = await store.read({ sql: "SELECT 1 FROM deliveries WHERE status = 'pending' LIMIT 1" });
  return rows.length > 0;
}

async function openProcess(options: CoreOptions): Promise<Core> {
  let work: Work | undefined;
  let opening: Promise<WholeCore> | undefined;
  // Opening the work also delivers what has already fired.
  const parts = await openParts(options, () => work ? work.dispatcher?.wake() : void core.whole());
  const maintenance: Promise<void>[] = [];
  const core: Core = {
    ...parts,
    whole: () =>
      // The schemas need the extension of zod to be loaded, which a bundle leaves to its first use.
      opening ??= import("@hono/zod-openapi").then(() => import("./work.ts")).then(({ startWork }) => {
        work = startWork(parts, options);
        const { close: _, ...workParts } = work;
        return { ...core, ...workParts };
      }),
    async abandonRuns() {
      const { recoverRuns } = await import("../sessions/mod.ts");
      const ctx = { ...parts, liveRuns: { has: () => false } };
      await Promise.all([...parts.liveRuns.keys()].map((runId) => recoverRuns(ctx, runId)));
    },
    async close({ graceMs } = {}) {
      parts.stop();
      try {
        // Work that is open ends at once: its grace begins now.
        if (!work) await opening?.catch(() => {});
        await work?.close(graceMs);
        await Promise.all(maintenance); // a sweep in progress still uses the store and its lock files
      } finally {
        // Whatever has failed: a file of which only one connection may exist would stay locked until this process ends.
        await parts.callSpool.close().finally(() => parts.store.close());
      }
    },
  };
  try {
    if (options.isReadOnly) return core;
    const { recover, startBillImports, startFollowing, startRecovery, startRetentionSweeps } = await import(
      "./maintenance.ts"
    );
    await recover(core);
    if (options.alerts) {
      const { ensureRules } = await import("../alerts/mod.ts");
      await ensureRules({ ...parts, author: BY_CODE }, options.alerts.rules);
    }
    if (options.budgets) {
      const { ensureBudgets } = await import("../budgets/mod.ts");
      await ensureBudgets({ ...parts, author: BY_CODE }, options.budgets);
    }
    if (parts.store.isShared) maintenance.push(startRecovery(core, parts.stopping));
    maintenance.push(startRetentionSweeps(core, parts.stopping));
    if (options.isServer && parts.billImports.length > 0) maintenance.push(startBillImports(parts));
    maintenance.push(startFollowing(parts, parts.stopping));
    maintenance.push(startPriceReloads(parts, parts.stopping));
    return core;
  } catch (error) {
    await core.close();
    throw error;
  }
}
