import assert from "node:assert/strict";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { inDirectory } from "../../../tests/harness/in_directory.ts";
import { fixedClock } from "../../kernel/clock.ts";
import { CREATE, open } from "../../../tests/harness/sqlite_faults.ts";
import { ReadThreads } from "./database_threads.ts";
import type { SqliteStore } from "./sqlite_store.ts";

const LONG = {
  sql: "WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < ?) SELECT count(*) FROM n",
  args: [1_000_000],
};
/** Makes a file so large that its long queries are run in threads. */
const FILL = { sql: "INSERT INTO t VALUES (zeroblob(17 * 1024 * 1024))" };
const COUNT = { sql: "SELECT count(*) FROM t" };

/** Runs a task over a store with threads, whose file is large. */
function withLargeFile(task: (store: SqliteStore, path: string) => Promise<void>): Promise<void> {
  return inDirectory(async (folder) => {
    const path = join(folder, "purser.db");
    const store = await open({ path, hasThreads: true });
    try {
      await store.write([CREATE, FILL]);
      await task(store, path);
    } finally {
      await store.close();
    }
    assert.deepEqual([...Deno.readDirSync(folder)].map(({ name }) => name), ["purser.db"]);
  });
}

Deno.test("a long query over a large file holds up no other", () =>
  withLargeFile(async (store) => {
    let isDone = false;
    const long = store.readLong(LONG).then(({ rows }) => {
      isDone = true;
      return rows;
    });
    let others = 0;
    while (!isDone) {
      assert.equal((await store.read(COUNT)).rows[0]![0], 1n);
      await setImmediate();
      others++;
    }
    assert.deepEqual(await long, [[1_000_000n]]);
    assert.ok(others > 20, `${others} others were answered meanwhile`);
  }));

Deno.test("a query in a thread sees every commit before it, and refuses to write", () =>
  withLargeFile(async (store) => {
    for (let rows = 2n; rows < 20n; rows++) {
      await store.write([{ sql: "INSERT INTO t VALUES (?)", args: ["x"] }]);
      assert.equal((await store.readLong(COUNT)).rows[0]![0], rows);
    }
    const value = { sql: "SELECT ?, x'00ff', NULL, 0.5, 'grüße'", args: [2n ** 63n - 1n] };
    assert.deepEqual((await store.readLong(value)).rows, (await store.read(value)).rows);
    await assert.rejects(store.readLong({ sql: "DELETE FROM t" }), /the statement is not a query/);
    await assert.rejects(store.readLong({ sql: "SELECT * FROM missing" }), /no such table: missing/);
  }));

Deno.test("more long queries than threads are all answered", () =>
  withLargeFile(async (_store, path) => {
    const threads = new ReadThreads(path, fixedClock(0));
    const results = await Promise.all(
      Array.from({ length: 11 }, (_, i) => threads.query({ ...LONG, args: [i + 1] })),
    );
    assert.deepEqual(
      results.map(({ rows }) => rows[0]![0]),
      Array.from({ length: 11 }, (_, i) => BigInt(i + 1)),
    );
    assert.ok(threads.count >= 2 && threads.count <= 4);
    await threads.close();
  }));

Deno.test("threads end after a minute without a query, but for one that the next query finds", () =>
  withLargeFile(async (_store, path) => {
    const clock = fixedClock(0);
    const threads = new ReadThreads(path, clock);
    await Promise.all([threads.query(COUNT), threads.query(COUNT)]);
    assert.equal(threads.count, 2);
    clock.advance(59_000);
    await setImmediate();
    assert.equal(threads.count, 2);
    clock.advance(1_000);
    while (threads.count > 1) await setImmediate();
    clock.advance(60_000);
    await setImmediate();
    assert.equal(threads.count, 1);
    assert.equal((await threads.query(COUNT)).rows[0]![0], 1n);
    await threads.close();
  }));

Deno.test("queries that come while threads end are all answered", () =>
  withLargeFile(async (_store, path) => {
    const clock = fixedClock(0);
    const threads = new ReadThreads(path, clock);
    const queries = () => Promise.all([1, 2, 3, 4].map(() => threads.query(COUNT)));
    await queries();
    clock.advance(60_000);
    await Promise.resolve(); // all but one begin to end
    assert.ok(threads.count > 1);
    assert.deepEqual((await queries()).map(({ rows }) => rows[0]![0]), [1n, 1n, 1n, 1n]);
    await threads.close();
  }));

Deno.test("a database that is closed waits for threads that end, so that it is the last to close its file", () =>
  withLargeFile(async (_store, path) => {
    const clock = fixedClock(0);
    const threads = new ReadThreads(path, clock);
    await Promise.all([1, 2, 3, 4].map(() => threads.query(COUNT)));
    clock.advance(60_000);
    await Promise.resolve(); // all but one begin to end
    await threads.close();
  }));

Deno.test("a database that is closed gives up the long queries that run or wait", () =>
  withLargeFile(async (_store, path) => {
    const threads = new ReadThreads(path, fixedClock(0));
    const queries = Promise.allSettled(Array.from({ length: 6 }, () => threads.query(LONG)));
    await threads.close();
    for (const { status, reason } of await queries as PromiseRejectedResult[]) {
      assert.equal(status, "rejected");
      assert.match(reason.message, /the database is closed/);
    }
  }));

Deno.test("without threads, or over a small file or in memory, a long query is run at once", () =>
  inDirectory(async (folder) => {
    const path = join(folder, "purser.db");
    for (const options of [{ path, hasThreads: true }, { path: ":memory:", hasThreads: true }, { path }]) {
      const store = await open(options);
      assert.deepEqual((await store.readLong({ sql: "SELECT 1" })).rows, [[1n]]);
      await store.close();
    }
  }));
