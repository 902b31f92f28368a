import { firingLogic, hasRules } from "../alerts/firing/mod.ts";
import { noSpool, openCallSpool, readLedgerId } from "../calls/spool/mod.ts";
import { KnownBudgets } from "../budgets/known/mod.ts";
import { createBus, Feed } from "../bus/mod.ts";
import {
  billedProviders,
  type ChannelConfig,
  listChannels,
  readConfigPrices,
  secretsOf,
  withDefaults,
} from "../config/mod.ts";
import { MAX_ENVIRONMENT_NAME } from "../contract/limits.ts";
import { systemClock } from "../kernel/clock.ts";
import type { NamedChannel } from "../delivery/channels/mod.ts";
import { parseDatabaseUrl } from "../kernel/database_url.ts";
import { PurserError } from "../kernel/errors.ts";
import { createIds } from "../kernel/ids.ts";
import { neverThrowing, silentLog } from "../kernel/log.ts";
import { createTurns } from "../kernel/turns.ts";
import { createKeyCache } from "../keys/mod.ts";
import { readPrices } from "../price_rows/read/mod.ts";
import { createLazyPriceBook, type OverridesFile } from "../pricing/mod.ts";
import { createSecrets, scrubbedLog } from "../redaction/values/mod.ts";
import { createModelResolver } from "../runner/models/mod.ts";
import { createToolbox, loadToolModules } from "../runner/tools/mod.ts";
import { GenerationsInUse } from "../snapshots/generations/mod.ts";
import { appendOnlyLogic, type Author, createQuery, type Logic, openStore } from "../store/mod.ts";
import { findTelemetry } from "../telemetry/mod.ts";
import { calendarLogic, shapeLogic, usageIncrements, usageViews } from "../ledger/mod.ts";
import type { CoreOptions, CoreParts } from "./core_parts.ts";

/** The author of what a program or its config defines. */
export const BY_CODE: Author = { actor: "code" };

/** The business logic that is installed in a database as views and triggers. */
export const databaseLogic: readonly Logic[] = [
  ...appendOnlyLogic,
  ...usageViews,
  ...usageIncrements,
  ...shapeLogic,
  ...calendarLogic,
  ...firingLogic,
];

/**
 * Opens the database and creates the parts of a core.
 *
 * @throws {PurserError} `invalid` settings; `unavailable` when the database can't be opened
 */
export async function openParts(options: CoreOptions, wakeDispatcher: () => void): Promise<CoreParts> {
  const { config, runtime, clock = systemClock, env = {} } = options;
  const settings = withDefaults(config);
  if (settings.environment.length > MAX_ENVIRONMENT_NAME) {
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
    durability: settings.durability,
    logic: databaseLogic,
    remoteTimeoutMs: settings.remoteTimeoutMs,
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
    const modules = config.tools?.length && !options.isReadOnly
      ? await loadToolModules(config.tools)
      : undefined;
    const providerSources = { providers: config.providers ?? {}, env };
    const query = createQuery(store);
    const prices = runtime?.prices ??
      createLazyPriceBook({
        overrides: config.prices,
        providers: billedProviders(providerSources),
        folder: config.pricesFolder,
        file: overridesFileOf(options),
        log,
      });
    prices.readStored = () => readPrices({ store });
    return {
      ...settings,
      clock,
      turns: createTurns(() => clock.sleep(0)),
      ids,
      log,
      author: options.author ?? BY_CODE,
      telemetry: options.telemetry ?? await findTelemetry(clock, secrets.scrub),
      secrets,
      store,
      query,
      instanceId,
      bus: createBus(log, secrets.scrubValue),
      bookedCalls: new Feed(log),
      prices,
      budgets: new KnownBudgets({ store, clock }),
      rules: { mayExist: await hasRules(store) },
      outboxChannels: listChannels(channelsOf(options)).map(({ channel: _, ...head }) => head),
      wakeDispatcher,
      callSpool: runtime || options.isReadOnly ? noSpool() : await openCallSpool({
        database: location,
        folder: config.spoolFolder,
        log,
        scrub: secrets.scrubStored,
        readLedger: () => readLedgerId(store),
      }),
      models: createModelResolver({ providers: config.providers, env, custom: options.models }),
      toolbox: createToolbox({ clock, modules, custom: options.tools }),
      liveRuns: new Map(),
      gatewayCalls: new Map(),
      providerSources,
      spool: runtime?.spool,
      generationsInUse: new GenerationsInUse(),
      keyCache: createKeyCache(clock, { isShared: store.isShared, shared: runtime?.keys }),
      requestLimits: config.requestLimits ?? {},
      plans: config.importPlans ?? [],
      planPrices: config.planPrices ?? {},
      sums: config.importSums ?? [],
      billImports: config.billImports ?? [],
      plugins: config.plugins ?? [],
      fetch: options.fetch,
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

/** Returns the config file, from which a server reads changed prices while it runs. */
function overridesFileOf({ config, isServer, env = {} }: CoreOptions): OverridesFile | undefined {
  const { configPath: path, profile } = config;
  if (!isServer || path === undefined) return undefined;
  return { path, read: () => readConfigPrices(path, { env, profile }) };
}

/** Returns the channels of the config, and after them those of a program. */
export function channelsOf({ config, alerts }: CoreOptions): (ChannelConfig | NamedChannel)[] {
  return [...config.channels ?? [], ...alerts?.dispatcher.channels ?? []];
}
