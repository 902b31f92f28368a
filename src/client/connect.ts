import { type Clock, systemClock } from "../clock.ts";
import { type Config, type Environment, parseDatabaseUrl, readKeyFile } from "../config.ts";
import { messageOf, PurserError } from "../errors.ts";
import { files } from "../files.ts";
import type { Log } from "../log.ts";
import { type ApiClient, createApiClient } from "./api_client.ts";
import type { OwnedDatabase, OwnOptions } from "./own_database.ts";
import {
  ANNOUNCED_HEADER,
  announcementOf,
  LEFT_HEADER,
  type Owner,
  PROOF_PATH,
  proofOf,
  readOwner,
} from "./owner_file.ts";

/** A way to the API that has to be closed. */
export interface Connection {
  api: ApiClient;
  /**
   * Sends a request as it is, for answers that are streams; the URL's path counts, its host is replaced. A body
   * that is a stream can be sent once: `again` makes the request anew, should the owner of the file have ended.
   */
  send(request: Request, again?: () => Request): Promise<Response>;
  /** Who answers: this process over its own database, the owner of a local file, or a remote server. */
  kind: "local" | "owner" | "remote";
  /** What a message may call it: a path or a host. */
  where: string;
  close(): Promise<void>;
}

/** What connecting needs. */
export interface ConnectOptions {
  config: Config;
  env: Environment;
  log: Log;
  /** Tells the person at the terminal something, on stderr. */
  say: (line: string) => void;
  clock?: Clock;
  /** How long the owner of a file may neither answer nor end. */
  patienceMs?: number;
  /** How long the file, once it is this process's, may be closed to others; see `OwnOptions`. */
  doorAfterMs?: number;
}

const PATIENCE_MS = 10_000;
/** Commands that only look are over by then. */
const DOOR_AFTER_MS = 100;
const FIRST_DELAY_MS = 10;
const LONGEST_DELAY_MS = 200;
const OWNER_ANSWERS_MS = 2_000;

/** The base URL of requests whose host does not matter. */
const NOWHERE = "http://purser.invalid";

/**
 * Finds the way to the API: the server of `--server`; a remote database or one in memory, opened here; or a
 * local file, opened here or reached through the process that owns it.
 *
 * @throws {PurserError} `unavailable` when the file's owner neither answers nor ends
 */
export async function connect(options: ConnectOptions): Promise<Connection> {
  const { config } = options;
  if (config.server !== undefined) return toServer(options, config.server, await readApiKey(options));
  const address = parseDatabaseUrl(config.dbUrl);
  if (address.kind !== "file") {
    return toOwned(
      await ownDatabase(options),
      address.kind === "memory" ? "memory" : new URL(address.url).host,
    );
  }
  return await toFile(options, address.path);
}

/** The key for the server; its file is read only now that it is needed. */
async function readApiKey(
  { config: { apiKey, apiKeyFile }, log }: ConnectOptions,
): Promise<string | undefined> {
  return apiKeyFile === undefined ? apiKey : await readKeyFile(apiKeyFile, (message) => log.warn(message));
}

function toServer(options: ConnectOptions, server: string, apiKey: string | undefined): Connection {
  const where = new URL(server).host;
  if (apiKey !== undefined && !/^[\x21-\x7e]+$/.test(apiKey.trim())) {
    // The platform's own error would quote it.
    throw new PurserError(
      "unauthorized",
      "Cannot use the API key: it holds blanks or characters that no key has",
    );
  }
  const lost = (cause: unknown) =>
    new PurserError("unavailable", `Cannot read the answer: the connection to the server at ${where} broke`, {
      cause,
    });
  const send = async (request: Request) => {
    try {
      const response = await fetchInTime(redirectTo(request, server, apiKey?.trim()), options);
      await refuseStranger(response, where);
      return withCheckedBody(response, lost);
    } catch (error) {
      if (error instanceof PurserError) throw error;
      if ((error as Error)?.name === "AbortError") throw error;
      throw new PurserError("unavailable", `Cannot reach the server at ${where}: ${reasonOf(error)}`, {
        cause: error,
      });
    }
  };
  return connection("remote", where, send, () => Promise.resolve());
}

/** A server whose own database is away says so after `remoteTimeoutMs`; only later is it the server that hangs. */
const TIMEOUTS_OF_SERVER = 3;

/** Waits so long for the answer to a read to begin. Whatever else is sent may take long: a run, a large snapshot. */
async function fetchInTime(request: Request, { config, clock = systemClock }: ConnectOptions) {
  if (request.method !== "GET") return await fetch(request);
  const waitMs = config.remoteTimeoutMs * TIMEOUTS_OF_SERVER;
  const answered = new AbortController();
  const late = new AbortController();
  void clock.sleep(waitMs, answered.signal).then(() => {
    if (answered.signal.aborted) return;
    const { host } = new URL(request.url);
    late.abort(
      new PurserError(
        "unavailable",
        `Cannot use the server at ${host}: it has not answered for ${waitMs / 1000} s`,
      ),
    );
  });
  try {
    return await fetch(request, { signal: AbortSignal.any([request.signal, late.signal]) });
  } finally {
    answered.abort();
  }
}

/** A page that signs people in, or a wrong address, also answers 200; that is nothing to take for a success. */
async function refuseStranger(response: Response, where: string): Promise<void> {
  if (!response.ok || response.status === 204) return;
  const type = response.headers.get("content-type") ?? "";
  if (/^(application\/([\w.-]+\+)?json|text\/event-stream)\b/i.test(type)) return;
  await response.body?.cancel();
  throw new PurserError(
    "unavailable",
    `Cannot use the server at ${where}: it answered ${response.status} with something that is not Purser's`,
  );
}

/**
 * The way to the API for a short look, such as a completion: the server, the owner of the file, or the database opened
 * without becoming its owner for others. Nothing is waited for, and no database is made.
 *
 * @throws {StoreBusyError} another process owns the file and does not answer
 */
export async function glance(options: ConnectOptions): Promise<Connection> {
  const { config } = options;
  if (config.server !== undefined) return toServer(options, config.server, await readApiKey(options));
  const address = parseDatabaseUrl(config.dbUrl);
  if (address.kind === "file") {
    const owner = await readOwner(address.path);
    // Should it end meanwhile, nobody goes and looks for the next one.
    if (owner && await isAnswering(owner)) return toOwner(options, address.path, owner, owner);
    await files.realPath(address.path);
  }
  const { glanceAtDatabase } = await import("./own_database.ts");
  return toOwned(await glanceAtDatabase(options), config.dbUrl);
}

function toOwned(owned: OwnedDatabase, where: string): Connection {
  return connection("local", where, async (request) => await owned.app.fetch(request), () => owned.close());
}

function connection(
  kind: Connection["kind"],
  where: string,
  send: Connection["send"],
  close: () => Promise<void>,
): Connection {
  return { kind, where, send, close, api: createApiClient({ baseUrl: NOWHERE, send }) };
}

/**
 * Opens the database in this process; see `own_database.ts`, which is loaded late: a command that goes
 * through an owner or a server needs neither the drivers nor the app.
 *
 * @throws {StoreBusyError} another process owns the file
 */
export async function ownDatabase(options: OwnOptions): Promise<OwnedDatabase> {
  const module = await import("./own_database.ts");
  return await module.ownDatabase(options);
}

/** Opens the file, or finds its owner; while neither works, waits and tries again. */
async function toFile(options: ConnectOptions, path: string, lost?: Owner): Promise<Connection> {
  const { clock = systemClock, patienceMs = PATIENCE_MS, doorAfterMs = DOOR_AFTER_MS } = options;
  const deadline = clock.monotonic() + patienceMs;
  for (let delayMs = FIRST_DELAY_MS;; delayMs = Math.min(delayMs * 2, LONGEST_DELAY_MS)) {
    const owner = await readOwner(path);
    if (owner && await isAnswering(owner)) return toOwner(options, path, owner, lost);
    try {
      const owned = await ownDatabase({
        ...options,
        doorAfterMs,
        deadOwner: owner,
      });
      return toOwned(owned, path);
    } catch (error) {
      if ((error as Error)?.name !== "StoreBusyError") throw error;
      if (clock.monotonic() >= deadline) throw await explainBusyFile(path, patienceMs);
      await clock.sleep(delayMs * (0.5 + Math.random() / 2)); // many that wait should not come together
    }
  }
}

/** The error of whoever has waited for a file's owner in vain; it names the process where that is known. */
export async function explainBusyFile(path: string, patienceMs: number): Promise<PurserError> {
  const owner = await readOwner(path);
  const who = owner ? `process ${owner.pid}` : "another process";
  return new PurserError(
    "unavailable",
    `Cannot open database ${path}: ${who} owns it and has not answered for ${
      patienceMs / 1000
    } s; end it, or use another --db`,
  );
}

/**
 * Whether the owner's file tells of a process that lives: a killed one leaves its file behind, and a stranger
 * may listen on its port by now. The token is sent to nobody who has not shown to know it. With `announced`, a nonce, the
 * owner waits for the request that carries it.
 */
async function isAnswering(owner: Owner, announced?: string): Promise<boolean> {
  const nonce = announced ?? crypto.randomUUID();
  const announcement = announced ? `&announcement=${announcementOf(owner.token, announced)}` : "";
  try {
    const response = await fetch(`${owner.url}${PROOF_PATH}?nonce=${nonce}${announcement}`, {
      signal: AbortSignal.timeout(OWNER_ANSWERS_MS),
      redirect: "manual",
    });
    return await response.text() === proofOf(owner.token, nonce);
  } catch {
    return false;
  }
}

/**
 * Goes through the owner; when it has ended, finds the next one or becomes it. `before` is the owner that a request
 * was lost by already: should it live, it is the request that it does not take.
 */
function toOwner(options: ConnectOptions, path: string, owner: Owner, before?: Owner): Connection {
  let next: Promise<Connection> | undefined;
  const lost = (cause: unknown) =>
    new PurserError(
      "unavailable",
      `Cannot tell how it ended: process ${owner.pid}, which owned database ${path}, ended meanwhile; ` +
        "what it had booked is kept, see purser sessions list",
      { cause },
    );
  const send: Connection["send"] = async (request, again) => {
    if (next) return (await next).send(request, again);
    // What changes something can't be sent twice: an owner that is about to end waits for what was announced.
    const announced = request.method === "GET" ? undefined : crypto.randomUUID();
    if (announced && !await isAnswering(owner, announced)) {
      next ??= toFile(options, path);
      return (await next).send(request, again);
    }
    const spare = again ?? ((clone) => () => clone)(request.clone());
    try {
      const redirected = redirectTo(request, owner.url, owner.token);
      if (announced) redirected.headers.set(ANNOUNCED_HEADER, announced);
      const response = await fetch(redirected);
      if (response.headers.has(LEFT_HEADER)) {
        next ??= toFile(options, path);
        return (await next).send(spare());
      }
      return withCheckedBody(response, lost);
    } catch (error) {
      if (request.signal.aborted) throw error;
      if (!wasNeverSent(error) && request.method !== "GET") {
        throw lost(error);
      }
      if (before?.token === owner.token) {
        throw new PurserError(
          "unavailable",
          `Cannot send the request to process ${owner.pid}: ${reasonOf(error)}`,
          {
            cause: error,
          },
        );
      }
      next ??= toFile(options, path, owner);
      return (await next).send(spare());
    }
  };
  return connection("owner", path, send, async () => await (await next)?.close());
}

/** A response whose body, should it break off half way, ends with an error that says what that means. */
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

/** Whether a request failed before it reached anybody, so that it may be sent again. */
function wasNeverSent(error: unknown): boolean {
  return /\(Connect\)|connection refused/i.test(reasonOf(error));
}

/** A reason may quote the whole URL. */
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
