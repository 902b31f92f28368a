import type { Durability } from "../contract/values.ts";
import type { Clock } from "../kernel/clock.ts";
import { type DatabaseAddress, isPostgresUrl } from "../kernel/database_url.ts";
import type { Ids } from "../kernel/ids.ts";
import { installLogic, type Logic, migrate } from "./schema/migrate.ts";
import type { WriteTokens } from "./libsql/libsql_store.ts";
import type { StoreReads } from "./sqlite/read_file.ts";
import type { SqliteDriver } from "./sqlite/sqlite_driver.ts";
import type { InstanceLocks } from "./instance_locks.ts";
import type { SqlValue, Store } from "./store.ts";
import type { ScrubValue } from "./write_queue.ts";
import { drizzle, type SqliteRemoteDatabase } from "drizzle-orm/sqlite-proxy";

/** The options of `openStore`. */
export interface OpenStoreOptions {
  location: DatabaseAddress;
  authToken?: string;
  durability: Durability;
  /** Views and triggers with business rules; see `Logic`. */
  logic: readonly Logic[];
  remoteTimeoutMs: number;
  clock: Clock;
  ids: Ids;
  fetch?: typeof globalThis.fetch;
  /** Opens local databases; default: the runtime's SQLite. */
  sqlite?: SqliteDriver;
  /** State shared by stores that live no longer than a request; see `SharedStore`. */
  shared?: SharedStore;
  /** Maps each value that is written, so that no configured secret is kept. */
  scrub?: ScrubValue;
  /** Long queries over a large local file run in threads of their own. */
  hasThreads?: boolean;
}

/**
 * The state of a remote database that successive stores share, so that only the first one queries it. Plain values, since
 * requests at the edge share no connections.
 */
export interface SharedStore {
  /** True if the schema is known to be up to date. */
  isMigrated: boolean;
  tokens: WriteTokens;
}

/** Creates the shared state of a database that has not been opened yet. */
export function newSharedStore(): SharedStore {
  return { isMigrated: false, tokens: { isThere: false, commits: 0 } };
}

/**
 * Opens a local file, a database in memory, a libSQL server or PostgreSQL, and migrates it to this program's schema.
 * The drivers are loaded lazily: the edge has no `node:sqlite`, and a local command needs no network client.
 *
 * @throws {StoreBusyError} another process has kept the file locked until the deadline
 */
export async function openStore(options: OpenStoreOptions): Promise<Store> {
  const store = await connect(options);
  const { shared } = options;
  try {
    if (!shared?.isMigrated) {
      await migrate(store, options.clock);
      await installLogic(store, options.logic);
    }
    if (shared) shared.isMigrated = true;
    return store;
  } catch (error) {
    await store.close();
    throw error;
  }
}

async function connect(options: OpenStoreOptions): Promise<Store> {
  const { location, durability, clock, scrub, hasThreads, sqlite: driver } = options;
  if (location.kind === "remote") {
    const { url } = location;
    const { authToken, remoteTimeoutMs: timeoutMs, fetch, ids, shared } = options;
    const server = { url, timeoutMs, clock, scrub, newToken: () => ids.next("req") };
    if (isPostgresUrl(url)) {
      const { PostgresStore } = await import("./postgres/postgres_store.ts");
      return new PostgresStore({ ...server, password: authToken });
    }
    const { RemoteStore } = await import("./libsql/libsql_store.ts");
    return new RemoteStore({ ...server, authToken, fetch, tokens: shared?.tokens });
  }
  const { SqliteStore } = await import("./sqlite/sqlite_store.ts");
  if (location.kind === "memory") {
    return await SqliteStore.open({ path: ":memory:", durability, clock, scrub, driver });
  }
  const { prepareDatabaseFile } = await import("./sqlite/database_file.ts");
  await prepareDatabaseFile(location.path);
  return await SqliteStore.open({ path: location.path, durability, clock, scrub, driver, hasThreads });
}

/**
 * Creates locks of instances beside any path, as a database file has them. The driver is loaded lazily: the edge has no
 * `node:sqlite`.
 */
export async function createInstanceLocks(path: string): Promise<InstanceLocks> {
  const module = await import("./sqlite/database_file.ts");
  return module.createInstanceLocks(path);
}

/** Reads a database file as it is; see sqlite/read_file.ts, which is loaded lazily too. */
export async function readDatabaseFile<T>(
  path: string,
  task: (store: StoreReads) => Promise<T>,
): Promise<T | undefined> {
  const module = await import("./sqlite/read_file.ts");
  return await module.readDatabaseFile(path, task);
}

/** A read-only typed query builder. Writes use `Store.write`, in units. */
export type Query = Pick<SqliteRemoteDatabase, "select" | "selectDistinct" | "$with" | "with">;

/** Creates a query builder on a store. */
export function createQuery(store: Pick<Store, "read">): Query {
  return drizzle(async (sql, params, method) => {
    const { rows } = await store.read({ sql, args: params as SqlValue[] });
    return { rows: method === "get" ? rows[0] ?? [] : rows };
  });
}
