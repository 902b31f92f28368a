import Database from "libsql";
import assert from "node:assert/strict";
import { join } from "node:path";
import { inDirectory } from "../../tests/harness/in_directory.ts";
import { loadNativeCode, type NativeConnection, type NativeStatement, openWith } from "./native_driver.ts";

const code = loadNativeCode();

/** The two ways to the same native code; a third is a platform where only the second one works. */
const WAYS: Record<string, (path: string) => NativeConnection> = {
  "the native code alone": (path) => openWith(code!, path),
  "the package": (path) => new Database(path, { timeout: 0 }) as unknown as NativeConnection,
};

function prepare(connection: NativeConnection, sql: string): NativeStatement {
  return connection.prepare(sql) as NativeStatement;
}

function rowsOf(connection: NativeConnection, sql: string, args: Parameters<NativeStatement["all"]>[0] = []) {
  const statement = prepare(connection, sql);
  assert.equal(statement.reader, true);
  statement.raw(true);
  return statement.all(args);
}

function codeOf(task: () => unknown): [code: unknown, message: string] {
  try {
    task();
  } catch (error) {
    assert.ok(error instanceof Error);
    return [(error as Error & { code?: unknown }).code, error.message];
  }
  assert.fail("it was taken");
}

Deno.test("the native code is found by itself where these tests run", () => {
  assert.ok(code);
});

for (const [name, open] of Object.entries(WAYS)) {
  Deno.test(`${name}: values come back as they went in, and integers whole`, () => {
    const connection = open(":memory:");
    connection.defaultSafeIntegers(true);
    const values = [1n, 2n ** 63n - 1n, -(2n ** 63n), 0.5, "", "ä\u0001😀", null, new Uint8Array([0, 255])];
    const [row] = rowsOf(connection, `SELECT ${values.map(() => "?").join(", ")}`, values as never);
    assert.deepEqual(row!.map((value) => value instanceof Uint8Array ? [...value] : fromBuffer(value)), [
      ...values.slice(0, -1),
      [0, 255],
    ]);
    connection.close();
  });

  Deno.test(`${name}: any number of rows is given once, with its columns, as often as it is asked`, () => {
    const connection = open(":memory:");
    connection.defaultSafeIntegers(true);
    connection.exec("CREATE TABLE t (a INTEGER, b TEXT)");
    const insert = prepare(connection, "INSERT INTO t VALUES (?, ?)");
    assert.equal(insert.reader, false);
    for (let i = 0n; i < 301n; i++) insert.run([i, `row ${i}`]);
    const select = prepare(connection, "SELECT a, b FROM t ORDER BY a LIMIT ?");
    select.raw(true);
    assert.deepEqual(select.columns().map((column) => column.name), ["a", "b"]);
    for (const count of [0, 1, 99, 100, 101, 200, 300, 301]) {
      const rows = select.all([BigInt(count)]);
      assert.deepEqual(rows, Array.from({ length: count }, (_, i) => [BigInt(i), `row ${i}`]));
    }
    connection.close();
  });

  Deno.test(`${name}: it knows whether a transaction is open`, () => {
    const connection = open(":memory:");
    connection.exec("CREATE TABLE t (a)");
    const states = ["BEGIN IMMEDIATE", "INSERT INTO t VALUES (1)", "ROLLBACK"].map((sql) => {
      connection.exec(sql);
      return connection.inTransaction;
    });
    assert.deepEqual(states, [true, true, false]);
    assert.deepEqual(rowsOf(connection, "SELECT a FROM t"), []);
    connection.close();
  });
}

Deno.test("both ways tell of the same errors, by the same codes", () =>
  inDirectory((folder) => {
    const faults = Object.values(WAYS).map((open, way) => {
      const path = join(folder, `${way}.db`);
      const connection = open(path);
      connection.exec("CREATE TABLE t (a INTEGER PRIMARY KEY) STRICT, WITHOUT ROWID");
      connection.exec("INSERT INTO t VALUES (1)");
      connection.exec("BEGIN EXCLUSIVE");
      const other = open(path);
      const told = [
        codeOf(() => connection.prepare("SELECT nonsense")),
        codeOf(() => connection.exec("NONSENSE")),
        codeOf(() => prepare(connection, "INSERT INTO t VALUES (1)").run([])),
        codeOf(() => prepare(connection, "INSERT INTO t VALUES (?)").run(["text"])),
        codeOf(() => rowsOf(connection, "SELECT abs(-9223372036854775808)")),
        codeOf(() => other.exec("BEGIN IMMEDIATE")),
        codeOf(() => rowsOf(other, "SELECT * FROM t")),
        codeOf(() => open(join(folder, "none", "x.db"))),
      ];
      connection.close();
      other.close();
      return JSON.parse(JSON.stringify(told).replaceAll(`${way}.db`, "x.db"));
    });
    assert.deepEqual(faults[0], faults[1]);
    const codes = faults[0].map(([code]: [string]) => code);
    assert.ok(codes.includes("SQLITE_CONSTRAINT_PRIMARYKEY") && codes.includes("SQLITE_BUSY"), `${codes}`);
    return Promise.resolve();
  }));

/** The package gives a Buffer where the native code gives bytes. */
function fromBuffer(value: unknown): unknown {
  return ArrayBuffer.isView(value) ? [...value as unknown as Uint8Array] : value;
}
