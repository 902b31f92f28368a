import { builtInChannels } from "../../plugins/mod.ts";
import { firingLogic, hasRules, readAlertNotification } from "../alerts/mod.ts";
import { createBookingWriter, readLedgerId, RollUps } from "../calls/mod.ts";
import { noSpool, openCallSpool } from "../calls/spool/mod.ts";
import { createBudgetGate, KnownBudgets } from "../budgets/mod.ts";
import { createBus } from "../bus/mod.ts";
import {
  billedProviders,
  DEFAULT_MAX_CONTEXT_BYTES,
  DEFAULT_MAX_SNAPSHOT_BYTES,
  readConfigPrices,
  secretsOf,
} from "../config/mod.ts";
import { MAX_ENVIRONMENT_NAME } from "../contract/limits.ts";
import { createChannels } from "../delivery/channels/mod.ts";
import type { DispatchContext } from "../delivery/mod.ts";
import { systemClock } from "../kernel/clock.ts";
import { parseDatabaseUrl } from "../kernel/database_url.ts";
import { PurserError } from "../kernel/errors.ts";
import { createIds } from "../kernel/ids.ts";
import { neverThrowing, silentLog } from "../kernel/log.ts";
import { createTurns } from "../kernel/turns.ts";
import { createKeyCache } from "../keys/mod.ts";
import { readAnomalyNotification } from "../monitor/mod.ts";
import { createLazyPriceBook, type OverridesFile } from "../pricing/mod.ts";
import { createSecrets, scrubbedLog } from "../redaction/values/mod.ts";
import { createSingleSendFetch } from "../kernel/single_send.ts";
import { createGatewayState } from "../gateway/mod.ts";
import { createModelResolver } from "../runner/models/mod.ts";
import { createToolbox, loadToolModules } from "../runner/tools/mod.ts";
import { createLogReader } from "../sessions/mod.ts";
import { GenerationsInUse } from "../snapshots/generations/mod.ts";
import { appendOnlyLogic, createQuery, type Logic, openStore } from "../store/mod.ts";
import { findTelemetry } from "../telemetry/mod.ts";
import { usageIncrements, usageViews } from "../ledger/mod.ts";
import type { CoreOptions, CoreParts } from "./core_parts.ts";
import { createLiveReader } from "./live/mod.ts";

/** The business logic that is installed in a database as views and triggers. */
export const databaseLogic: readonly Logic[] = [
  ...appendOnlyLogic,
  ...usageViews,
  ...usageIncrements,
  ...firingLogic,
];

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
  const { values, names } = secretsOf(config, env);
  const secrets = options.secrets ?? createSecrets();
  secrets.add(values, names);
  const log = scrubbedLog(neverThrowing(options.log ?? silentLog), secrets);
  const ids = options.ids ?? createIds(clock);
  const location = parseDatabaseUrl(config.dbUrl);
  const store = await openStore({
    location,
    authToken: config.dbToken,
    durability: config.durability,
    logic: databaseLogic,
    remoteTimeoutMs: config.remoteTimeoutMs,
    clock,
    ids,
    fetch: options.fetch,
    sqlite: options.sqlite,
    shared: runtime?.store,
    scrub: secrets.scrubStored,
    hasThreads: options.isServer,
  });
  const instanceId = ids.next("inst");
  try {
    const stopping = new AbortController();
    const channels = createChannels({
      channels: [...config.channels ?? [], ...options.alerts?.dispatcher.channels ?? []],
      plugins: { ...builtInChannels, ...runtime?.plugins },
      pluginPaths: config.plugins,
      allowPrivateNetworks: config.allowPrivateNetworks,
      log,
      clock,
      secrets,
      ...runtime?.channels,
    });
    const modules = config.tools?.length && !options.isReadOnly
      ? await loadToolModules(config.tools)
      : undefined;
    const turns = createTurns(() => clock.sleep(0));
    const query = createQuery(store);
    const bus = createBus(log, secrets.scrubValue);
    const budgets = new KnownBudgets({ store, clock });
    const rules = { mayExist: await hasRules(store) };
    const providerSources = { providers: config.providers ?? {}, env };
    return {
      clock,
      turns,
      ids,
      log,
      telemetry: options.telemetry ?? await findTelemetry(clock, secrets.scrub),
      secrets,
      store,
      query,
      instanceId,
      environment: config.environment,
      prices: runtime?.prices ??
        createLazyPriceBook({
          overrides: config.prices,
          providers: billedProviders(providerSources),
          folder: config.pricesFolder,
          file: overridesFileOf(options),
          log,
        }),
      gate: createBudgetGate({ store, clock, instanceId, newId: ids.next, known: budgets }),
      budgets,
      bookings: createBookingWriter({ clock, ids, rules, budgets, outboxChannels: channels.list }),
      rollUps: new RollUps(options.rollUp === "never" ? Infinity : undefined),
      callSpool: runtime ? noSpool() : await openCallSpool({
        database: location,
        folder: config.spoolFolder,
        log,
        scrub: secrets.scrubStored,
        readLedger: () => readLedgerId(store),
      }),
      bus,
      logReader: createLogReader({ store, query, clock, bus, turns }),
      live: createLiveReader({ store, query, clock, bus, turns }),
      rules,
      channels,
      outboxChannels: channels.list,
      wakeDispatcher: () => outboxSignal.fire(),
      models: createModelResolver({ providers: config.providers, env, custom: options.models }),
      toolbox: createToolbox({ clock, modules, custom: options.tools }),
      liveRuns: new Map(),
      providerSources,
      // At the edge, the clients of node:http are made of `fetch`.
      gateway: createGatewayState({ env, fetch: options.fetch ?? (runtime && createSingleSendFetch()) }),
      maxSnapshotBytes: config.maxSnapshotBytes ?? DEFAULT_MAX_SNAPSHOT_BYTES,
      maxContextBytes: config.maxContextBytes ?? DEFAULT_MAX_CONTEXT_BYTES,
      spool: runtime?.spool,
      generationsInUse: new GenerationsInUse(),
      keyCache: createKeyCache(clock, { isShared: store.isShared, shared: runtime?.keys }),
      maxBodyBytes: config.maxBodyBytes,
      requestLimits: config.requestLimits ?? {},
      configPath: config.configPath,
      listenAddress: config.host === undefined || config.port === undefined
        ? null
        : { host: config.host, port: config.port },
      stopping: stopping.signal,
      stop: () => stopping.abort(),
      keepAlive: runtime?.keepAlive,
    };
  } catch (error) {
    await store.close();
    throw error;
  }
}

/** Returns the config file of a server, which outlives changes of the prices in it. */
function overridesFileOf({ config, isServer, env = {} }: CoreOptions): OverridesFile | undefined {
  const { configPath: path, profile } = config;
  if (!isServer || path === undefined) return undefined;
  return { path, read: () => readConfigPrices(path, { env, profile }) };
}

/** Returns the context of deliveries, which are notifications of alerts and of anomalies. */
export function deliveryContext(parts: CoreParts): DispatchContext {
  return {
    ...parts,
    readNotification: async (subjectId) =>
      await readAlertNotification(parts, subjectId) ?? await readAnomalyNotification(parts, subjectId),
  };
}
