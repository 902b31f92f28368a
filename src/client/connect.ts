import { type Config, type Environment, readKeyFile } from "../config/mod.ts";
import { type DatabaseAddress, parseDatabaseUrl } from "../kernel/database_url.ts";
import { type Clock, systemClock } from "../kernel/clock.ts";
import { files } from "../kernel/files/files.ts";
import type { Log } from "../kernel/log.ts";
import type { Author } from "../store/mod.ts";
import type { Secrets } from "../redaction/values/mod.ts";
import { type ApiClient, createApiClient } from "./api_client.ts";
import type { FetchHandler } from "../http/mod.ts";
import type { Core, CoreOptions, WholeCore } from "../service/mod.ts";
import { messageOf, PurserError } from "../kernel/errors.ts";
import { systemCodeOf } from "../kernel/system_errors.ts";
import { createSingleSendFetch, withoutRedirects } from "../kernel/single_send.ts";

/** A connection to the API, to be closed after use. */
export interface Connection {
  api: ApiClient;
  /** Sends a request unchanged, for bodies and responses that are streams; only the URL's host is replaced. */
  send(request: Request): Promise<Response>;
  /** `local`: the app in this process answers, over the database. `remote`: a server does. */
  kind: "local" | "remote";
  /** The database's path or the server's host, for messages. */
  where: string;
  /** The parts over the database; undefined for a server. */
  core?: Core;
  /** Marks the runs in this process as ended, which exits without waiting for them. */
  abandonRuns?(): Promise<void>;
  close(): Promise<void>;
}

/** Options of `connect`. */
export interface ConnectOptions {
  config: Config;
  env: Environment;
  log: Log;
  /** Takes the API key of a key file, and goes to the parts of a database. */
  secrets?: Secrets;
  clock?: Clock;
  /** Makes no changes: see `CoreOptions`. A missing file is not created: see `existingDatabase()`. */
  isReadOnly?: boolean;
  /** Makes a missing file that a setting names an error, also where changes are made. */
  mustExist?: boolean;
  /** Requests are answered over an empty database in memory, instead of the one in the settings. */
  needsNoDatabase?: boolean;
}

const IN_MEMORY = ":memory:";

/** The base URL of requests, whose host is replaced or ignored. */
const NOWHERE = "http://purser.invalid";

/**
 * Connects to the API: on the server of `--server` over the network, else in this process over the database.
 *
 * @throws {PurserError} `unavailable` when the database can't be opened, `not_found` when a file must exist and doesn't
 */
export async function connect(options: ConnectOptions): Promise<Connection> {
  const { server, dbUrl } = options.config;
  if (server !== undefined) {
    const send = await createServerSend(options, server);
    return connection("remote", new URL(server).host, send, { close: () => Promise.resolve() });
  }
  const address = parseDatabaseUrl(options.needsNoDatabase ? IN_MEMORY : dbUrl);
  const { openLazyCore } = await import("../service/mod.ts");
  const core = await openLazyCore({
    ...options.needsNoDatabase ? emptyDatabase(options) : await existingDatabase(options, address),
    // What only reads has no author: to name the user takes 5 ms, most of it for the modules of Node.
    author: options.isReadOnly ? undefined : await localAuthor(),
  });
  // Loaded by the first request: a command that uses the core itself needs no routes.
  let app: Promise<FetchHandler> | undefined;
  const send = async (request: Request) => {
    app ??= import("../http/mod.ts").then(({ createLazyApp }) => createLazyApp(core));
    return await (await app).fetch(request);
  };
  return { ...connection("local", nameOf(address), send, core), core };
}

/** Returns the author of what a command changes in a database: the user of the operating system, and the host. */
async function localAuthor(): Promise<Author> {
  const { hostname, userInfo } = await import("node:os");
  const read = (name: () => string) => {
    try {
      return name();
    } catch {
      return "unknown"; // a user without an entry in the system, or a runtime that may not ask
    }
  };
  return { actor: "local", name: `${read(() => userInfo().username)}@${read(hostname)}` };
}

/**
 * Returns the options with a database to open. Reading never creates a file: if the default one is missing, an empty database
 * in memory is read instead; a missing file that a setting names is probably mistyped.
 */
async function existingDatabase(options: ConnectOptions, address: DatabaseAddress): Promise<ConnectOptions> {
  const { config, isReadOnly = false, mustExist = false } = options;
  if (!(isReadOnly || mustExist) || address.kind !== "file" || !(await isMissing(address.path))) {
    return options;
  }
  if (config.dbSource !== undefined) {
    throw new PurserError(
      "not_found",
      `Cannot open database ${address.path}, named by ${config.dbSource}: there is no such file; ` +
        "correct the path, or create it with a command that writes, such as purser agents set",
    );
  }
  return isReadOnly ? emptyDatabase(options) : options;
}

/** Returns the options with an empty database in memory, which is only read. */
function emptyDatabase(options: ConnectOptions): ConnectOptions {
  return { ...options, isReadOnly: true, config: { ...options.config, dbUrl: IN_MEMORY } };
}

async function isMissing(path: string): Promise<boolean> {
  try {
    await files.isFolder(path);
    return false;
  } catch (error) {
    return ["ENOENT", "ENOTDIR"].includes(systemCodeOf(error) ?? ""); // others are reported when it is opened
  }
}

/** An open database with the API over it. */
export interface OpenDatabase {
  core: WholeCore;
  app: FetchHandler;
  /** Waits for the runs of this process, cancels those that take longer than `graceMs`, if given, and closes. */
  close: WholeCore["close"];
}

/** Opens a database of any kind for a process that makes calls; other processes may have the same one open. */
export async function openDatabase(options: CoreOptions): Promise<OpenDatabase> {
  const [{ openCore }, { createLazyApp }] = await Promise.all([
    import("../service/mod.ts"),
    import("../http/mod.ts"),
  ]);
  const core = await openCore(options);
  return { core, app: createLazyApp(core), close: core.close };
}

function connection(
  kind: Connection["kind"],
  where: string,
  send: Connection["send"],
  { close, abandonRuns }: Pick<Connection, "close" | "abandonRuns">,
): Connection {
  return { kind, where, send, close, abandonRuns, api: createApiClient({ baseUrl: NOWHERE, send }) };
}

function nameOf(address: DatabaseAddress): string {
  if (address.kind === "remote") return new URL(address.url).host;
  return address.kind === "file" ? address.path : "memory";
}

/** Options of `createServerSend`. */
interface ServerOptions {
  config: Pick<Config, "apiKey" | "apiKeyFile" | "remoteTimeoutMs">;
  secrets?: Pick<Secrets, "add">;
  log: Log;
  clock?: Clock;
}

/**
 * Returns a function that sends requests to a server, with its API key; only the URL's host is replaced. Requests that
 * change something are never sent twice.
 *
 * @throws {PurserError} `unauthorized` if the key isn't a valid header value
 */
async function createServerSend(
  options: ServerOptions,
  server: string,
): Promise<(request: Request) => Promise<Response>> {
  const where = new URL(server).host;
  const apiKey = await readApiKey(options);
  options.secrets?.add([apiKey]);
  if (apiKey !== undefined && !/^[\x21-\x7e]+$/.test(apiKey.trim())) {
    // The platform's own error would contain the key.
    throw new PurserError(
      "unauthorized",
      "Cannot use the API key: it holds blanks or characters that no key has",
    );
  }
  const lost = (cause: unknown) =>
    new PurserError("unavailable", `Cannot read the answer: the connection to the server at ${where} broke`, {
      cause,
    });
  const fetch = withoutRedirects(
    createSingleSendFetch(),
    (reason) =>
      new PurserError("unavailable", `Cannot use the server: ${reason}; give the address that answers`),
  );
  return async (request) => {
    try {
      const response = await fetchInTime(fetch, redirectTo(request, server, apiKey?.trim()), options);
      await checkContentType(request, response, where);
      return withCheckedBody(response, lost);
    } catch (error) {
      if (error instanceof PurserError) throw error;
      if ((error as Error)?.name === "AbortError") throw error;
      throw new PurserError("unavailable", `Cannot reach the server at ${where}: ${reasonOf(error)}`, {
        cause: error,
      });
    }
  };
}

/** Returns the key for the server. A key file is read only now that it is needed. */
async function readApiKey(
  { config: { apiKey, apiKeyFile }, log }: ServerOptions,
): Promise<string | undefined> {
  return apiKeyFile === undefined ? apiKey : await readKeyFile(apiKeyFile, (message) => log.warn(message));
}

/**
 * A server whose own database is unreachable reports that after `remoteTimeoutMs`; only a longer wait means that the server
 * hangs.
 */
const TIMEOUTS_OF_SERVER = 3;

/** Fetches with a timeout for the response to a GET to begin. Other requests may take long: a run, a large snapshot. */
async function fetchInTime(
  fetch: typeof globalThis.fetch,
  request: Request,
  { config, clock = systemClock }: ServerOptions,
): Promise<Response> {
  if (request.method !== "GET") return await fetch(request);
  const waitMs = config.remoteTimeoutMs * TIMEOUTS_OF_SERVER;
  const answered = new AbortController();
  const timedOut = new AbortController();
  void clock.sleep(waitMs, answered.signal).then(() => {
    if (answered.signal.aborted) return;
    const { host } = new URL(request.url);
    timedOut.abort(
      new PurserError(
        "unavailable",
        `Cannot use the server at ${host}: it has not answered for ${waitMs / 1000} s`,
      ),
    );
  });
  try {
    return await fetch(request, { signal: AbortSignal.any([request.signal, timedOut.signal]) });
  } finally {
    answered.abort();
  }
}

/** Refuses a response that is not Purser's: a login page, or a wrong address, also answers 200. */
async function checkContentType(request: Request, response: Response, where: string): Promise<void> {
  if (!response.ok || response.status === 204) return;
  const type = response.headers.get("content-type") ?? "";
  if (/^(application\/([\w.-]+\+)?json|text\/event-stream)\b/i.test(type)) return;
  if (/^text\/csv\b/i.test(type) && request.headers.get("accept") === "text/csv") return;
  await response.body?.cancel();
  throw new PurserError(
    "unavailable",
    `Cannot use the server at ${where}: it answered ${response.status} with something that is not Purser's`,
  );
}

/** Returns a response whose body, if the connection breaks, fails with an error that says so. */
function withCheckedBody(response: Response, lost: (cause: unknown) => PurserError): Response {
  if (response.body === null) return response;
  const reader = response.body.getReader();
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const { done, value } = await reader.read();
        if (done) controller.close();
        else controller.enqueue(value);
      } catch (error) {
        throw (error as Error)?.name === "AbortError" ? error : lost(error);
      }
    },
    cancel: (reason) => reader.cancel(reason),
  });
  return new Response(body, response);
}

/** Maximum length of a reason, which may contain the whole URL. */
const MAX_REASON = 300;

function reasonOf(error: unknown): string {
  const cause = (error as { cause?: unknown })?.cause;
  const reason = messageOf(error) + (cause === undefined ? "" : `: ${messageOf(cause)}`);
  return reason.length > MAX_REASON ? `${reason.slice(0, MAX_REASON)}…` : reason;
}

function redirectTo(request: Request, base: string, key: string | undefined): Request {
  const { pathname, search } = new URL(request.url);
  const redirected = new Request(base.replace(/\/$/, "") + pathname + search, request);
  if (key !== undefined) redirected.headers.set("authorization", `Bearer ${key}`);
  return redirected;
}
