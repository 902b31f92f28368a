import type { Clock } from "../clock.ts";
import type { DatabaseAddress, Durability } from "../config.ts";
import type { Ids } from "../ids.ts";
import { migrate } from "./migrate.ts";

import type { Store } from "./store.ts";

/** What opening a database needs. */
export interface OpenStoreOptions {
  location: DatabaseAddress;
  authToken?: string;
  durability: Durability;
  remoteTimeoutMs: number;
  clock: Clock;
  ids: Ids;
  fetch?: typeof globalThis.fetch;
}

/**
 * Opens a local file, a database in memory or a remote server, and brings it to this program's schema.
 * The drivers load late: the edge has no native code, and a local command needs no network client.
 *
 * @throws {StoreBusyError} another process owns the file
 */
export async function openStore(options: OpenStoreOptions): Promise<Store> {
  const store = await connect(options);
  try {
    await migrate(store, options.clock);
    return store;
  } catch (error) {
    await store.close();
    throw error;
  }
}

async function connect(options: OpenStoreOptions): Promise<Store> {
  const { location, durability, clock } = options;
  if (location.kind === "remote") {
    const { RemoteStore } = await import("./remote_store.ts");
    return new RemoteStore({
      url: location.url,
      authToken: options.authToken,
      timeoutMs: options.remoteTimeoutMs,
      clock,
      fetch: options.fetch,
      newToken: () => options.ids.next("req"),
    });
  }
  const { FileStore } = await import("./file_store.ts");
  if (location.kind === "memory") return FileStore.open({ path: ":memory:", durability });
  const { prepareDatabaseFile } = await import("./database_file.ts");
  await prepareDatabaseFile(location.path);
  return FileStore.open({ path: location.path, durability });
}
