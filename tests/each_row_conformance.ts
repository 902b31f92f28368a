import assert from "node:assert/strict";
import { ConstraintError, type SqlValue } from "../src/store/mod.ts";
import type { DatabaseKind } from "./harness/databases.ts";
import { testOver } from "./harness/store_tests.ts";

/** The contract of every database: one statement over many rows. */
export function testEachRow(kind: DatabaseKind): void {
  const test = testOver(kind);

  const EACH = { columns: ["n", "id", "text", "amount"], integers: ["n", "amount"] };
  const each = (sql: string, rows: SqlValue[][]) => ({ sql, each: { ...EACH, rows } });
  const CREATE_EACH = { sql: "CREATE TABLE each_test (n BIGINT, id TEXT, text TEXT, amount BIGINT)" };
  const INSERT_EACH = "INSERT INTO each_test SELECT v.n, v.id, v.text, v.amount FROM each_row v";

  test("a statement that only some rows give an effect runs for those, whether a file asks before or not", async (store) => {
    await store.write([CREATE_EACH]);
    const positive = "FROM each_row v WHERE v.amount > 0";
    const insert = (amounts: number[]) => {
      const { each: rows } = each("", amounts.map((amount, n): SqlValue[] => [n, `${n}`, null, amount]));
      const sql = `INSERT INTO each_test SELECT v.n, v.id, v.text, v.amount ${positive}`;
      return { sql, each: rows, onlyIf: { sql: `SELECT 1 ${positive}`, each: rows } };
    };
    const [, , read] = await store.write([
      insert([0, -1]),
      insert([0, 7]),
      { sql: "SELECT amount FROM each_test" },
    ]);
    assert.deepEqual(read!.rows, [[7n]]);
  });

  test("the rows of a statement are written and read unchanged, for any values", async (store) => {
    await store.write([CREATE_EACH]);
    const amounts: SqlValue[] = [
      ...[null, 0, 1, -1, Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER],
      ...[2n ** 63n - 1n, -(2n ** 63n), 2n ** 53n + 1n, -(2n ** 53n) - 1n],
    ];
    const texts: SqlValue[] = [
      ...[
        null,
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
    const rows = [
      ...texts.map((text): SqlValue[] => [text, null]),
      ...amounts.map((amount): SqlValue[] => [null, amount]),
    ].map((values, n): SqlValue[] => [n, `id'"\\${n}`, ...values]);
    const [, read] = await store.write([
      each(INSERT_EACH, rows),
      each(
        `SELECT v.n, v.id, v.text, v.amount, t.text IS NOT DISTINCT FROM v.text, t.amount IS NOT DISTINCT FROM v.amount,
          t.id = v.id
        FROM each_row v JOIN each_test t ON t.n = v.n ORDER BY v.n`,
        rows,
      ),
    ]);
    const stored = rows.map((row) => row.map((value) => typeof value === "number" ? BigInt(value) : value));
    assert.deepEqual(read!.rows, stored.map((row) => [...row, 1n, 1n, 1n]));
    const { rows: written } = await store.read({ sql: "SELECT * FROM each_test ORDER BY n" });
    assert.deepEqual(written, stored);
    // The type of a column doesn't depend on whether it has a value.
    const [, empty] = await store.write([
      each(INSERT_EACH, [[1_000, null, null, null]]),
      each("SELECT coalesce(v.amount, 7), coalesce(v.text, 'none') FROM each_row v", [[
        1_000,
        null,
        null,
        null,
      ]]),
    ]);
    assert.deepEqual(empty!.rows, [[7n, "none"]]);
  });

  test("a statement without rows does nothing, and one that changes rows changes those it names", async (store) => {
    await store.write([CREATE_EACH, each(INSERT_EACH, [])]);
    assert.deepEqual((await store.read({ sql: "SELECT * FROM each_test" })).rows, []);
    const rows = [1, 2, 3].map((n): SqlValue[] => [n, `id ${n}`, null, n * 10]);
    const [, , , left] = await store.write([
      each(INSERT_EACH, rows),
      each(
        "UPDATE each_test SET amount = each_test.amount + v.amount FROM each_row v WHERE each_test.n = v.n",
        rows.slice(1),
      ),
      each("DELETE FROM each_test WHERE n IN (SELECT v.n FROM each_row v)", rows.slice(2)),
      { sql: "SELECT n, amount FROM each_test ORDER BY n" },
    ]);
    assert.deepEqual(left!.rows, [[1n, 10n], [2n, 40n]]);
  });

  test("an integer that 64 bits can't hold is refused with its whole unit, and so are bytes", async (store) => {
    await store.write([CREATE_EACH]);
    for (const value of [2n ** 63n, -(2n ** 63n) - 1n]) {
      await assert.rejects(
        store.write([
          each(INSERT_EACH, [[1, "fits", null, 1]]),
          each(INSERT_EACH, [[2, "not", null, value]]),
        ]),
      );
    }
    assert.deepEqual((await store.read({ sql: "SELECT * FROM each_test" })).rows, []);
  });

  test("more rows than a server accepts in one value are still one statement", async (store) => {
    await store.write([CREATE_EACH, { sql: "CREATE UNIQUE INDEX each_once ON each_test (n)" }]);
    // 12 MB, most of it in characters of three bytes; one row alone is larger than a whole part of the others may be.
    const text = (n: number) => n === 50 ? "x".repeat(4_300_000) : "水".repeat(n % 7 * 10_000) + `'"\\${n}`;
    const rows = Array.from({ length: 100 }, (_, n): SqlValue[] => [n, text(n), null, null]);
    const [{ count } = { count: undefined }, inserted, read, after] = (await store.write([
      { sql: "SELECT 'before' AS count" },
      each(INSERT_EACH, rows),
      each(
        "SELECT v.n, t.id = v.id, length(v.id) FROM each_row v JOIN each_test t ON t.n = v.n ORDER BY v.n",
        rows,
      ),
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
    const more = rows.map(([n, ...row]): SqlValue[] => [n === 99 ? 7 : 1_000 + (n as number), ...row]);
    await assert.rejects(store.write([each(INSERT_EACH, more)]), ConstraintError);
    assert.deepEqual((await store.read({ sql: "SELECT count(*) FROM each_test" })).rows, [[100n]]);
  });
}
