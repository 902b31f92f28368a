import assert from "node:assert/strict";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { inDirectory } from "../../../tests/harness/in_directory.ts";
import { CREATE, open } from "../../../tests/harness/sqlite_faults.ts";
import { ConstraintError } from "../store.ts";
import type { SetWriter } from "../write_unit.ts";
import { NoThreadError, WriteThread } from "./database_threads.ts";
import { loadSqlite } from "./sqlite_driver.ts";
import type { SqliteStore } from "./sqlite_store.ts";

/** Items of one kind, some of which take long. */
const writer: SetWriter<{ text: string; rows?: number; isLong?: boolean }, void> = {
  sizeOf: () => 100,
  isLong: ({ isLong = true }) => isLong,
  plan: (items) => ({
    statements: items.map(({ text, rows = 1 }) => ({
      sql: `INSERT INTO t WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < ?1)
SELECT CASE WHEN ?1 = 1 THEN ?2 ELSE ?2 || i END FROM n`,
      args: [rows, text],
    })),
    read: () => items.map(() => {}),
  }),
};
const COUNT = { sql: "SELECT count(*) FROM t" };
const countOf = async (store: SqliteStore) => (await store.read(COUNT)).rows[0]![0];

/** Runs a task over a store with threads, and checks that it leaves only its database. */
function withThreads(task: (store: SqliteStore, path: string) => Promise<void>): Promise<void> {
  return inDirectory(async (folder) => {
    const path = join(folder, "purser.db");
    const store = await open({ path, hasThreads: true });
    try {
      await store.write([CREATE, { sql: "CREATE UNIQUE INDEX once ON t (a)" }]);
      await task(store, path);
    } finally {
      await store.close();
    }
    assert.deepEqual([...Deno.readDirSync(folder)].map(({ name }) => name), ["purser.db"]);
  });
}

Deno.test("while a long set is committed, others read; then they see all of it", () =>
  withThreads(async (store) => {
    let isDone = false;
    const long = store.writeInSet(writer, { text: "a", rows: 200_000 }).then(() => isDone = true);
    let others = 0;
    while (!isDone) {
      const count = await countOf(store);
      assert.ok(isDone || count === 0n || count === 200_000n);
      await setImmediate();
      others++;
    }
    await long;
    assert.equal(await countOf(store), 200_000n);
    assert.ok(others > 20, `${others} others were answered meanwhile`);
  }));

Deno.test("long sets and other commits follow each other in the order in which they came", () =>
  withThreads(async (store) => {
    const done: string[] = [];
    await Promise.all(
      ["a", "b", "c", "d"].map(async (text, index) => {
        await store.writeInSet(writer, { text, isLong: index % 2 === 0 });
        done.push(text);
      }),
    );
    assert.deepEqual(done, ["a", "b", "c", "d"]);
    const [result] = await store.readAll([COUNT], { isLong: true });
    assert.equal(result!.rows[0]![0], 4n);
  }));

Deno.test("reads for a long set don't disturb one that is committed", () =>
  withThreads(async (store) => {
    await store.writeInSet(writer, { text: "a" });
    const read = () => store.readAll([COUNT], { isLong: true });
    const [, ...counts] = await Promise.all([
      store.writeInSet(writer, { text: "b", rows: 1_000 }),
      ...Array.from({ length: 5 }, read),
    ]);
    for (const [result] of counts) assert.ok([1n, 1_001n].includes(result!.rows[0]![0] as bigint));
    assert.equal((await read())[0]!.rows[0]![0], 1_001n);
  }));

Deno.test("a long set that is refused leaves nothing, and the next one is committed", () =>
  withThreads(async (store) => {
    await store.writeInSet(writer, { text: "a" });
    await assert.rejects(store.writeInSet(writer, { text: "a" }), ConstraintError);
    await store.writeInSet(writer, { text: "b" });
    assert.equal(await countOf(store), 2n);
  }));

Deno.test("a long set waits for a lock of another process", () =>
  withThreads(async (store, path) => {
    await store.writeInSet(writer, { text: "a" });
    const other = (await loadSqlite()).connect(path);
    other.exec("BEGIN IMMEDIATE");
    const waiting = store.writeInSet(writer, { text: "b" });
    for (let turn = 0; turn < 20; turn++) await setImmediate();
    assert.equal(await countOf(store), 1n);
    other.exec("COMMIT");
    other.close();
    await waiting;
    assert.equal(await countOf(store), 2n);
  }));

Deno.test("without its thread, a long set is committed all the same", () =>
  withThreads(async (store) => {
    const { commit } = WriteThread.prototype;
    WriteThread.prototype.commit = () => Promise.reject(new NoThreadError("it has ended"));
    try {
      await store.writeInSet(writer, { text: "a" });
    } finally {
      WriteThread.prototype.commit = commit;
    }
    await store.writeInSet(writer, { text: "b" });
    assert.equal(await countOf(store), 2n);
  }));

Deno.test("a database that is closed waits for its long sets", () =>
  withThreads(async (store) => {
    const long = store.writeInSet(writer, { text: "a", rows: 10_000 });
    await store.close();
    await long;
  }));
