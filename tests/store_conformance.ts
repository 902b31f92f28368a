import assert from "node:assert/strict";
import { ConstraintError, type SqlValue, type Store, tables, toObjects } from "../src/store/mod.ts";
import { PurserError } from "../src/errors.ts";
import { migrate } from "../src/store/migrate.ts";
import { migrations } from "../src/store/migrations/mod.ts";
import { getTableConfig } from "drizzle-orm/sqlite-core";
import { eagerClock } from "./harness/eager_clock.ts";
import type { DatabaseKind, OpenOptions } from "./harness/databases.ts";

const clock = eagerClock();

/** What every database has to do, whatever it is. */
export function testStore(kind: DatabaseKind): void {
  const { name, ignore } = kind;

  /** A test over a database of its own. */
  function test(sentence: string, body: (store: Store) => Promise<void>, options?: OpenOptions): void {
    Deno.test({
      name: `${name}: ${sentence}`,
      ignore,
      async fn() {
        await using database = await kind.create();
        await body(await database.open(options));
      },
    });
  }

  const one = async (store: Store, sql: string, args: SqlValue[] = []) =>
    (await store.read({ sql, args })).rows[0]?.[0];
  const createT = { sql: "CREATE TABLE t (a PRIMARY KEY NOT NULL, b)" };
  const insert = (a: SqlValue, b: SqlValue = null) => ({ sql: "INSERT INTO t VALUES (?, ?)", args: [a, b] });

  test("an integer comes back as the same bigint, past 2^53 and below zero", async (store) => {
    const values = [0n, -1n, 2n ** 53n + 1n, -(2n ** 53n) - 1n, 2n ** 63n - 1n, -(2n ** 63n)];
    for (const value of values) assert.equal(await one(store, "SELECT ?", [value]), value);
    await store.write([createT, ...values.map((value) => insert(String(value), value))]);
    for (const value of values) {
      assert.equal(await one(store, "SELECT b FROM t WHERE a = ?", [String(value)]), value);
    }
  });

  test("an integer that 64 bits can't hold is refused, never cut", async (store) => {
    await store.write([createT]);
    for (const value of [2n ** 63n, -(2n ** 63n) - 1n, 2n ** 64n, 2n ** 80n]) {
      await assert.rejects(store.write([insert("a", value)]));
    }
    assert.equal(await one(store, "SELECT count(*) FROM t"), 0n);
  });

  test("a whole number binds as INTEGER, another as REAL", async (store) => {
    assert.equal(await one(store, "SELECT typeof(?)", [42]), "integer");
    assert.equal(await one(store, "SELECT typeof(?)", [1.5]), "real");
    assert.equal(await one(store, "SELECT ? / 2", [7]), 3n);
    assert.equal(await one(store, "SELECT ?", [1.5]), 1.5);
    assert.equal(await one(store, "SELECT ? + ?", [9007199254740991, 2]), 9007199254740993n);
  });

  test("texts, blobs and NULL come back as they were", async (store) => {
    const values: SqlValue[] = [
      "",
      "grüße 🛳️ 漢字 \u{10FFFF}",
      'it\'s "quoted" -- ;',
      "a\nb\tc\r\n",
      "x".repeat(100_000),
      null,
    ];
    for (const value of values) assert.equal(await one(store, "SELECT ?", [value]), value);
    const bytes = Uint8Array.from({ length: 256 }, (_, i) => i);
    for (const blob of [bytes, new Uint8Array(0)]) {
      const back = await one(store, "SELECT ?", [blob]);
      assert.ok(back instanceof Uint8Array);
      assert.deepEqual([...back], [...blob]);
      assert.equal(await one(store, "SELECT typeof(?)", [blob]), "blob");
    }
  });

  test("a text with a zero character is kept whole", async (store) => {
    await store.write([createT, insert("a\0b", "c\0d")]);
    assert.equal(await one(store, "SELECT hex(b) FROM t WHERE a = ?", ["a\0b"]), "630064");
    assert.equal(await one(store, "SELECT count(*) FROM t WHERE a = ?", ["a"]), 0n);
    // node:sqlite reads a text up to its first zero character only.
    assert.equal(await one(store, "SELECT b FROM t"), store.kind === "remote" ? "c\0d" : "c");
  });

  test("columns carry their names, also where there are no rows", async (store) => {
    const result = await store.read({ sql: "SELECT 1 AS one, 'x' AS two WHERE 0" });
    assert.deepEqual(result.columns, ["one", "two"]);
    assert.deepEqual(result.rows, []);
    assert.deepEqual(toObjects(await store.read({ sql: "SELECT 1 AS one, 'x' AS two" })), [{
      one: 1n,
      two: "x",
    }]);
  });

  test("a write returns one result for each statement, and sees what it wrote", async (store) => {
    const results = await store.write([createT, insert("a"), { sql: "SELECT a FROM t" }, insert("b"), {
      sql: "SELECT count(*) FROM t",
    }]);
    assert.equal(results.length, 5);
    assert.deepEqual(results[2]!.rows, [["a"]]);
    assert.deepEqual(results[4]!.rows, [[2n]]);
  });

  test("a trigger that refuses is a constraint, with its own text", async (store) => {
    await store.write([createT, insert("a"), {
      sql: "CREATE TRIGGER keep BEFORE DELETE ON t BEGIN SELECT RAISE(ABORT, 't is append-only'); END",
    }]);
    for (const sql of ["DELETE FROM t", "DELETE FROM t WHERE a = 'a'"]) {
      await assert.rejects(store.write([insert("b"), { sql }]), (error) => {
        assert.ok(error instanceof ConstraintError);
        assert.match(error.message, /t is append-only/);
        return true;
      });
    }
    assert.deepEqual((await store.read({ sql: "SELECT a FROM t" })).rows, [["a"]]);
  });

  test("a unit is all or nothing", async (store) => {
    await store.write([createT, insert("a")]);
    await assert.rejects(store.write([insert("b"), insert("c"), insert("a"), insert("d")]), ConstraintError);
    await assert.rejects(
      store.write([insert("e"), { sql: "INSERT INTO nowhere VALUES (1)" }]),
      /no such table/,
    );
    await assert.rejects(store.write([insert("f"), { sql: "SELEC 1" }]), /syntax error/);
    assert.deepEqual((await store.read({ sql: "SELECT a FROM t" })).rows, [["a"]]);
    await store.write([insert("g")]); // and the connection is as good as before
  });

  test("a statement that is wrong is refused at once, not tried again", async () => {
    await using database = await kind.create();
    const patient = eagerClock();
    const store = await database.open({ clock: patient });
    const before = patient.monotonic();
    await assert.rejects(store.read({ sql: "SELEC 1" }), /syntax error/);
    await assert.rejects(store.read({ sql: "SELECT * FROM nowhere" }), /no such table/);
    await assert.rejects(store.read({ sql: "SELECT json('x')" }), /malformed JSON/);
    await assert.rejects(store.write([{ sql: "SELEC 1" }]), /syntax error/);
    assert.equal(patient.monotonic(), before);
  });

  test("a unit that a constraint refuses does not hurt those that shared its commit", async (store) => {
    await store.write([createT]);
    const outcomes = await Promise.allSettled([
      store.write([insert("a")]),
      store.write([insert("b"), insert("b")]),
      store.write([insert("c")]),
      store.write([insert("a")]),
      store.write([insert("d"), { sql: "SELECT count(*) FROM t" }]),
    ]);
    assert.deepEqual(outcomes.map((outcome) => outcome.status), [
      "fulfilled",
      "rejected",
      "fulfilled",
      "rejected",
      "fulfilled",
    ]);
    assert.ok((outcomes[1] as PromiseRejectedResult).reason instanceof ConstraintError);
    assert.deepEqual((await store.read({ sql: "SELECT a FROM t ORDER BY a" })).rows, [["a"], ["c"], ["d"]]);
  });

  Deno.test({
    name: `${name}: writes that wait at the same time share a commit`,
    ignore,
    async fn() {
      await using database = await kind.create();
      let commits = 0;
      const store = await database.open({ onCommit: () => commits++ });
      await store.write([createT]);
      commits = 0;
      const results = await Promise.all(
        Array.from({ length: 200 }, (_, i) => store.write([insert(i), { sql: "SELECT max(a) FROM t" }])),
      );
      assert.ok(commits >= 1 && commits <= 3, `${commits} commits`);
      // Each gets its own results, in the order in which they came.
      assert.deepEqual(results.map((result) => result[1]!.rows[0]![0]), results.map((_, i) => BigInt(i)));
      assert.equal(await one(store, "SELECT count(*) FROM t"), 200n);
    },
  });

  test("units keep the order in which they were given", async (store) => {
    await store.write([{ sql: "CREATE TABLE log (n INTEGER PRIMARY KEY AUTOINCREMENT, v)" }]);
    await Promise.all(
      Array.from(
        { length: 100 },
        (_, i) => store.write([{ sql: "INSERT INTO log (v) VALUES (?)", args: [i] }]),
      ),
    );
    const { rows } = await store.read({ sql: "SELECT v FROM log ORDER BY n" });
    assert.deepEqual(rows.map((row) => Number(row[0])), rows.map((_, i) => i));
  });

  test("a read sees what was committed before it", async (store) => {
    await store.write([createT]);
    for (let i = 1; i <= 20; i++) {
      await store.write([insert(i)]);
      assert.equal(await one(store, "SELECT count(*) FROM t"), BigInt(i));
    }
  });

  test("readAll is one view of the database while others write", async (store) => {
    await store.write([createT, insert("x", 0)]);
    const sum = { sql: "SELECT b FROM t WHERE a = 'x'" };
    let isDone = false;
    const writer = (async () => {
      for (let i = 0; i < 50; i++) await store.write([{ sql: "UPDATE t SET b = b + 1" }]);
      isDone = true;
    })();
    let reads = 0;
    while (!isDone) {
      const results = await store.readAll([sum, sum, { sql: "SELECT count(*) FROM t" }, sum]);
      assert.equal(results.length, 4);
      assert.deepEqual(results[1], results[0]);
      assert.deepEqual(results[3], results[0]);
      reads++;
      await new Promise((resolve) => setTimeout(resolve, 0));
    }
    await writer;
    assert.ok(reads > 0);
    assert.equal(await one(store, sum.sql), 50n);
  });

  test("a statement that writes is refused by every read, and has no effect", async (store) => {
    if (store.kind === "remote") return; // sqld takes it
    await store.write([createT, insert("a")]);
    const select = { sql: "SELECT a FROM t" };
    for (
      const sql of [
        "INSERT INTO t VALUES ('b', 1)",
        "INSERT INTO t VALUES ('b', 1) RETURNING a",
        "WITH x AS (SELECT 'b') INSERT INTO t SELECT *, 1 FROM x",
        "DROP TABLE t",
      ]
    ) {
      await assert.rejects(store.read({ sql }), sql);
      await assert.rejects(store.readAll([select, { sql }]), sql);
    }
    assert.deepEqual((await store.read(select)).rows, [["a"]]);
    await store.write([insert("c")]); // and the connection is as good as before
  });

  test("it says whether other processes may use it at the same time", (store) => {
    assert.equal(store.isShared, store.kind !== "memory");
    return Promise.resolve();
  });

  test("a database that closes writes what waits and refuses what comes later", async (store) => {
    await store.write([createT]);
    const waiting = Promise.all(Array.from({ length: 20 }, (_, i) => store.write([insert(i)])));
    const closing = store.close();
    const late = (promise: Promise<unknown>) =>
      assert.rejects(promise, (error) => error instanceof PurserError && error.code === "unavailable");
    await late(store.write([insert("late")]));
    assert.equal((await waiting).length, 20);
    await closing;
    await late(store.write([insert("later")]));
    await late(store.read({ sql: "SELECT 1" }));
    await late(store.readAll([{ sql: "SELECT 1" }]));
    await store.close(); // twice is not an error
  });

  test("a thousand rows go in by one statement and come back in order", async (store) => {
    await store.write([createT]);
    const rows = Array.from({ length: 1_000 }, (_, i) => [i, `row ${i}`]);
    await store.write([{
      sql: "INSERT INTO t SELECT value ->> 0, value ->> 1 FROM json_each(?)",
      args: [JSON.stringify(rows)],
    }]);
    const back = await store.read({ sql: "SELECT a, b FROM t ORDER BY a" });
    assert.deepEqual(back.rows, rows.map(([a, b]) => [BigInt(a as number), b]));
  });

  // The schema.

  test("the tables that queries are built from are the tables of the migrated database", async (store) => {
    for (const table of Object.values(tables.tables)) {
      const { name: tableName, columns } = getTableConfig(table);
      const { rows } = await store.read({
        sql: 'SELECT name, lower(type), "notnull", pk > 0 FROM pragma_table_info(?)',
        args: [tableName],
      });
      const inDatabase = rows.map(([column, type, isNotNull, isKey]) => ({
        column,
        type,
        // An INTEGER PRIMARY KEY is the rowid: never NULL, whatever its declaration says.
        isNotNull: isNotNull === 1n || (isKey === 1n && type === "integer"),
      }));
      const inCode = columns.map((column) => ({
        column: column.name,
        type: column.getSQLType(),
        isNotNull: column.notNull || column.primary,
      }));
      assert.deepEqual(inCode, inDatabase, tableName);
      const keys = columns.filter((column) => column.primary).map((column) => column.name);
      const inPrimaryKey = rows.filter((row) => row[3] === 1n).map((row) => row[0]);
      if (keys.length > 0) assert.deepEqual(keys, inPrimaryKey, tableName);
    }
  });

  test("every table of the migrated database is known to the code", async (store) => {
    const { rows } = await store.read({
      sql: "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name",
    });
    const known = Object.values(tables.tables).map((table) => getTableConfig(table).name);
    const own = ["purser_migrations", "write_tokens", "libsql_wasm_func_table"];
    assert.deepEqual(
      rows.map((row) => row[0]).filter((table) => !own.includes(table as string)),
      known.sort(),
    );
  });

  test("the event log refuses UPDATE, DELETE and REPLACE", async (store) => {
    const event = {
      sql:
        "INSERT INTO events (event_id, session_id, seq, agent_id, type, at) VALUES (1, 's', 1, 'a', 'run.started', 1)",
    };
    await store.write([event]);
    const attempts = [
      "UPDATE events SET type = 'x'",
      "UPDATE events SET payload = NULL WHERE event_id = 1",
      "DELETE FROM events",
      "DELETE FROM events WHERE event_id = 1",
      "INSERT OR REPLACE INTO events (event_id, session_id, seq, agent_id, type, at) VALUES (1, 's', 2, 'b', 'x', 2)",
      "INSERT OR REPLACE INTO events (session_id, seq, agent_id, type, at) VALUES ('s', 1, 'b', 'x', 2)",
      "UPDATE OR REPLACE events SET event_id = 2 WHERE event_id = 1",
    ];
    for (const sql of attempts) await assert.rejects(store.write([{ sql }]), ConstraintError, sql);
    await assert.rejects(store.write([event]), ConstraintError);
    assert.deepEqual((await store.read({ sql: "SELECT event_id, session_id, seq, type FROM events" })).rows, [
      [1n, "s", 1n, "run.started"],
    ]);
  });

  test("migrating a database that is up to date changes nothing", async (store) => {
    const history = { sql: "SELECT * FROM purser_migrations" };
    const before = await store.read(history);
    assert.equal(before.rows.length, migrations.length);
    clock.advance(1_000);
    await migrate(store, clock);
    assert.deepEqual(await store.read(history), before);
  });

  test("migrations are applied in order, each once", async (store) => {
    const two = [
      { version: 1, name: "first", statements: ["CREATE TABLE steps (n)", "INSERT INTO steps VALUES (1)"] },
      { version: 2, name: "second", statements: ["INSERT INTO steps VALUES (2)"] },
    ];
    await migrate(store, clock, two.slice(0, 1));
    await migrate(store, clock, two);
    await migrate(store, clock, two);
    assert.deepEqual((await store.read({ sql: "SELECT n FROM steps ORDER BY n" })).rows, [[1n], [2n]]);
    assert.deepEqual(
      (await store.read({ sql: "SELECT version, name FROM purser_migrations ORDER BY 1" })).rows,
      [
        [1n, "first"],
        [2n, "second"],
      ],
    );
  }, { isMigrated: false });

  test("a database that is newer than the program is refused, and stays as it is", async (store) => {
    await store.write([{ sql: "INSERT INTO purser_migrations VALUES (99, 'future', 'x', 1)" }]);
    await assert.rejects(migrate(store, clock), (error) => {
      assert.ok(error instanceof PurserError);
      assert.equal(error.code, "conflict");
      assert.match(error.message, new RegExp(`version 99.*knows up to ${migrations.length}; upgrade Purser`));
      return true;
    });
    assert.equal(await one(store, "SELECT count(*) FROM purser_migrations"), BigInt(migrations.length + 1));
  });

  test("a step that was changed after it was applied is refused", async (store) => {
    const changed = migrations.map((step) => ({
      ...step,
      statements: [...step.statements, "CREATE TABLE more (a)"],
    }));
    await assert.rejects(
      migrate(store, clock, changed),
      (error) =>
        error instanceof PurserError && error.code === "conflict" &&
        /migration 1 \(ledger\)/.test(error.message),
    );
    await assert.rejects(store.read({ sql: "SELECT * FROM more" }), /no such table/);
  });

  test("a migration that fails leaves nothing behind, and can be tried again", async (store) => {
    const good = { version: 1, name: "good", statements: ["CREATE TABLE first (a)"] };
    const bad = {
      version: 2,
      name: "bad",
      statements: [
        "CREATE TABLE second (a PRIMARY KEY)",
        "INSERT INTO second VALUES (1)",
        "INSERT INTO nowhere VALUES (1)",
      ],
    };
    const refused = { ...bad, statements: [...bad.statements.slice(0, 2), "INSERT INTO second VALUES (1)"] };
    await assert.rejects(migrate(store, clock, [good, bad]), /no such table: nowhere/);
    await assert.rejects(migrate(store, clock, [good, refused]), ConstraintError);
    assert.deepEqual((await store.read({ sql: "SELECT version FROM purser_migrations" })).rows, [[1n]]);
    await assert.rejects(store.read({ sql: "SELECT * FROM second" }), /no such table/);
    await migrate(store, clock, [good, { ...bad, statements: bad.statements.slice(0, 2) }]);
    assert.equal(await one(store, "SELECT count(*) FROM second"), 1n);
  }, { isMigrated: false });

  Deno.test({
    name: `${name}: stores that open a new database at once migrate it once`,
    ignore: ignore || name === "memory",
    async fn() {
      await using database = await kind.create();
      const stores = await Promise.all(Array.from({ length: 6 }, () => database.open()));
      for (const store of stores) {
        assert.equal(await one(store, "SELECT count(*) FROM purser_migrations"), BigInt(migrations.length));
      }
    },
  });

  Deno.test({
    name: `${name}: several stores over one database write at once, and lose nothing`,
    ignore: ignore || name === "memory",
    async fn() {
      await using database = await kind.create();
      const stores = await Promise.all(Array.from({ length: 3 }, () => database.open()));
      await stores[0]!.write([createT]);
      await Promise.all(stores.map(async (store, i) => {
        for (let n = 0; n < 30; n++) await store.write([insert(`${i} ${n}`)]);
      }));
      for (const store of stores) assert.equal(await one(store, "SELECT count(*) FROM t"), 90n);
    },
  });
}
