import { type Config, type Environment } from "../config/mod.ts";
import { type DatabaseAddress, parseDatabaseUrl } from "../kernel/database_url.ts";
import type { Clock } from "../kernel/clock.ts";
import { files } from "../kernel/files.ts";
import type { Log } from "../kernel/log.ts";
import { type ApiClient, createApiClient } from "./api_client.ts";
import type { DatabaseOptions, OpenDatabase } from "./open_database.ts";

/** A connection to the API, to be closed after use. */
export interface Connection {
  api: ApiClient;
  /** Sends a request unchanged, for bodies and responses that are streams; only the URL's host is replaced. */
  send(request: Request): Promise<Response>;
  /** `local`: the app in this process answers, over the database. `remote`: a server does. */
  kind: "local" | "remote";
  /** The database's path or the server's host, for messages. */
  where: string;
  close(): Promise<void>;
}

/** Options of `connect`. */
export interface ConnectOptions {
  config: Config;
  env: Environment;
  log: Log;
  clock?: Clock;
  /** Makes no changes: see `CoreOptions`. */
  isReadOnly?: boolean;
  /** Makes a missing local file an error; by default it is created. */
  mustExist?: boolean;
}

/** The base URL of requests, whose host is replaced or ignored. */
const NOWHERE = "http://purser.invalid";

/**
 * Connects to the API: on the server of `--server` over the network, else in this process over the database.
 *
 * @throws {PurserError} `unavailable` when the database can't be opened
 */
export async function connect(options: ConnectOptions): Promise<Connection> {
  const { server, dbUrl } = options.config;
  if (server !== undefined) {
    const { createServerSend } = await import("./server_send.ts");
    const send = await createServerSend(options, server);
    return connection("remote", new URL(server).host, send, () => Promise.resolve());
  }
  const address = parseDatabaseUrl(dbUrl);
  if (options.mustExist && address.kind === "file") await files.realPath(address.path);
  const { app, close } = await openDatabase(options);
  return connection("local", nameOf(address), async (request) => await app.fetch(request), close);
}

/** Opens the database in this process. Loaded lazily: a command that uses a server needs neither drivers nor routes. */
export async function openDatabase(options: DatabaseOptions): Promise<OpenDatabase> {
  const module = await import("./open_database.ts");
  return await module.openDatabase(options);
}

function connection(
  kind: Connection["kind"],
  where: string,
  send: Connection["send"],
  close: () => Promise<void>,
): Connection {
  return { kind, where, send, close, api: createApiClient({ baseUrl: NOWHERE, send }) };
}

function nameOf(address: DatabaseAddress): string {
  if (address.kind === "remote") return new URL(address.url).host;
  return address.kind === "file" ? address.path : "memory";
}
