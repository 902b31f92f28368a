import assert from "node:assert/strict";
import { recordCalls } from "../src/ledger/mod.ts";
import {
  ConstraintError,
  installLogic,
  type Logic,
  requireThat,
  type SqlValue,
  type Store,
  tables,
  toObjects,
} from "../src/store/mod.ts";
import { PurserError } from "../src/kernel/errors.ts";
import { migrate } from "../src/store/schema/migrate.ts";
import { migrations } from "../src/store/schema/migrate.ts";
import { getTableConfig } from "drizzle-orm/sqlite-core";
import { eagerClock } from "./harness/eager_clock.ts";
import type { DatabaseKind, OpenOptions } from "./harness/databases.ts";
import { modelCall } from "./harness/model_calls.ts";

const clock = eagerClock();

/** The contract of every database. */
export function testStore(kind: DatabaseKind): void {
  const { name, ignore } = kind;

  /** A test over a database of its own. */
  function test(
    sentence: string,
    body: (store: Store, open: (options?: OpenOptions) => Promise<Store>) => Promise<void>,
    options?: OpenOptions,
  ): void {
    Deno.test({
      name: `${name}: ${sentence}`,
      ignore,
      async fn() {
        await using database = await kind.create();
        await body(await database.open(options), (options) => database.open(options));
      },
    });
  }

  const one = async (store: Store, sql: string, args: SqlValue[] = []) =>
    (await store.read({ sql, args })).rows[0]?.[0];
  const createT = { sql: "CREATE TABLE t (a PRIMARY KEY NOT NULL, b)" };
  const insert = (a: SqlValue, b: SqlValue = null) => ({ sql: "INSERT INTO t VALUES (?, ?)", args: [a, b] });

  test("an integer is read as the same bigint, past 2^53 and below zero", async (store) => {
    const values = [0n, -1n, 2n ** 53n + 1n, -(2n ** 53n) - 1n, 2n ** 63n - 1n, -(2n ** 63n)];
    for (const value of values) assert.equal(await one(store, "SELECT ?", [value]), value);
    await store.write([createT, ...values.map((value) => insert(String(value), value))]);
    for (const value of values) {
      assert.equal(await one(store, "SELECT b FROM t WHERE a = ?", [String(value)]), value);
    }
  });

  test("an integer that 64 bits can't hold is refused, never truncated", async (store) => {
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

  test("texts, blobs and NULL are read unchanged", async (store) => {
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

  test("a text with a NUL character is stored unchanged", async (store) => {
    await store.write([createT, insert("a\0b", "c\0d")]);
    assert.equal(await one(store, "SELECT hex(b) FROM t WHERE a = ?", ["a\0b"]), "630064");
    assert.equal(await one(store, "SELECT count(*) FROM t WHERE a = ?", ["a"]), 0n);
    // node:sqlite reads a text up to its first NUL only.
    assert.equal(await one(store, "SELECT b FROM t"), store.kind === "remote" ? "c\0d" : "c");
  });

  test("columns have their names, even without rows", async (store) => {
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

  test("a trigger that raises is a constraint error, with its own text", async (store) => {
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

  test("a unit is atomic", async (store) => {
    await store.write([createT, insert("a")]);
    await assert.rejects(store.write([insert("b"), insert("c"), insert("a"), insert("d")]), ConstraintError);
    await assert.rejects(
      store.write([insert("e"), { sql: "INSERT INTO nowhere VALUES (1)" }]),
      /no such table/,
    );
    await assert.rejects(store.write([insert("f"), { sql: "SELEC 1" }]), /syntax error/);
    assert.deepEqual((await store.read({ sql: "SELECT a FROM t" })).rows, [["a"]]);
    await store.write([insert("g")]); // and the connection stays usable
  });

  test("an invalid statement is refused at once, not retried", async () => {
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

  test("a unit that fails a constraint does not affect the others of its commit", async (store) => {
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
      // Each gets its own results, in the order of arrival.
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
    if (store.kind === "remote") return; // sqld accepts it
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
    await store.write([insert("c")]); // and the connection stays usable
  });

  test("it reports whether other processes may use it at the same time", (store) => {
    assert.equal(store.isShared, store.kind !== "memory");
    return Promise.resolve();
  });

  test("a closing database completes waiting writes and refuses later ones", async (store) => {
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

  test("one statement inserts a thousand rows, which are read in order", async (store) => {
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
        // An INTEGER PRIMARY KEY is the rowid: never NULL, even if its declaration allows it.
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

  const EACH = ["n", "id", "value"];
  const each = (sql: string, rows: SqlValue[][]) => ({ sql, each: { columns: EACH, rows } });
  const CREATE_EACH = { sql: "CREATE TABLE each_test (n INTEGER, id TEXT, value)" };
  const INSERT_EACH = "INSERT INTO each_test SELECT v.n, v.id, v.value FROM each_row v";

  test("the rows of a statement are written and read unchanged, for any values", async (store) => {
    await store.write([CREATE_EACH]);
    const values: SqlValue[] = [
      ...[null, 0, 1, -1, 0.5, -2.75, 1e300, 5e-324, Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER],
      ...[2n ** 63n - 1n, -(2n ** 63n), 2n ** 53n + 1n, -(2n ** 53n) - 1n],
      ...[
        "",
        "plain",
        "it's",
        '"quoted"',
        "back\\slash",
        "\\u0041",
        "\\n",
        "tab\there",
        "line\nbreak\r\u2028",
      ],
      ...[
        "zürich",
        "日本語",
        "🚢🏴‍☠️",
        "\u007f\u0001\u001f",
        "\ufeffbom",
        "null",
        "[1,2]",
        '{"a":null}',
        "1",
        "1.0",
        "true",
      ],
      ..."?1 $1 :x @x v each_row %s ${1}".split(" "),
    ];
    const rows = values.map((value, n): SqlValue[] => [n, `id'"\\${n}`, value]);
    const [, read] = await store.write([
      each(INSERT_EACH, rows),
      each(
        `SELECT v.n, v.id, v.value, typeof(v.value), t.value IS v.value, t.id = v.id
        FROM each_row v JOIN each_test t ON t.n = v.n`,
        rows,
      ),
    ]);
    const typeOf = (value: SqlValue) =>
      value === null ? "null" : typeof value === "string" ? "text" : Number.isSafeInteger(value) ||
          typeof value === "bigint"
        ? "integer"
        : "real";
    const stored = (value: SqlValue) => Number.isSafeInteger(value) ? BigInt(value as number) : value;
    assert.deepEqual(
      read!.rows,
      rows.map(([n, id, value]) => [BigInt(n as number), id, stored(value!), typeOf(value!), 1n, 1n]),
    );
    const { rows: written } = await store.read({ sql: "SELECT n, id, value FROM each_test ORDER BY n" });
    assert.deepEqual(written, rows.map(([n, id, value]) => [BigInt(n as number), id, stored(value!)]));
  });

  test("a statement without rows does nothing, and one that changes rows changes those it names", async (store) => {
    await store.write([CREATE_EACH, each(INSERT_EACH, [])]);
    assert.deepEqual((await store.read({ sql: "SELECT * FROM each_test" })).rows, []);
    const rows = [1, 2, 3].map((n): SqlValue[] => [n, `id ${n}`, n * 10]);
    const [, , , left] = await store.write([
      each(INSERT_EACH, rows),
      each(
        "UPDATE each_test SET value = each_test.value + v.value FROM each_row v WHERE each_test.n = v.n",
        rows.slice(1),
      ),
      each("DELETE FROM each_test WHERE n IN (SELECT v.n FROM each_row v)", rows.slice(2)),
      { sql: "SELECT n, value FROM each_test ORDER BY n" },
    ]);
    assert.deepEqual(left!.rows, [[1n, 10n], [2n, 40n]]);
  });

  test("an integer that 64 bits can't hold is refused with its whole unit, and so are bytes", async (store) => {
    await store.write([CREATE_EACH]);
    for (const value of [2n ** 63n, -(2n ** 63n) - 1n]) {
      await assert.rejects(
        store.write([each(INSERT_EACH, [[1, "fits", 1]]), each(INSERT_EACH, [[2, "not", value]])]),
      );
    }
    assert.deepEqual((await store.read({ sql: "SELECT * FROM each_test" })).rows, []);
  });

  test("more rows than a server accepts in one value are still one statement", async (store) => {
    await store.write([CREATE_EACH]);
    // 12 MB, most of it in characters of three bytes; one row alone is larger than a whole part of the others may be.
    const text = (n: number) => n === 50 ? "x".repeat(4_300_000) : "水".repeat(n % 7 * 10_000) + `'"\\${n}`;
    const rows = Array.from({ length: 100 }, (_, n): SqlValue[] => [n, text(n), null]);
    const [{ count } = { count: undefined }, inserted, read, after] = (await store.write([
      { sql: "SELECT 'before' AS count" },
      each(INSERT_EACH, rows),
      each("SELECT v.n, t.id = v.id, length(v.id) FROM each_row v JOIN each_test t ON t.n = v.n", rows),
      { sql: "SELECT count(*), sum(n) FROM each_test" },
    ])).map((result, index) => index === 0 ? { count: result.rows[0]![0] } : result.rows) as [
      { count: SqlValue },
      SqlValue[][],
      SqlValue[][],
      SqlValue[][],
    ];
    assert.equal(count, "before");
    assert.deepEqual(inserted, []);
    assert.deepEqual(read, rows.map(([n, id]) => [BigInt(n as number), 1n, BigInt((id as string).length)]));
    assert.deepEqual(after, [[100n, 4_950n]]);
    // If one row of such a statement is refused, the whole statement is.
    await store.write([{ sql: "CREATE UNIQUE INDEX each_once ON each_test (n)" }]);
    const more = rows.map(([n, ...row]): SqlValue[] => [n === 99 ? 7 : 1_000 + (n as number), ...row]);
    await assert.rejects(store.write([each(INSERT_EACH, more)]), ConstraintError);
    assert.deepEqual((await store.read({ sql: "SELECT count(*) FROM each_test" })).rows, [[100n]]);
  });

  const LOGIC: Logic[] = [
    { name: "logic_view", sql: "CREATE VIEW logic_view AS SELECT 1 AS a" },
    {
      name: "logic_trigger",
      sql:
        "CREATE TRIGGER logic_trigger INSTEAD OF INSERT ON logic_view BEGIN SELECT RAISE(ABORT, 'one'); END",
    },
  ];
  const namesOf = async (store: Store) =>
    (await store.read({
      sql: "SELECT name FROM sqlite_schema WHERE name LIKE 'logic\\_%' ESCAPE '\\' ORDER BY name",
    })).rows.flat();

  test(
    "logic is installed once, again when its text has changed, and dropped when it is removed",
    async (_, open) => {
      let commits = 0;
      const store = await open({ onCommit: () => void commits++ });
      const installing = async (logic: readonly Logic[]) => {
        const before = commits;
        await installLogic(store, logic);
        return commits - before;
      };
      assert.equal(await installing(LOGIC), 1);
      assert.equal(await installing(LOGIC), 0);
      assert.deepEqual(await namesOf(store), ["logic_trigger", "logic_view"]);
      await assert.rejects(store.write([{ sql: "INSERT INTO logic_view VALUES (1)" }]), /one/);

      const changed = LOGIC.map((each) => ({ ...each, sql: each.sql.replace("'one'", "'two'") }));
      assert.equal(await installing(changed), 1);
      assert.equal(await installing(changed), 0);
      await assert.rejects(store.write([{ sql: "INSERT INTO logic_view VALUES (1)" }]), /two/);

      assert.equal(await installing(LOGIC.slice(0, 1)), 1);
      assert.deepEqual(await namesOf(store), ["logic_view"]);
      assert.equal(await installing(LOGIC.slice(0, 1)), 0);

      // A view with a trigger's old name, and logic for another kind of database.
      const other = store.kind === "remote" ? "file" : "remote";
      const kinds: Logic[] = [
        { ...LOGIC[0]!, sql: "CREATE VIEW logic_view AS SELECT 2 AS a" },
        { name: "logic_own", only: store.kind, sql: "CREATE VIEW logic_own AS SELECT 1" },
        { name: "logic_other", only: other, sql: "CREATE VIEW logic_other AS SELECT 1" },
      ];
      assert.equal(await installing(kinds), 1);
      assert.equal(await installing(kinds), 0);
      assert.deepEqual(await namesOf(store), ["logic_own", "logic_view"]);
      assert.equal(await installing([]), 1);
      assert.deepEqual(await namesOf(store), []);
    },
  );

  test("invalid logic leaves what was installed before", async (store) => {
    await installLogic(store, LOGIC);
    const wrong = [LOGIC[0]!, { name: "logic_trigger", sql: "CREATE TRIGGER logic_trigger nonsense" }];
    await assert.rejects(installLogic(store, wrong));
    await assert.rejects(store.write([{ sql: "INSERT INTO logic_view VALUES (1)" }]), /one/);
    await installLogic(store, LOGIC);
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

  test("the ledger refuses UPDATE, DELETE and REPLACE", async (store) => {
    const [insert] = recordCalls([modelCall({ callId: "a" }), modelCall({ callId: "b" })]);
    await store.write([insert!]);
    const before = (await store.read({ sql: "SELECT * FROM calls ORDER BY position" })).rows;
    assert.deepEqual(before.map(([position, callId]) => [position, callId]), [[1n, "a"], [2n, "b"]]);
    const replace = (columns: string) =>
      `INSERT OR REPLACE INTO calls SELECT ${columns}, adjusts, at, agent_id, session_id, run_id, step, key_id, source,
        tools, provider, model, service_tier, response_id, input_tokens, output_tokens, cache_read_tokens,
        cache_write_tokens, cache_write_1h_tokens, reasoning_tokens, total_tokens, 7, unpriced, partly_priced,
        unpriced_parts, price_source, price_id, duration_ms, is_estimated, details, tags FROM calls WHERE call_id = 'a'`;
    const attempts = [
      "UPDATE calls SET cost_nano_usd = 1",
      "UPDATE calls SET tools = '[]' WHERE position = 1",
      "UPDATE OR REPLACE calls SET position = 2 WHERE position = 1",
      "DELETE FROM calls",
      "DELETE FROM calls WHERE call_id = 'a'",
      replace("position, call_id"),
      replace("NULL, call_id"),
      replace("2, 'c'"),
    ];
    for (const sql of attempts) await assert.rejects(store.write([{ sql }]), ConstraintError, sql);
    await assert.rejects(store.write([insert!]), ConstraintError);
    assert.deepEqual((await store.read({ sql: "SELECT * FROM calls ORDER BY position" })).rows, before);
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
      assert.match(
        error.message,
        new RegExp(`version 99.*knows up to ${migrations.at(-1)!.version}; upgrade Purser`),
      );
      return true;
    });
    assert.equal(await one(store, "SELECT count(*) FROM purser_migrations"), BigInt(migrations.length + 1));
  });

  test("a migration that was changed after it was applied is refused", async (store) => {
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

  test("a migration that fails leaves nothing behind, and can be retried", async (store) => {
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

  test("requireThat() commits its unit if its condition holds, and else refuses that unit alone", async (store) => {
    await store.write([createT, insert("a")]);
    const aIs = (b: SqlValue) =>
      requireThat({ sql: "EXISTS (SELECT 1 FROM t WHERE a = ?1 AND b IS ?2)", args: ["a", b] });
    const outcomes = await Promise.allSettled([
      store.write([aIs(null), insert("b")]),
      store.write([insert("c"), aIs(1)]),
      store.write([insert("d")]),
    ]);
    assert.deepEqual(outcomes.map(({ status }) => status), ["fulfilled", "rejected", "fulfilled"]);
    assert.ok((outcomes[1] as PromiseRejectedResult).reason instanceof ConstraintError);
    assert.deepEqual((await store.read({ sql: "SELECT a FROM t ORDER BY a" })).rows, [["a"], ["b"], ["d"]]);
    assert.equal(await one(store, "SELECT count(*) FROM tallies"), 0n);
  });

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
    name: `${name}: of several logics installed at once, one is installed completely`,
    ignore: ignore || name === "memory",
    async fn() {
      await using database = await kind.create();
      const stores = await Promise.all(Array.from({ length: 4 }, () => database.open()));
      for (let round = 0; round < 5; round++) {
        const versions = stores.map((_, i) =>
          LOGIC.map(({ name, sql }) => ({ name, sql: sql.replace("'one'", `'round ${round} of ${i % 2}'`) }))
        );
        await Promise.all(stores.map((store, i) => installLogic(store, versions[i]!)));
        const { rows } = await stores[0]!.read({
          sql: "SELECT count(*), count(DISTINCT hash) FROM installed_logic",
        });
        assert.deepEqual(rows, [[2n, 1n]]);
        assert.deepEqual(await namesOf(stores[0]!), ["logic_trigger", "logic_view"]);
        const refusals = await Promise.all(
          stores.map((store) =>
            store.write([{ sql: "INSERT INTO logic_view VALUES (1)" }]).then(
              () => "",
              (error) => error.message,
            )
          ),
        );
        assert.match(refusals[0]!, new RegExp(`round ${round} of [01]`));
        assert.equal(new Set(refusals.map((text) => /round \d of \d/.exec(text)?.[0])).size, 1);
      }
    },
  });

  Deno.test({
    name: `${name}: several stores over one database write concurrently, and lose nothing`,
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
