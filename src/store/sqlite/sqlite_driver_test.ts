import assert from "node:assert/strict";
import { PreparedStatements } from "./sqlite_driver.ts";
import { loadSqlite } from "./sqlite_driver.ts";

const { connect } = await loadSqlite();

Deno.test("PreparedStatements.query() runs read-only statements", () => {
  const connection = connect(":memory:");
  const statements = new PreparedStatements(connection);
  connection.exec("CREATE TABLE t (a); INSERT INTO t VALUES (1)");
  for (
    const sql of [
      "SELECT a FROM t",
      "  select a from t",
      "VALUES (1)",
      "WITH x AS (SELECT a FROM t) SELECT a FROM x",
      "WITH RECURSIVE n(a) AS (VALUES (1) UNION ALL SELECT a + 1 FROM n WHERE a < 0) SELECT a FROM n",
      "/* a comment */ SELECT a FROM t",
    ]
  ) {
    for (let i = 0; i < 2; i++) assert.deepEqual(statements.query({ sql }).rows, [[1n]], sql);
  }
  assert.deepEqual(statements.query({ sql: "PRAGMA integrity_check" }).rows, [["ok"]]);
  assert.deepEqual(statements.query({ sql: "PRAGMA foreign_keys" }).columns, ["foreign_keys"]);
  connection.close();
});

Deno.test("PreparedStatements.query() refuses statements that write, which have no effect", () => {
  const connection = connect(":memory:");
  const statements = new PreparedStatements(connection);
  connection.exec("CREATE TABLE t (a); INSERT INTO t VALUES (1)");
  for (
    const sql of [
      "INSERT INTO t VALUES (2)",
      "INSERT INTO t VALUES (2) RETURNING a",
      "WITH x AS (SELECT 2) INSERT INTO t SELECT * FROM x",
      "WITH x AS (SELECT 2) INSERT INTO t SELECT * FROM x RETURNING a",
      "with x AS (SELECT 2) replace INTO t SELECT * FROM x RETURNING a",
      "WITH x AS (SELECT 2)/**/UPDATE t SET a = 2 RETURNING a",
      "WITH x AS (SELECT 2) DELETE\nFROM t RETURNING a",
      "-- SELECT\nUPDATE t SET a = 2",
      "REPLACE INTO t VALUES (2)",
      "DELETE FROM t",
      "DROP TABLE t",
      "CREATE TABLE u (a)",
      "BEGIN IMMEDIATE",
      "SAVEPOINT s",
      "VACUUM",
      "ATTACH ':memory:' AS other",
      "PRAGMA foreign_keys = OFF",
      "PRAGMA foreign_keys(0)",
      "PRAGMA main.user_version = 7",
      "PRAGMA wal_checkpoint",
      "PRAGMA optimize",
    ]
  ) {
    assert.throws(() => statements.query({ sql }), { code: "internal", message: /is not a query/ }, sql);
  }
  assert.equal(connection.isTransaction, false);
  assert.deepEqual(statements.query({ sql: "SELECT a FROM t" }).rows, [[1n]]);
  assert.deepEqual(statements.query({ sql: "SELECT count(*) FROM sqlite_schema" }).rows, [[1n]]);
  assert.deepEqual(statements.query({ sql: "WITH x AS (SELECT 2) SELECT * FROM x" }).rows, [[2n]]);
  assert.deepEqual(statements.query({ sql: "WITH x AS (SELECT 2) SELECT replace('a', 'a', 'b')" }).rows, [[
    "b",
  ]]);
  assert.deepEqual(statements.query({ sql: "PRAGMA foreign_keys" }).rows, [[1n]]);
  assert.deepEqual(statements.query({ sql: "PRAGMA database_list" }).rows.length, 1);
  connection.close();
});
