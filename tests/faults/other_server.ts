import assert from "node:assert/strict";
import { systemClock } from "../../src/kernel/clock.ts";
import { createIds } from "../../src/kernel/ids.ts";
import { RemoteStore } from "../../src/store/libsql/libsql_store.ts";
import type { Store } from "../../src/store/mod.ts";
import { PostgresStore } from "../../src/store/postgres/postgres_store.ts";
import type { CuttingProxy } from "../harness/cutting_proxy.ts";
import type { DatabaseServer, ServedDatabase } from "../harness/database_servers.ts";

export const portOf = ({ url }: DatabaseServer) => Number(new URL(url).port);

/** Leads the connections of a proxy to another server, which may have an empty database of that name. Resolves with the function that leads them back. */
export async function leadTo(
  other: DatabaseServer,
  proxy: CuttingProxy,
  name: string | undefined,
): Promise<() => Promise<void>> {
  const own = proxy.target;
  const database = name === undefined ? undefined : await other.createDatabase(name);
  proxy.target = portOf(other);
  proxy.drop();
  return async () => {
    proxy.target = own;
    proxy.drop();
    if (!database) return;
    // No process has written anything there, such as a schema of its own.
    const store = openAsItIs(database);
    const sql = store.engine === "sqlite"
      ? "SELECT name FROM sqlite_schema"
      : "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace";
    try {
      assert.deepEqual((await store.read({ sql })).rows, [], "nothing is written to another database");
    } finally {
      await store.close();
    }
    await other.removeDatabase(database.name);
  };
}

/** Opens a database without a migration. */
function openAsItIs({ url, fetch }: ServedDatabase): Store {
  const ids = createIds(systemClock);
  const options = { url, fetch, timeoutMs: 10_000, clock: systemClock, newToken: () => ids.next("req") };
  return fetch ? new RemoteStore(options) : new PostgresStore(options);
}
