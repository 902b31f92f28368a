import type { LanguageModelV4 } from "@ai-sdk/provider";
import type { ToolSet } from "ai";
import { builtInChannels } from "../../plugins/mod.ts";
import { type AlertEvaluator, hasRules, readAlertNotification } from "../alerts/mod.ts";
import { RollUps } from "../booking/mod.ts";
import { type BudgetGate, createBudgetGate } from "../budgets/mod.ts";
import { type Bus, createBus } from "../bus/mod.ts";
import { type Config, DEFAULT_MAX_SNAPSHOT_BYTES, type Environment } from "../config/mod.ts";
import { MAX_ENVIRONMENT_NAME } from "../contract/limits.ts";
import {
  type BuiltInChannels,
  type Channels,
  type ChannelsOptions,
  createChannels,
} from "../delivery/channels/mod.ts";
import type { DispatchContext, OutboxChannel } from "../delivery/mod.ts";
import { type Clock, systemClock } from "../kernel/clock.ts";
import { parseDatabaseUrl } from "../kernel/database_url.ts";
import { PurserError } from "../kernel/errors.ts";
import { createIds, type Ids } from "../kernel/ids.ts";
import { type Log, neverThrowing, silentLog } from "../kernel/log.ts";
import { createKeyCache, type KeyCache, type SharedKeys } from "../keys/mod.ts";
import { readAnomalyNotification } from "../monitor/mod.ts";
import { createLazyPriceBook, type LazyPriceBook } from "../pricing/mod.ts";
import { createModelResolver, type ModelResolver } from "../runner/models/mod.ts";
import { createToolbox, loadToolModules, type Toolbox } from "../runner/tools/mod.ts";
import type { LiveRun } from "../sessions/mod.ts";
import { GenerationsInUse } from "../snapshots/generations/mod.ts";
import type { SpoolOptions } from "../snapshots/mod.ts";
import { createQuery, openStore, type Query, type SharedStore, type Store } from "../store/mod.ts";
import { findTelemetry, type Telemetry } from "../telemetry/mod.ts";
import { databaseLogic } from "./database_logic.ts";

/** Options of a core. The environment and defaults fill in the rest. */
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
        | "pricesFolder"
        | "tools"
        | "channels"
        | "plugins"
        | "allowPrivateNetworks"
        | "notifyAnomaliesFrom"
        | "configPath"
      >
    >;
  /** Rules and channels of a program; its channels come after those of the config. */
  alerts?: AlertEvaluator;
  /** Keys and base URLs of the model providers. */
  env?: Environment;
  clock?: Clock;
  ids?: Ids;
  log?: Log;
  fetch?: typeof globalThis.fetch;
  /** The process only reads: it recovers, delivers and removes nothing, and loads no tools. */
  isReadOnly?: boolean;
  /** For measurements: leaves the totals as they are. */
  rollUp?: "never";
  /** Models of a library user by name; they come before all others. */
  models?: Readonly<Record<string, LanguageModelV4>>;
  /** Tools of a library user by name. */
  tools?: ToolSet;
  /** Replaces the files, sockets and caches of a machine. */
  runtime?: Runtime;
  /** Receives spans and metrics; default: the OpenTelemetry implementation of this process, if any. */
  telemetry?: Telemetry;
}

/** The replacements of a runtime without files and sockets; see `openRequestCore()`. */
export interface Runtime {
  store: SharedStore;
  keys: SharedKeys;
  prices: LazyPriceBook;
  /** Replace built-in kinds of channels. */
  plugins: BuiltInChannels;
  channels: Pick<ChannelsOptions, "readTextFile" | "loadModule" | "reachOut">;
  spool: SpoolOptions;
  keepAlive(work: Promise<unknown>): void;
}

/**
 * The parts of one process or request, over one database. None of them runs in the background. A function takes only the
 * parts that it needs, as a `…Context` of its folder.
 */
export interface CoreParts {
  // Machine
  clock: Clock;
  ids: Ids;
  log: Log;
  telemetry: Telemetry;

  // Database
  store: Store;
  query: Query;
  /** This process, as the holder of leases. */
  instanceId: string;
  /** The name of this environment. */
  environment: string;

  // Booking
  prices: LazyPriceBook;
  gate: BudgetGate;
  rollUps: RollUps;
  bus: Bus;

  // Alerts and their delivery
  rules: { mayExist: boolean };
  channels: Channels;
  outboxChannels: readonly OutboxChannel[];
  wakeDispatcher(subjectIds: readonly string[]): void;

  // Runs
  models: ModelResolver;
  toolbox: Toolbox;
  /** The runs of this process, by id. */
  liveRuns: Map<string, LiveRun>;

  // Snapshots
  maxSnapshotBytes: number;
  spool: SpoolOptions | undefined;
  generationsInUse: GenerationsInUse;

  // HTTP API
  keyCache: KeyCache;
  maxBodyBytes: number;
  /** The config file that the settings come from, if any. */
  configPath: string | undefined;

  // Lifetime
  /** Aborts when the core is about to close; streams without an end of their own end then. */
  stopping: AbortSignal;
  /** Aborts `stopping`. */
  stop(): void;
  /** Registers work that outlives its request, on platforms that end a process with the request. */
  keepAlive: ((work: Promise<unknown>) => void) | undefined;
}

/** Signals new rows of the outbox to whatever delivers them, which is started after their writers. */
export class OutboxSignal {
  #listener = () => {};
  hasFired = false;

  fire(): void {
    this.hasFired = true;
    this.#listener();
  }

  onFire(listener: () => void): void {
    this.#listener = listener;
  }
}

/**
 * Opens the database and creates the parts of a core.
 *
 * @throws {PurserError} `invalid` settings; `unavailable` when the database can't be opened
 */
export async function openParts(
  options: CoreOptions,
  outboxSignal: OutboxSignal = new OutboxSignal(),
): Promise<CoreParts> {
  const { config, runtime, clock = systemClock, env = {} } = options;
  if (config.environment.length > MAX_ENVIRONMENT_NAME) {
    throw new PurserError(
      "invalid",
      `Cannot use the environment's name: it is longer than ${MAX_ENVIRONMENT_NAME} characters`,
    );
  }
  const log = neverThrowing(options.log ?? silentLog);
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
    const stopping = new AbortController();
    const channels = createChannels({
      channels: [...config.channels ?? [], ...options.alerts?.dispatcher.channels ?? []],
      plugins: { ...builtInChannels, ...runtime?.plugins },
      pluginPaths: config.plugins,
      allowPrivateNetworks: config.allowPrivateNetworks,
      log,
      clock,
      ...runtime?.channels,
    });
    const modules = config.tools?.length && !options.isReadOnly
      ? await loadToolModules(config.tools)
      : undefined;
    return {
      clock,
      ids,
      log,
      telemetry: options.telemetry ?? await findTelemetry(clock),
      store,
      query: createQuery(store),
      instanceId: ids.next("inst"),
      environment: config.environment,
      prices: runtime?.prices ??
        createLazyPriceBook({ overrides: config.prices, folder: config.pricesFolder, log }),
      gate: createBudgetGate({ store, clock, newReservationId: () => ids.next("req") }),
      rollUps: new RollUps(options.rollUp === "never" ? Infinity : undefined),
      bus: createBus(log),
      rules: { mayExist: await hasRules(store) },
      channels,
      outboxChannels: channels.list,
      wakeDispatcher: () => outboxSignal.fire(),
      models: createModelResolver({ providers: config.providers, env, custom: options.models }),
      toolbox: createToolbox({ clock, modules, custom: options.tools }),
      liveRuns: new Map(),
      maxSnapshotBytes: config.maxSnapshotBytes ?? DEFAULT_MAX_SNAPSHOT_BYTES,
      spool: runtime?.spool,
      generationsInUse: new GenerationsInUse(),
      keyCache: createKeyCache(clock, { isShared: store.isShared, shared: runtime?.keys }),
      maxBodyBytes: config.maxBodyBytes,
      configPath: config.configPath,
      stopping: stopping.signal,
      stop: () => stopping.abort(),
      keepAlive: runtime?.keepAlive,
    };
  } catch (error) {
    await store.close();
    throw error;
  }
}

/** Returns the context of deliveries, which are notifications of alerts and of anomalies. */
export function deliveryContext(parts: CoreParts): DispatchContext {
  return {
    ...parts,
    readNotification: async (subjectId) =>
      await readAlertNotification(parts, subjectId) ?? await readAnomalyNotification(parts, subjectId),
  };
}
