import assert from "node:assert/strict";
import { ConstraintError, type Store } from "../../src/store/mod.ts";
import { PurserError } from "../../src/kernel/errors.ts";
import { createIds } from "../../src/kernel/ids.ts";
import { systemClock } from "../../src/kernel/clock.ts";
import { migrate } from "../../src/store/schema/migrate.ts";
import { PostgresStore } from "../../src/store/postgres/postgres_store.ts";
import { type Postgres, skipPostgres, startPostgres } from "../harness/postgres.ts";
import { createNumbers, insert, one } from "../harness/store_tests.ts";

let server: Postgres;
let count = 0;

if (!skipPostgres) {
  Deno.test.beforeAll(async () => void (server = await startPostgres()));
  Deno.test.afterAll(async () => await server?.[Symbol.asyncDispose]()); // undefined where it could not start
}

const ids = createIds(systemClock);

function open(url: string, timeoutMs = 20_000): Store {
  return new PostgresStore({ url, timeoutMs, clock: systemClock, newToken: () => ids.next("req") });
}

/** Declares a test over a database of its own, and a second store on it for the test's own look. */
function test(sentence: string, body: (url: string, own: Store) => Promise<void>): void {
  Deno.test({
    name: `PostgreSQL: ${sentence}`,
    ignore: skipPostgres,
    async fn() {
      await using database = await server.createDatabase(`d${++count}`);
      const own = open(database.url);
      try {
        await body(database.url, own);
      } finally {
        await own.close();
      }
    },
  });
}

/**
 * Connections to the server, of which one breaks before a message with a text reaches it, or once it has answered that message;
 * or all are frozen from then on, and new ones too.
 */
function breakingProxy(text: string, when: "before" | "after" | "frozen", state = { breaks: 0, left: 1 }) {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const open: Deno.Conn[] = [];
  let isFrozen = false;
  const pass = async (client: Deno.Conn) => {
    const upstream = await Deno.connect({ hostname: "127.0.0.1", port: server.port });
    open.push(client, upstream);
    let isCut = false;
    const cut = () => {
      state.breaks++;
      for (const connection of [client, upstream]) {
        try {
          connection.close();
        } catch {
          // already closed
        }
      }
    };
    const forward = async (from: Deno.Conn, to: Deno.Conn, onData: (data: string) => boolean) => {
      const buffer = new Uint8Array(65_536);
      try {
        for (;;) {
          const length = await from.read(buffer);
          if (length === null) break;
          if (isFrozen) continue;
          if (onData(new TextDecoder("latin1").decode(buffer.subarray(0, length)))) return cut();
          if (isFrozen) continue;
          await to.write(buffer.slice(0, length));
        }
        for (const connection of [from, to]) connection.close();
      } catch {
        // cut, or closed by the other side
      }
    };
    void forward(client, upstream, (data) => {
      if (state.left === 0 || !data.includes(text)) return false;
      state.left--;
      isCut = when !== "frozen";
      isFrozen = !isCut;
      return when === "before";
    });
    void forward(upstream, client, () => isCut && when === "after");
  };
  const running = (async () => {
    for await (const client of listener) await pass(client);
  })().catch(() => {});
  return {
    state,
    url: (url: string) => url.replace(/:\d+\//, `:${(listener.addr as Deno.NetAddr).port}/`),
    async [Symbol.asyncDispose]() {
      listener.close();
      await running;
      for (const connection of open) {
        try {
          connection.close();
        } catch {
          // already closed
        }
      }
    },
  };
}

for (const when of ["before", "after"] as const) {
  test(
    `a commit whose connection breaks ${when} the server has it is done once, and its queries are answered`,
    async (url, own) => {
      await own.write([createNumbers]);
      await using proxy = breakingProxy("THE ROW", when);
      const store = open(proxy.url(url));
      try {
        await store.write([insert(1)]);
        const [, read] = await store.write([
          { sql: "INSERT INTO t SELECT 2, ? WHERE 'THE ROW' <> ''", args: [5] },
          { sql: "SELECT b FROM t WHERE a = 2" },
        ]);
        assert.deepEqual(read!.rows, [[5n]]);
        assert.equal(proxy.state.breaks, 1);
        assert.deepEqual((await own.read({ sql: "SELECT a FROM t ORDER BY a" })).rows, [[1n], [2n]]);
      } finally {
        await store.close();
      }
    },
  );
}

test(
  "units of several stores commit one after another: numbers grow in the order of commits, without a gap",
  async (url, own) => {
    await own.write([{ sql: "CREATE TABLE log (n BIGINT PRIMARY KEY, xid BIGINT, by BIGINT)" }]);
    const stores = Array.from({ length: 4 }, () => open(url));
    const add = {
      sql:
        `INSERT INTO log SELECT coalesce(max(n), 0) + 1, CAST(CAST(pg_current_xact_id() AS TEXT) AS BIGINT), 1 FROM log`,
    };
    const refused = { sql: "INSERT INTO log VALUES (1, 0, 0)" };
    try {
      await Promise.all(stores.map(async (store, i) => {
        for (let n = 0; n < 25; n++) {
          await store.write([add]);
          if (n % 5 === i) await assert.rejects(store.write([add, refused]), ConstraintError);
        }
      }));
      const { rows } = await own.read({ sql: "SELECT n FROM log ORDER BY n" });
      assert.deepEqual(rows.flat(), Array.from({ length: 100 }, (_, i) => BigInt(i + 1)));
    } finally {
      for (const store of stores) await store.close();
    }
  },
);

test("a schema is another database, and what is in the others isn't seen", async (url, own) => {
  await own.write([createNumbers, insert(1)]);
  const other = open(`${url}?schema=tenant_2`);
  try {
    await other.write([createNumbers, insert(2)]);
    assert.deepEqual((await other.read({ sql: "SELECT a FROM t" })).rows, [[2n]]);
    assert.deepEqual((await own.read({ sql: "SELECT a FROM t" })).rows, [[1n]]);
    await assert.rejects(migrate(own, systemClock), /not Purser's, it has a table t/);
    assert.equal(await one(own, "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'"), 3n);
  } finally {
    await other.close();
  }
});

async function refusal(url: string, act: (store: Store) => Promise<unknown>): Promise<string> {
  const store = open(url, 3_000);
  try {
    await act(store);
    return "";
  } catch (error) {
    assert.ok(error instanceof PurserError, String(error));
    return `${error.code}: ${error.message.replace(/127\.0\.0\.1:\d+/, "HOST")}`;
  } finally {
    await store.close();
  }
}

test(
  "a role or a database that can't be used is refused with the remedy, and nothing is written",
  async (url, own) => {
    await own.write([{ sql: "CREATE ROLE guest LOGIN" }, { sql: "REVOKE ALL ON SCHEMA public FROM PUBLIC" }]);
    const migrated = (store: Store) => migrate(store, systemClock);
    const as = (user: string) => url.replace("purser@", `${user}@`);
    assert.match(
      await refusal(as("guest"), migrated),
      /^unavailable: Cannot write the database at HOST: permission denied .*; grant the user the right, or name another schema/,
    );
    assert.match(
      await refusal(as("nobody_known"), migrated),
      /^unavailable: Cannot read the database at HOST: it refused the user or the password; check the URL and PURSER_DB_TOKEN$/,
    );
    assert.match(
      await refusal(url.replace(/\/\w+$/, "/missing"), migrated),
      /^unavailable: Cannot read the database at HOST: database "missing" does not exist; create it/,
    );
    await own.write([{ sql: "DROP OWNED BY guest" }, { sql: "DROP ROLE guest" }]);
  },
);

test(
  "a server that stops answering is unavailable within the timeout, and used again once it answers",
  async (url, own) => {
    await own.write([createNumbers]);
    const store = open(url, 1_000);
    try {
      await store.write([insert(1)]);
      // Its processes: that of each connection answers by itself.
      const { rows } = await own.read({
        sql: "SELECT pid FROM pg_stat_activity WHERE application_name = 'purser'",
      });
      const mine = rows.flat().map(Number);
      for (const pid of mine) Deno.kill(pid, "SIGSTOP");
      const refused = (promise: Promise<unknown>) => assert.rejects(promise, { code: "unavailable" });
      await refused(store.write([insert(2)]));
      for (const pid of mine) Deno.kill(pid, "SIGCONT");
      await store.write([insert(3)]);
      assert.equal(await one(store, "SELECT count(*) FROM t WHERE a IN (1, 3)"), 2n);
    } finally {
      await store.close();
    }
  },
);

test(
  "a commit that a frozen server leaves unanswered is made through another one of its address, long before the deadline",
  async (url, own) => {
    await own.write([createNumbers]);
    const once = { breaks: 0, left: 1 };
    await using first = breakingProxy("THE ROW", "frozen", once);
    await using other = breakingProxy("THE ROW", "frozen", once);
    const { username, pathname } = new URL(url);
    const ports = [first, other].map((proxy) => new URL(proxy.url(url)).port);
    const store = open(`postgres://${username}@cluster${pathname}?host=127.0.0.1,127.0.0.1&port=${ports}`);
    try {
      const began = performance.now();
      await store.write([insert(1), { sql: "SELECT 'THE ROW'" }]);
      assert.ok(performance.now() - began < 15_000);
      assert.equal(once.left, 0);
      assert.equal(await one(own, "SELECT count(*) FROM t WHERE a = 1"), 1n);
    } finally {
      await store.close();
    }
  },
);
