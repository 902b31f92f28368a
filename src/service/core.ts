import type { LanguageModelV4 } from "@ai-sdk/provider";
import type { ToolSet } from "ai";
import { builtInChannels } from "../../plugins/mod.ts";
import { type AlertEvaluator, ensureRules, hasRules, readAlertNotification } from "../alerts/mod.ts";
import { type DispatchContext, giveUpOrphans, instanceOf, startDispatcher } from "../delivery/mod.ts";
import { RollUps } from "../booking/mod.ts";
import { createBudgetGate, sweepReservations } from "../budgets/mod.ts";
import { databaseLogic } from "./database_logic.ts";
import { createBus } from "../bus/mod.ts";
import {
  type BuiltInChannels,
  type Channels,
  type ChannelsOptions,
  createChannels,
} from "../delivery/channels/mod.ts";
import { type Clock, HOUR_MS, systemClock } from "../kernel/clock.ts";
import { type Config, DEFAULT_MAX_SNAPSHOT_BYTES, type Environment } from "../config/mod.ts";
import { parseDatabaseUrl } from "../kernel/database_url.ts";
import { MAX_ENVIRONMENT_NAME } from "../contract/limits.ts";
import { messageOf, PurserError } from "../kernel/errors.ts";
import { createIds, type Ids } from "../kernel/ids.ts";
import { createKeyMemory, type KeyContext, type SharedKeys } from "../keys/mod.ts";
import { sweepWindows } from "../ledger/mod.ts";
import { type Log, neverThrowing, silentLog } from "../kernel/log.ts";
import { createLatePriceBook, type LatePriceBook } from "../pricing/mod.ts";
import { type Monitor, readAnomalyNotification, startMonitor } from "../monitor/mod.ts";
import { createUnfinishedRuns } from "../sessions/mod.ts";
import { createToolbox, loadToolModules } from "../runner/tools/mod.ts";
import { createModelResolver } from "../runner/models/mod.ts";
import type { RunnerContext } from "../runner/mod.ts";
import { recoverRuns, RUN_LEASE_MS } from "../sessions/mod.ts";
import { GenerationsInUse, sweepGenerations } from "../snapshots/generations/mod.ts";
import type { SnapshotContext, SpoolOptions } from "../snapshots/mod.ts";
import { createQuery, openStore, type SharedStore } from "../store/mod.ts";
import { findTelemetry, type Telemetry } from "../telemetry/mod.ts";

/** How long a process that ends waits for the first attempts to deliver what it has to tell. */
const DELIVERY_GRACE_MS = 5_000;

/** How long a process has to live to be one that tidies up. */
const TIDY_AFTER_MS = 1_000;

/** Everything one process works with, over one database. */
export interface Core extends RunnerContext, SnapshotContext, KeyContext {
  channels: Channels;
  /** Notices what agents do out of the ordinary. */
  monitor: Monitor;
  maxBodyBytes: number;
  /** The config file that the settings come from, where there is one. */
  configPath: string | undefined;
  /** The names of the providers that the config adds. */
  providers: Readonly<Record<string, unknown>>;
  customModels: Readonly<Record<string, unknown>>;
  liveRuns: RunnerContext["liveRuns"];
  /** Aborts when the core is about to close: answers without an end of their own end then. */
  stopping: AbortSignal;
  stop(): void;
  /** Resolves when no run is in progress. With `graceMs`, those that take longer are cancelled. */
  endRuns(options?: { graceMs?: number }): Promise<void>;
  /** Makes the first attempts to deliver what has fired, for a bounded time. What fires afterwards is delivered too. */
  drainDeliveries(): Promise<void>;
  /** Ends in order: stops, ends the runs, and closes the database once all they did is written. */
  close(options?: { graceMs?: number }): Promise<void>;
}

/** What a core is opened with. Whatever is missing comes from the machine. */
export interface CoreOptions {
  config:
    & Pick<Config, "dbUrl" | "durability" | "remoteTimeoutMs" | "maxBodyBytes" | "environment">
    & Partial<
      Pick<
        Config,
        | "dbToken"
        | "maxSnapshotBytes"
        | "providers"
        | "prices"
        | "tools"
        | "channels"
        | "plugins"
        | "allowPrivateNetworks"
        | "notifyAnomaliesFrom"
        | "configPath"
      >
    >;
  /** Rules and channels that a program brings along; its channels come after those of the config. */
  alerts?: AlertEvaluator;
  /** Where keys and base URLs of the model providers come from. */
  env?: Environment;
  clock?: Clock;
  ids?: Ids;
  log?: Log;
  fetch?: typeof globalThis.fetch;
  /** The process only reads: it recovers nothing, delivers nothing, removes nothing, and loads no tool. */
  isReadOnly?: boolean;
  /** For measurements: leaves the totals as they are. */
  rollUp?: "never";
  /** Models of a library user by name; they come before all others. */
  models?: Readonly<Record<string, LanguageModelV4>>;
  /** Tools of a library user by name. */
  tools?: ToolSet;
  /** What is there in place of a machine. */
  runtime?: Runtime;
  /** Where spans and measurements go; default: to the OpenTelemetry implementation of this process, if any. */
  telemetry?: Telemetry;
}

/** What a runtime brings along that is no machine of its own; see `openRequestCore`. */
export interface Runtime {
  store: SharedStore;
  keys: SharedKeys;
  prices: LatePriceBook;
  /** In place of built-in kinds of channels. */
  plugins: BuiltInChannels;
  channels: Pick<ChannelsOptions, "readTextFile" | "loadModule" | "reachOut">;
  spool: SpoolOptions;
  keepAlive(work: Promise<unknown>): void;
}

/** What a core does not do by itself: deliver, watch and recover. Whoever assembles it begins that, and ends it. */
export interface AssembledCore {
  core: Omit<Core, "monitor" | "drainDeliveries" | "close">;
  /** What the dispatcher works with. */
  dispatch: DispatchContext;
  /** Called when there may be something to deliver. */
  delivering: { wake(): void };
}

/**
 * Opens the database, recovers what a dead process left behind, and gathers models, tools and prices.
 *
 * @throws {PurserError} `unavailable` when the database can't be opened
 */
export async function openCore(options: CoreOptions): Promise<Core> {
  const { core, dispatch, delivering } = await assembleCore(options);
  try {
    const unfinishedRuns = createUnfinishedRuns(core);
    core.unfinishedRuns = unfinishedRuns;
    if (!options.isReadOnly) await recover(core);
    if (options.alerts) await ensureRules(core, options.alerts.rules);
    const dispatcher = options.isReadOnly ? undefined : startDispatcher(dispatch);
    delivering.wake = () => dispatcher?.wake();
    const monitor = startMonitor({ ...core, notifyAnomaliesFrom: options.config.notifyAnomaliesFrom });
    if (core.store.isShared && !options.isReadOnly) keepRecovering(core, core.stopping);
    if (!options.isReadOnly) keepTidy(core, core.stopping);
    return {
      ...core,
      monitor,
      async drainDeliveries() {
        await monitor.idle();
        await dispatcher?.drain({ graceMs: DELIVERY_GRACE_MS });
      },
      async close(options) {
        core.stop();
        await core.endRuns(options);
        await unfinishedRuns.stop();
        await core.rollUps.ended();
        await monitor.stop();
        await dispatcher?.stop({ graceMs: DELIVERY_GRACE_MS });
        await core.channels.close();
        await core.store.close();
      },
    };
  } catch (error) {
    await core.store.close();
    throw error;
  }
}

/** Opens the database and gathers what a core is made of; see `AssembledCore`. */
export async function assembleCore(options: CoreOptions): Promise<AssembledCore> {
  const { config, runtime, clock = systemClock, env = {} } = options;
  const log = neverThrowing(options.log ?? silentLog);
  if (config.environment.length > MAX_ENVIRONMENT_NAME) {
    throw new PurserError(
      "invalid",
      `Cannot use the environment's name: it is longer than ${MAX_ENVIRONMENT_NAME} characters`,
    );
  }
  const ids = options.ids ?? createIds(clock);
  const store = await openStore({
    location: parseDatabaseUrl(config.dbUrl),
    authToken: config.dbToken,
    durability: config.durability,
    logic: databaseLogic,
    remoteTimeoutMs: config.remoteTimeoutMs,
    clock,
    ids,
    fetch: options.fetch,
    shared: runtime?.store,
  });
  try {
    const query = createQuery(store);
    const stopping = new AbortController();
    const newReservationId = () => ids.next("req");
    const providers = config.providers ?? {};
    const channels = createChannels({
      channels: [...config.channels ?? [], ...options.alerts?.dispatcher.channels ?? []],
      plugins: { ...builtInChannels, ...runtime?.plugins },
      pluginPaths: config.plugins,
      allowPrivateNetworks: config.allowPrivateNetworks,
      log,
      clock,
      ...runtime?.channels,
    });
    const delivering = { wake: () => {} };
    const modules = config.tools?.length && !options.isReadOnly
      ? await loadToolModules(config.tools)
      : undefined;
    const base: RunnerContext & SnapshotContext & KeyContext = {
      store,
      query,
      clock,
      ids,
      log,
      telemetry: options.telemetry ?? await findTelemetry(clock),
      instanceId: ids.next("inst"),
      bus: createBus(log),
      gate: createBudgetGate({ store, clock, newReservationId }),
      rollUps: new RollUps(options.rollUp === "never" ? Infinity : undefined),
      prices: runtime?.prices ?? createLatePriceBook({ overrides: config.prices, log }),
      models: createModelResolver({ providers, env, custom: options.models }),
      toolbox: createToolbox({ clock, modules, custom: options.tools }),
      liveRuns: new Map(),
      environment: config.environment,
      rules: { mayExist: await hasRules(store) },
      keyMemory: createKeyMemory(clock, { isShared: store.isShared, known: runtime?.keys }),
      outboxChannels: channels.list,
      wakeDispatcher: () => delivering.wake(),
      maxSnapshotBytes: config.maxSnapshotBytes ?? DEFAULT_MAX_SNAPSHOT_BYTES,
      spool: runtime?.spool,
      generationsInUse: new GenerationsInUse(),
      stopping: stopping.signal,
      keepAlive: runtime?.keepAlive,
    };
    return {
      core: {
        ...base,
        channels,
        maxBodyBytes: config.maxBodyBytes,
        configPath: config.configPath,
        providers,
        customModels: options.models ?? {},
        stopping: stopping.signal,
        stop: () => stopping.abort(),
        endRuns: ({ graceMs } = {}) => endLiveRuns(base, graceMs),
      },
      dispatch: {
        ...base,
        channels,
        readNotification: async (subjectId) =>
          await readAlertNotification(base, subjectId) ?? await readAnomalyNotification(base, subjectId),
      },
      delivering,
    };
  } catch (error) {
    await store.close();
    throw error;
  }
}

/** Ends the runs of those that died, and frees what they left. */
export async function recover(ctx: RunnerContext & SnapshotContext): Promise<void> {
  const interrupted = await recoverRuns(ctx);
  if (interrupted.length > 0) {
    ctx.log.warn("Runs of a process that ended were marked interrupted", { runs: interrupted });
    await removeStaleLocks(ctx);
  }
  try {
    await sweepGenerations(ctx);
  } catch (error) {
    // It frees space, and may try again; it must not keep a service from starting on a disk that is full.
    ctx.log.warn("What replaced sessions have left could not be swept", { reason: messageOf(error) });
  }
}

/** Removes what is no longer needed. */
export async function tidy(ctx: RunnerContext): Promise<void> {
  await sweepWindows(ctx);
  await sweepReservations(ctx);
  await giveUpOrphans(ctx);
  await removeStaleLocks(ctx);
}

/** Removes the locks of instances that are gone, but for those that tell others of a run or a delivery that they had. */
async function removeStaleLocks({ store }: RunnerContext): Promise<void> {
  const [running, staging, holders] = await store.readAll([
    { sql: "SELECT DISTINCT instance_id FROM runs WHERE status = 'running'" },
    { sql: "SELECT DISTINCT staged_by FROM loose_generations WHERE staged_by IS NOT NULL" },
    { sql: "SELECT DISTINCT leased_by FROM deliveries WHERE status = 'pending' AND leased_by IS NOT NULL" },
  ]);
  const needed = new Set([
    ...running!.rows.map(([instance]) => instance as string),
    ...staging!.rows.map(([importId]) => (importId as string).split("/")[0]),
    ...holders!.rows.map(([holder]) => instanceOf(holder as string)),
  ]);
  await store.instances.removeStale((instance) => needed.has(instance));
}

/** Soon, and every hour: commands that are over at once leave it to those that last, and write nothing. */
async function keepTidy(ctx: RunnerContext, signal: AbortSignal): Promise<void> {
  await ctx.clock.sleep(TIDY_AFTER_MS, signal);
  while (!signal.aborted) {
    try {
      await tidy(ctx);
    } catch (error) {
      if (!signal.aborted) ctx.log.warn("What is too old could not be swept", { reason: messageOf(error) });
    }
    await ctx.clock.sleep(HOUR_MS, signal);
  }
}

/** On a shared database any process may die at any time, so the others end its runs. */
async function keepRecovering(ctx: RunnerContext & SnapshotContext, signal: AbortSignal): Promise<void> {
  for (;;) {
    await ctx.clock.sleep(RUN_LEASE_MS / 2, signal);
    if (signal.aborted) return;
    try {
      await recover(ctx);
    } catch (error) {
      ctx.log.warn("Runs of dead instances could not be looked for", { reason: messageOf(error) });
    }
  }
}

async function endLiveRuns(ctx: RunnerContext, graceMs: number | undefined): Promise<void> {
  const allEnded = () => Promise.all([...ctx.liveRuns.values()].map((run) => run.ended));
  if (graceMs !== undefined && ctx.liveRuns.size > 0) {
    const over = new AbortController();
    await Promise.race([allEnded(), ctx.clock.sleep(graceMs, over.signal)]);
    over.abort();
    for (const run of ctx.liveRuns.values()) run.cancel("the process is ending");
  }
  await allEnded();
}
