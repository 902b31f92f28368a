/** The API without native code, files and background work, for `main.ts` on edge runtimes. */

import { type Clock, systemClock } from "../kernel/clock.ts";
import { billedProviders, type Config, type Environment, loadConfig } from "../config/mod.ts";
import { messageOf, PurserError } from "../kernel/errors.ts";
import { createLazyApp } from "../http/mod.ts";
import { pathOf, problemResponse, toProblem } from "../http/problems/mod.ts";
import { withAccessCheck } from "../http/server/mod.ts";
import { createIds } from "../kernel/ids.ts";
import { createJsonLog, type Log, neverThrowing } from "../kernel/log.ts";
import { openRequestCore, type RequestCore, type RequestCoreOptions } from "../service/mod.ts";
import { newSharedKeys } from "../keys/mod.ts";
import { createSecrets, scrubbedLog, type Secrets } from "../redaction/values/mod.ts";
import { createLazyPriceBook } from "../pricing/mod.ts";
import { newSharedStore } from "../store/mod.ts";
import { isPostgresUrl, parseDatabaseUrl } from "../kernel/database_url.ts";

/** The runtime's context of a request, which keeps work alive after the response. */
export interface EdgeContext {
  waitUntil(work: Promise<unknown>): void;
}

/** Options of `createEdgeHandler`. */
interface EdgeOptions {
  /** Writes a line of the log. */
  write: (line: string) => void;
  /** The settings; by default they come from the environment. */
  config?: Config;
  clock?: Clock;
  fetch?: typeof globalThis.fetch;
}

/** The API as functions without state between calls. */
export interface EdgeHandler {
  fetch(request: Request, bindings: EdgeBindings, context: EdgeContext): Promise<Response>;
  /** Makes the due deliveries, and ends the runs of instances that died. Rejects when that failed. */
  scheduled(bindings: EdgeBindings): Promise<void>;
}

/**
 * The state that the requests of one isolate share: settings, prices, and cached facts about the database. It has no
 * connection, and nothing that other instances would need.
 */
interface Isolate {
  config: Config;
  env: Environment;
  log: Log;
  secrets: Secrets;
  runtime: RequestCoreOptions["runtime"];
  /** When this isolate last looked for due work of other instances, in epoch milliseconds. */
  lookedAt: number;
}

/** Creates the state that requests share. */
function createIsolate(
  { config, env, write, clock }: {
    config: Config;
    env: Environment;
    write: (line: string) => void;
    clock: Clock;
  },
): Isolate {
  const secrets = createSecrets();
  const log = scrubbedLog(neverThrowing(createJsonLog({ level: config.logLevel, write })), secrets);
  return {
    config,
    env,
    log,
    secrets,
    lookedAt: -Infinity,
    runtime: {
      store: newSharedStore(),
      keys: newSharedKeys(),
      prices: createLazyPriceBook({
        overrides: config.prices,
        providers: billedProviders({ providers: config.providers, env }),
        log,
        clock,
      }),
      plugins: { smtp: () => Promise.reject(unsupportedAtEdge("send mail", "mail")) },
      channels: {
        readTextFile: () => Promise.reject(unsupportedAtEdge("read a secret from a file", "secret_files")),
        loadModule: () => Promise.reject(unsupportedAtEdge("load a plugin from disk", "plugins")),
        reachOut: "fetch",
      },
      spool: {
        memoryCharacters: MAX_EDGE_SNAPSHOT_CHARACTERS,
        refuse: () => unsupportedAtEdge("restore a snapshot of this size", "large_snapshots"),
      },
    },
  };
}

/** Minimum interval at which requests look for due work of other instances. */
const LOOK_MS = 30_000;

/** Bounds of deliveries after a response: platforms end what takes longer than 30 s. */
const AFTER_REQUEST = { timeoutMs: 10_000, attemptsPerChannel: 20 };

/** Bounds of deliveries by one call of the scheduled handler, which is triggered every minute. */
const SCHEDULED = { timeoutMs: 45_000, attemptsPerChannel: 200 };

/**
 * Creates the handlers of an edge. Each request has its own core, since requests can't share connections; work after the
 * response, such as a run whose client has disconnected or a delivery, is passed to `waitUntil`. Every request needs an
 * API key, since the edge can't recognize requests from the same machine.
 */
export function createEdgeHandler(options: EdgeOptions): EdgeHandler {
  const { clock = systemClock, write } = options;
  let current: { settings: string; isolate: Isolate } | undefined;

  async function isolateOf(bindings: EdgeBindings): Promise<Isolate> {
    const env = environmentOf(bindings);
    // The same values, whether or not in the same object.
    const settings = JSON.stringify(env);
    if (current?.settings === settings) return current.isolate;
    if (options.config) checkEdgeConfig(options.config);
    const config = options.config ?? await loadEdgeConfig(env);
    current = { settings, isolate: createIsolate({ config, env, write, clock }) };
    return current.isolate;
  }

  const open = ({ config, env, log, secrets, runtime }: Isolate): Promise<RequestCore> =>
    openRequestCore({ config, env, log, secrets, runtime, clock, fetch: options.fetch });

  /** Returns the response to every request of a deployment that can't start, such as one with wrong settings. */
  function refuse(error: unknown, request: Request): Response {
    const isForCaller = error instanceof PurserError &&
      (error.code === "unsupported" || error.code === "unavailable");
    const log = neverThrowing(createJsonLog({ level: "error", write }));
    // Wrong settings are not the client's fault, whatever their code says: the log has the reason.
    const shown = isForCaller ? error : new Error(messageOf(error));
    return problemResponse(
      toProblem(shown, pathOf(request.url), { log }, createIds(clock).next("req")),
    );
  }

  /** Completes the work after a response. Never rejects. */
  async function finish(isolate: Isolate, core: RequestCore, answer: Promise<Response>): Promise<void> {
    try {
      await answer.catch(() => {});
      await core.settle();
      const shouldLook = clock.now() - isolate.lookedAt >= LOOK_MS;
      if (shouldLook) isolate.lookedAt = clock.now();
      if (shouldLook || core.hasFired) await core.deliverDue(AFTER_REQUEST);
      if (shouldLook) await core.recover();
      await core.close();
    } catch (error) {
      isolate.log.warn("The work after a request failed", { reason: messageOf(error) });
    }
  }

  return {
    async fetch(request, bindings, context) {
      let isolate: Isolate;
      let core: RequestCore;
      try {
        isolate = await isolateOf(bindings);
        core = await open(isolate);
      } catch (error) {
        return refuse(error, request);
      }
      const handle = withAccessCheck(core, createLazyApp(core));
      const answer = (async () => await handle(request))();
      // Before the response: a client that disconnects would end the request, and with it a run.
      context.waitUntil(finish(isolate, core, answer));
      return await answer;
    },
    async scheduled(bindings) {
      const isolate = await isolateOf(bindings);
      const core = await open(isolate);
      isolate.lookedAt = clock.now();
      const [recovered] = await Promise.allSettled([core.recover(), core.deliverDue(SCHEDULED)]);
      await core.close();
      if (recovered.status === "rejected") throw recovered.reason;
    },
  };
}

/** The bindings that a runtime passes to its handlers: variables, secrets and others. */
export type EdgeBindings = Readonly<Record<string, unknown>>;

/** Returns the bindings that are strings. The config document may also be an object. */
function environmentOf(bindings: EdgeBindings): Record<string, string> {
  const env: Record<string, string> = {};
  for (const [name, value] of Object.entries(bindings)) {
    if (typeof value === "string") env[name] = value;
    else if (name === "PURSER_CONFIG_JSON") env[name] = JSON.stringify(value);
  }
  return env;
}

/**
 * Loads the settings from the environment that the runtime passes in.
 *
 * @throws {PurserError} `unsupported` for settings that an edge can't have; `invalid` for wrong ones
 */
async function loadEdgeConfig(env: Environment): Promise<Config> {
  if (env.PURSER_CONFIG) throw unsupportedAtEdge("read a config file", "config_file");
  const config = await loadConfig({ env, defaults: { logLevel: "info" }, readTextFile: findNoFile });
  checkEdgeConfig(config);
  return config;
}

/** Throws `unsupported` for settings that an edge can't have. */
function checkEdgeConfig(config: Pick<Config, "dbUrl" | "tools">): void {
  const address = parseDatabaseUrl(config.dbUrl);
  if (address.kind !== "remote") throw unsupportedAtEdge("use a local database", "local_database");
  if (isPostgresUrl(address.url)) throw unsupportedAtEdge("use PostgreSQL", "postgres");
  if (config.tools.length > 0) throw unsupportedAtEdge("load tools from disk", "tools");
}

/** The edge has no files, even where the variables name a home directory. */
function findNoFile(): Promise<never> {
  return Promise.reject(Object.assign(new Error("there are no files"), { code: "ENOENT" }));
}

/** A feature that the edge lacks. */
interface EdgeLimit {
  /** The feature, for the table of the docs. */
  what: string;
  reason: string;
  /** It is refused as `unsupported`, disables a channel, or works differently. */
  effect: "refused" | "silent_channel" | "differs";
  /** The remedy, or the difference. */
  advice: string;
}

/** Maximum characters of a snapshot's messages, and of its events, that are held in memory at the edge. */
const MAX_EDGE_SNAPSHOT_CHARACTERS = 8 * 1024 * 1024;

/**
 * Everything that an edge deployment can't do. Refusals are made from this table; the table of the docs and the cases
 * that the REST suite skips are checked against it.
 */
export const EDGE_LIMITS = {
  local_database: {
    what: "A local file, or a database in memory",
    reason: "there is no file system, no native code, and no state between requests",
    effect: "refused",
    advice: "set PURSER_DB to the address of a libSQL server",
  },
  postgres: {
    what: "A database in PostgreSQL",
    reason: "a request can't keep a connection for the next one",
    effect: "refused",
    advice: "set PURSER_DB to the address of a libSQL server",
  },
  config_file: {
    what: "A config file (`PURSER_CONFIG`), except on Deno",
    reason: "there is no file system",
    effect: "refused",
    advice: "put the document into PURSER_CONFIG_JSON",
  },
  telemetry: {
    what: "Telemetry (`/v1/traces`) whose agents come in a later request than their calls, or over 8 MiB",
    reason: "requests share no state, and the memory is small",
    effect: "differs",
    advice:
      "calls are attributed by what their own request says, and a larger body is a 413: export to a server",
  },
  tools: {
    what: "Tools from disk (`tools`)",
    reason: "only the code of the bundle is run",
    effect: "refused",
    advice:
      "use the built-in tools, and run agents with tools of their own through a server on the same database",
  },
  large_snapshots: {
    what: `Restoring a snapshot with more than ${
      MAX_EDGE_SNAPSHOT_CHARACTERS / 1024 / 1024
    } Mi characters of messages, or of events`,
    reason:
      "the whole snapshot is checked before any of it is written, and without a temporary file that takes memory",
    effect: "refused",
    advice: "restore it through a server on the same database",
  },
  mail: {
    what: "Mail (channels of kind `smtp`)",
    reason: "it needs sockets, and platforms of this kind block the ports of mail",
    effect: "silent_channel",
    advice: "let a server on the same database deliver for it",
  },
  request_limits: {
    what: "Limits on requests per key and per address (`limits`)",
    reason: "requests share no state",
    effect: "differs",
    advice: "they have no effect: let the platform limit its clients",
  },
  plugins: {
    what: "Channel plugins from disk (`plugins`)",
    reason: "only the code of the bundle is run",
    effect: "silent_channel",
    advice: "let a server on the same database deliver for it",
  },
  secret_files: {
    what: 'Secrets of channels from files (`{"file": "…"}`)',
    reason: "there is no file system",
    effect: "silent_channel",
    advice: "use ${NAME} and a secret variable",
  },
  code_budgets: {
    what: "Budgets and alert rules of a program (`openPurser({ budgets, alerts })`)",
    reason: "only the code of the bundle is run, and the config has none",
    effect: "differs",
    advice:
      "only those in the database apply: store them by `POST /budgets` and `POST /alerts/rules`, or by " +
      "a program on the same database",
  },
  pinned_addresses: {
    what: "Pinning the name of a webhook to the address that was checked",
    reason: "`fetch` resolves names by itself",
    effect: "differs",
    advice: "addresses and localhost are checked as elsewhere; names that can't be public are refused, and " +
      "the platform has to make its private networks unreachable",
  },
  price_updates: {
    what: "Updated prices (`purser prices update`, `price_updates`)",
    reason: "there is no file system, and nothing runs between requests",
    effect: "differs",
    advice: "calls are billed by the prices of the release: deploy a newer one",
  },
  call_spool: {
    what: "Spooling calls that can't be booked (`spool_folder`)",
    reason: "there is no file system",
    effect: "differs",
    advice:
      "such a call is logged with its whole cost event, its client gets an error, and strict budgets hold it",
  },
  bills: {
    what: "Importing providers' bills (`POST /bills/imports`)",
    reason: "it has no sources of bills",
    effect: "refused",
    advice: "import them by a server or a command on the same database; their lines can be listed",
  },
  background_work: {
    what: "Work between requests: retries of deliveries, ending the runs of instances that died",
    reason: "nothing runs between requests",
    effect: "differs",
    advice:
      "it is done after requests, at most every 30 s, and by the scheduled handler: trigger it every minute",
  },
  long_runs: {
    what: "Runs longer than the platform keeps a request",
    reason: "platforms end it, some of them about 30 s after the client has disconnected",
    effect: "differs",
    advice: "its calls are booked; once its lease has expired, the run is marked `interrupted`",
  },
  gateway_streams: {
    what: "Booking a stream of the gateway whose client has left",
    reason: "the platform may end the request with its client, without notice, some 30 s later at the latest",
    effect: "differs",
    advice:
      "such a call may be missing in the ledger; strict budgets hold it until their window ends: send streams that " +
      "must be booked through a server",
  },
  prompt_cancel: {
    what: "Cancelling a run at once",
    reason: "requests share only the database",
    effect: "differs",
    advice: "the run is cancelled at its next model call, or within 10 s",
  },
} as const satisfies Record<string, EdgeLimit>;

/** The name of a feature that the edge lacks. */
export type EdgeLimitName = keyof typeof EDGE_LIMITS;

/** Returns the error for a feature that the edge lacks: `Cannot <action> at the edge: <reason>; <remedy>`. */
function unsupportedAtEdge(action: string, name: EdgeLimitName): PurserError {
  const { reason, advice } = EDGE_LIMITS[name];
  return new PurserError("unsupported", `Cannot ${action} at the edge: ${reason}; ${advice}`);
}
