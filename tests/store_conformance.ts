import assert from "node:assert/strict";
import { ConstraintError, requireThat, type SqlValue, toObjects } from "../src/store/mod.ts";
import { PurserError } from "../src/kernel/errors.ts";
import type { DatabaseKind } from "./harness/databases.ts";
import { eagerClock } from "./harness/eager_clock.ts";
import { createNumbers, createT, insert, one, refusingTrigger, testOver } from "./harness/store_tests.ts";

/** The contract of every database: values, units, reads. */
export function testStore(kind: DatabaseKind): void {
  const { name, ignore } = kind;
  const test = testOver(kind);

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
    assert.equal(await one(store, "SELECT ?", [42]), 42n);
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
    }
  });

  test("a text with a NUL character is stored unchanged, or with another in its place", async (store) => {
    await store.write([
      { sql: "CREATE TABLE t (a TEXT PRIMARY KEY NOT NULL, b TEXT)" },
      insert("a\0b", "c\0d"),
    ]);
    const hex = await one(store, "SELECT hex(b) FROM t WHERE a = ?", ["a\0b"]);
    assert.equal(await one(store, "SELECT count(*) FROM t WHERE a = ?", ["a"]), 0n);
    const read = await one(store, "SELECT b FROM t");
    // PostgreSQL has no NUL in a text, so it is another character there.
    if (store.engine === "postgres") return assert.deepEqual([hex, read], ["63EFBFBD64", "c\ufffdd"]);
    // node:sqlite reads a text up to its first NUL only.
    assert.deepEqual([hex, read], ["630064", store.kind === "remote" ? "c\0d" : "c"]);
  });

  test("columns have their names, even without rows", async (store) => {
    const result = await store.read({ sql: "SELECT 1 AS one, 'x' AS two WHERE 1 = 0" });
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
    await store.write([
      createT,
      insert("a"),
      ...refusingTrigger(store, "keep", "BEFORE DELETE ON t", "t is append-only"),
    ]);
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
    await assert.rejects(store.read({ sql: "SELECT CAST('x' AS TEXT) ->> 'a'" }), /malformed JSON|type json/);
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
      await store.write([createNumbers]);
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
    await store.write([{ sql: "CREATE TABLE log (n BIGINT PRIMARY KEY, v BIGINT)" }]);
    await Promise.all(
      Array.from(
        { length: 100 },
        (_, i) =>
          store.write([{ sql: "INSERT INTO log SELECT coalesce(max(n), 0) + 1, ? FROM log", args: [i] }]),
      ),
    );
    const { rows } = await store.read({ sql: "SELECT v FROM log ORDER BY n" });
    assert.deepEqual(rows.map((row) => Number(row[0])), rows.map((_, i) => i));
  });

  test("a read sees what was committed before it", async (store) => {
    await store.write([createNumbers]);
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
    if (kind.name === "sqld") return; // it accepts it
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
    await store.write([createNumbers]);
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
    await store.write([{ sql: "CREATE TABLE t (a BIGINT PRIMARY KEY NOT NULL, b TEXT)" }]);
    const rows = Array.from({ length: 1_000 }, (_, i) => [i, `row ${i}`]);
    await store.write([{
      sql: "INSERT INTO t SELECT CAST(j.value ->> 0 AS BIGINT), j.value ->> 1 FROM json_each(?) j",
      args: [JSON.stringify(rows)],
    }]);
    const back = await store.read({ sql: "SELECT a, b FROM t ORDER BY a" });
    assert.deepEqual(back.rows, rows.map(([a, b]) => [BigInt(a as number), b]));
  });

  test("requireThat() commits its unit if its condition holds, and else refuses that unit alone", async (store) => {
    await store.write([createT, insert("a")]);
    const aIs = (b: SqlValue) =>
      requireThat({
        sql: "EXISTS (SELECT 1 FROM t WHERE a = ?1 AND b IS NOT DISTINCT FROM ?2)",
        args: ["a", b],
      });
    const outcomes = await Promise.allSettled([
      store.write([aIs(null), insert("b")]),
      store.write([insert("c"), aIs(1)]),
      store.write([insert("d")]),
      store.write([requireThat({ sql: "(SELECT b FROM t WHERE a = 'a') > 0" }), insert("e")]), // NULL
    ]);
    assert.deepEqual(outcomes.map(({ status }) => status), [
      "fulfilled",
      "rejected",
      "fulfilled",
      "rejected",
    ]);
    for (const index of [1, 3]) {
      assert.ok((outcomes[index] as PromiseRejectedResult).reason instanceof ConstraintError);
    }
    assert.deepEqual((await store.read({ sql: "SELECT a FROM t ORDER BY a" })).rows, [["a"], ["b"], ["d"]]);
    assert.equal(await one(store, "SELECT count(*) FROM tallies"), 0n);
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
