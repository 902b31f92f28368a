/**
 * A database of the schema before the ledger had positions, with a million calls: the duration of its migration, and of
 * the longest commit, which a server aborts after 5 s. `bench/migrate.ts CALLS` takes another number of calls.
 */
import { migrate } from "../src/store/schema/migrate.ts";
import { systemClock } from "../src/kernel/clock.ts";
import { databaseLogic } from "../src/service/parts.ts";
import { createIds } from "../src/kernel/ids.ts";
import { installLogic, type Store } from "../src/store/mod.ts";
import { RemoteStore } from "../src/store/libsql/libsql_store.ts";
import { SqliteStore } from "../src/store/sqlite/sqlite_store.ts";
import { fillOldDatabase, oldMigrations } from "../tests/harness/old_database.ts";
import { startSqld } from "../tests/harness/sqld.ts";
import { report } from "./measure.ts";

const CALLS = Number(Deno.args[0] ?? 1_000_000);
const seconds = (value: number) => `${(value / 1000).toFixed(2)} s`;

async function measure(store: Store, name: string): Promise<void> {
  await migrate(store, systemClock, oldMigrations);
  await fillOldDatabase(store, CALLS);
  const spent = async (sql: string) => (await store.read({ sql })).rows[0]!.join(" ");
  const before = await spent(
    "SELECT count(*), sum(cost_nano_usd / 1000000000), sum(cost_nano_usd % 1000000000) FROM calls",
  );

  const commits: number[] = [];
  const timed = new Proxy(store, {
    get(target, property) {
      if (property !== "write") {
        const value = Reflect.get(target, property, target);
        return typeof value === "function" ? value.bind(target) : value;
      }
      return async (...args: Parameters<Store["write"]>) => {
        const start = performance.now();
        const results = await target.write(...args);
        commits.push(performance.now() - start);
        return results;
      };
    },
  });
  const start = performance.now();
  await migrate(timed, systemClock);
  await installLogic(timed, databaseLogic);
  const total = performance.now() - start;

  const after = await spent(
    "SELECT sum(model_calls), sum(whole_usd), sum(rest_nano_usd) FROM total_usage",
  );
  if (after !== before) throw new Error(`The totals have changed: ${before}, now ${after}`);
  report(`${name}, ${CALLS.toLocaleString("en")} calls`, [
    ["in all", seconds(total)],
    ["commits", String(commits.length)],
    ["the longest commit", seconds(Math.max(...commits))],
    ["the first, which creates the tables", seconds(commits[0]!)],
    ["the one that removes the old ledger", seconds(commits.at(-2)!)],
  ]);
}

{
  const directory = await Deno.makeTempDir({ prefix: "purser-bench-" });
  const store = await SqliteStore.open({ path: `${directory}/books.db`, durability: "full" });
  await measure(store, "A file, FULL");
  await store.close();
  await Deno.remove(directory, { recursive: true });
}
{
  await using sqld = await startSqld({ durability: "strong" });
  const ids = createIds(systemClock);
  const store = new RemoteStore({
    url: sqld.url,
    timeoutMs: 30_000,
    clock: systemClock,
    newToken: () => ids.next("req"),
  });
  await measure(store, "sqld, strong");
  await store.close();
}
