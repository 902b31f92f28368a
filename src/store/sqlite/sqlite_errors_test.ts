import assert from "node:assert/strict";
import { join } from "node:path";
import { inDirectory } from "../../../tests/harness/in_directory.ts";
import { loadSqlite } from "./sqlite_driver.ts";
import { explainSqliteError, kindOfSqliteError } from "./sqlite_errors.ts";
import { ConstraintError } from "../store.ts";

const { connect } = await loadSqlite();

function errorOf(task: () => unknown): Error & { errcode?: number } {
  try {
    task();
  } catch (error) {
    return error as Error;
  }
  assert.fail("it did not fail");
}

Deno.test("kindOfSqliteError() classifies errors by their code, or by their text without a code", () =>
  inDirectory(async (folder) => {
    const path = join(folder, "a.db");
    const database = connect(path);
    database.exec("PRAGMA journal_mode = WAL; CREATE TABLE t (a PRIMARY KEY NOT NULL)");
    database.exec("CREATE TRIGGER keep BEFORE DELETE ON t BEGIN SELECT RAISE(ABORT, 'kept'); END");
    database.exec("INSERT INTO t VALUES (1)");
    const other = connect(path);
    await Deno.writeTextFile(join(folder, "text"), "no database ".repeat(500));
    await Deno.writeFile(join(folder, "short.db"), (await Deno.readFile(path)).subarray(0, 100));
    const cases: [kind: string | undefined, task: () => unknown][] = [
      ["constraint", () => database.exec("INSERT INTO t VALUES (1)")],
      ["constraint", () => database.prepare("INSERT INTO t VALUES (1)").run()],
      ["constraint", () => database.prepare("INSERT INTO t VALUES (NULL)").run()],
      ["constraint", () => database.prepare("DELETE FROM t").run()],
      ["not_opened", () => connect(join(folder, "none", "a.db"))],
      ["not_opened", () => connect(folder)],
      ["damaged", () => connect(join(folder, "text")).exec("SELECT * FROM sqlite_schema")],
      ["damaged", () => connect(join(folder, "short.db")).prepare("SELECT * FROM sqlite_schema").all()],
      ["read_only", () => connect(path, { isReadOnly: true }).exec("CREATE TABLE u (a)")],
      [undefined, () => database.exec("SELEC 1")],
      [undefined, () => database.prepare("SELECT json('x')").all()],
      [undefined, () => database.prepare("SELECT ?").all(2n ** 64n)],
    ];
    for (const [kind, task] of cases) {
      const error = errorOf(task);
      assert.equal(kindOfSqliteError(error), kind, error.message);
    }
    database.exec("BEGIN IMMEDIATE");
    assert.equal(kindOfSqliteError(errorOf(() => other.exec("BEGIN IMMEDIATE"))), "busy");
    assert.equal(kindOfSqliteError(errorOf(() => other.prepare("BEGIN IMMEDIATE").run())), "busy");
    database.exec("ROLLBACK; PRAGMA max_page_count = 4");
    const big = "CREATE TABLE big (a); INSERT INTO big VALUES (zeroblob(100000))";
    assert.equal(kindOfSqliteError(errorOf(() => database.exec(big))), "full");
    other.close();
    database.close();
  }));

Deno.test("kindOfSqliteError() reads extended codes, and the texts that tests can't provoke", () => {
  const failed = (message: string, errcode?: number) =>
    Object.assign(new Error(message), { code: "ERR_SQLITE_ERROR", errcode });
  assert.equal(kindOfSqliteError(failed("x", 517)), "busy"); // SQLITE_BUSY_SNAPSHOT
  assert.equal(kindOfSqliteError(failed("x", 4874)), "io"); // SQLITE_IOERR_SHMSIZE
  assert.equal(kindOfSqliteError(failed("disk I/O error")), "io");
  assert.equal(kindOfSqliteError(failed("database table is locked: t")), "busy");
  assert.equal(kindOfSqliteError(failed("disk I/O error", 1)), undefined);
  assert.equal(kindOfSqliteError(new Error("disk I/O error")), undefined);
  assert.equal(kindOfSqliteError(undefined), undefined);
});

Deno.test("explainSqliteError() keeps the text of a trigger, and errors that are not SQLite's", () => {
  const refused = Object.assign(new Error("the event log is append-only"), {
    ...{ code: "ERR_SQLITE_ERROR", errcode: 1811 },
  });
  const explained = explainSqliteError(refused, "write to", "/a.db");
  assert.ok(explained instanceof ConstraintError);
  assert.equal(explained.message, "the event log is append-only");
  const other = new TypeError("other");
  assert.equal(explainSqliteError(other, "read", "/a.db"), other);
});
