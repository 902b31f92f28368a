import assert from "node:assert/strict";
import pg from "pg";
import { bookLooseCalls } from "../../src/calls/mod.ts";
import { systemClock } from "../../src/kernel/clock.ts";
import { createIds } from "../../src/kernel/ids.ts";
import { databaseLogic } from "../../src/service/parts.ts";
import { installLogic, type Store } from "../../src/store/mod.ts";
import { PostgresStore } from "../../src/store/postgres/postgres_store.ts";
import { migrate } from "../../src/store/schema/migrate.ts";
import { createBooking } from "../harness/booking.ts";
import { checkBooks } from "../harness/check_books.ts";
import { modelCall } from "../harness/model_calls.ts";
import { skipPgbouncer, startPgbouncer } from "../harness/pgbouncer.ts";
import { type Postgres, skipPostgres, startPostgres } from "../harness/postgres.ts";
import { createNumbers, insert, one } from "../harness/store_tests.ts";

let server: Postgres;
let count = 0;
const ignore = skipPostgres || skipPgbouncer;

if (!ignore) {
  Deno.test.beforeAll(async () => void (server = await startPostgres()));
  Deno.test.afterAll(async () => await server?.[Symbol.asyncDispose]()); // undefined where it could not start
}

const ids = createIds(systemClock);

function open(url: string, timeoutMs = 30_000): Store & AsyncDisposable {
  const store = new PostgresStore({ url, timeoutMs, clock: systemClock, newToken: () => ids.next("req") });
  return Object.assign(store, { [Symbol.asyncDispose]: () => store.close() });
}

async function openMigrated(url: string): Promise<Store & AsyncDisposable> {
  const store = open(url);
  await migrate(store, systemClock);
  await installLogic(store, databaseLogic);
  return store;
}

const TRANSACTION = ["pool_mode = transaction", "default_pool_size = 2"];
const DROPS_OPTIONS = "ignore_startup_parameters = options";

const POOLERS: readonly { name: string; settings: readonly string[] }[] = [
  { name: "a pooler in transaction mode", settings: TRANSACTION },
  {
    name: "a pooler in transaction mode that drops the settings of a session",
    settings: [...TRANSACTION, DROPS_OPTIONS],
  },
  { name: "a pooler in session mode", settings: ["pool_mode = session", "default_pool_size = 40"] },
];

for (const { name, settings } of POOLERS) {
  Deno.test({
    name: `PostgreSQL behind ${name} keeps the books of two tenants apart, and no session is left changed`,
    ignore,
    async fn() {
      await using pooler = await startPgbouncer(server, settings);
      const { url } = await server.createDatabase(`p${++count}`);
      const stores: Store[] = [];
      for (const schema of ["tenant_1", "tenant_2"]) {
        await using stack = new AsyncDisposableStack();
        const first = stack.use(await openMigrated(`${pooler.through(url)}?schema=${schema}`));
        stores.push(first, open(`${pooler.through(url)}?schema=${schema}`));
        stack.move();
      }
      try {
        const contexts = await Promise.all(stores.map((store) => createBooking(store)));
        await Promise.all(contexts.flatMap((ctx, index) =>
          Array.from({ length: 12 }, async (_, number) => {
            const callId = `${index}-${number}`;
            await bookLooseCalls(ctx, [modelCall({ callId, at: Date.now(), costNanoUsd: 1_000n })]);
            const [calls, days] = await ctx.store.readAll([
              { sql: "SELECT count(*) FROM calls" },
              { sql: "SELECT sum(model_calls) FROM daily_usage" },
            ]);
            assert.deepEqual(calls!.rows, days!.rows, "at one moment");
          })
        ));
        for (const [index, store] of stores.entries()) {
          const ids = await checkBooks(store);
          const own = index < 2 ? ["0", "1"] : ["2", "3"];
          assert.equal(ids.size, 24);
          assert.ok([...ids].every((id) => own.includes(id.split("-")[0]!)), "calls of its own tenant");
          assert.equal(await one(store, "SELECT max(position) FROM calls"), 24n);
        }
        await assert.rejects(
          stores[0]!.readAll([{ sql: "SELECT 1" }, { sql: "SELECT 1 FROM missing" }]),
          /no such table: missing/,
        );
        await checkBooks(stores[0]!);
        const other = new pg.Client({ connectionString: pooler.through(url) });
        await other.connect();
        const { rows } = await other.query(
          "SELECT current_setting('search_path') AS path, current_setting('default_transaction_read_only') AS is_read_only",
        );
        await other.end();
        assert.deepEqual(rows, [{ path: '"$user", public', is_read_only: "off" }]);
      } finally {
        for (const store of stores) await store.close();
      }
    },
  });
}

Deno.test({
  name: "a commit whose pooler is killed is done once",
  ignore,
  async fn() {
    await using pooler = await startPgbouncer(server, TRANSACTION);
    const { url } = await server.createDatabase(`p${++count}`);
    await using store = open(pooler.through(url));
    await store.write([createNumbers]);
    let isOver = false;
    let done = 0;
    const writing = Promise.all(Array.from({ length: 4 }, async () => {
      while (!isOver) await store.write([insert(++done)]);
    }));
    for (let kill = 1; kill <= 3; kill++) {
      const enough = done + 20;
      while (done < enough) await new Promise((resolve) => setTimeout(resolve, 1));
      await pooler.replace();
    }
    isOver = true;
    await writing;
    assert.equal(await one(store, "SELECT count(*) FROM t"), BigInt(done));
  },
});

Deno.test({
  name: "a pooler behind which transactions are serializable is refused with the remedy",
  ignore,
  async fn() {
    await using pooler = await startPgbouncer(server, TRANSACTION);
    const { url } = await server.createDatabase(`p${++count}`);
    await using own = open(url);
    await own.write([{ sql: "CREATE ROLE strict LOGIN SUPERUSER" }, {
      sql: "ALTER ROLE strict SET default_transaction_isolation = 'serializable'",
    }]);
    await using store = open(pooler.through(url).replace("purser@", "strict@"));
    await assert.rejects(
      migrate(store, systemClock),
      /^PurserError: Cannot use the database at .*: a connection pooler answers, behind which transactions are serializable; set default_transaction_isolation of the user to read committed, or give the address of the server itself$/,
    );
    await using direct = open(url.replace("purser@", "strict@"));
    await direct.write([createNumbers, insert(1)]);
  },
});
