import assert from "node:assert/strict";
import { join } from "node:path";
import { migrations } from "../src/store/migrations/migrations.ts";
import { SqliteStore } from "../src/store/sqlite/sqlite_store.ts";
import { inDirectory } from "./harness/in_directory.ts";
import { startStoreProcess } from "./harness/store_process.ts";

const CREATE = { sql: "CREATE TABLE t (name TEXT NOT NULL, n INTEGER NOT NULL, PRIMARY KEY (name, n))" };
const INTEGRITY = { sql: "PRAGMA integrity_check" };

/** A test over a file with an empty table, which this process has open too. */
function test(sentence: string, body: (path: string, store: SqliteStore) => Promise<void>): void {
  Deno.test(sentence, () =>
    inDirectory(async (folder) => {
      const path = join(folder, "purser.db");
      const store = await SqliteStore.open({ path, durability: "normal" });
      await store.write([CREATE]);
      try {
        await body(path, store);
      } finally {
        await store.close();
      }
    }));
}

test("three processes that write to one file concurrently lose no row", async (path, store) => {
  const writers = ["a", "b", "c"].map((name) =>
    startStoreProcess({ do: "insert", path, name, count: 300, durability: "full" })
  );
  const reported = await Promise.all(writers.map((writer) => writer.rest()));
  assert.deepEqual(reported.map((lines) => lines.length), [300, 300, 300]);
  const [counts, integrity] = await store.readAll([
    { sql: "SELECT name, count(*), max(n) FROM t GROUP BY name ORDER BY name" },
    INTEGRITY,
  ]);
  assert.deepEqual(counts!.rows, ["a", "b", "c"].map((name) => [name, 300n, 299n]));
  assert.deepEqual(integrity!.rows, [["ok"]]);
});

test(
  "a writer that is killed loses nothing it has reported, and doesn't stop another",
  async (path, store) => {
    const killed = startStoreProcess({ do: "insert", path, name: "killed" });
    const other = startStoreProcess({ do: "insert", path, name: "other", count: 1_000 });
    let last = -1;
    while (last < 100) last = Number(await killed.next());
    await killed.kill();
    assert.equal((await other.rest()).length, 1_000);
    const { rows } = await store.read({
      sql: "SELECT name, count(*), max(n) FROM t GROUP BY name ORDER BY name",
    });
    const [name, count, max] = rows[0]!;
    assert.equal(name, "killed");
    assert.ok(max as bigint >= BigInt(last), `${max} of ${last}`);
    assert.equal(count, max as bigint + 1n);
    assert.deepEqual(rows[1], ["other", 1_000n, 999n]);
    assert.deepEqual((await store.read(INTEGRITY)).rows, [["ok"]]);
  },
);

test("readAll is one view of the database while another process writes", async (path, store) => {
  const writer = startStoreProcess({ do: "insert", path, name: "w", count: 500 });
  const count = { sql: "SELECT count(*) FROM t" };
  const seen = new Set<unknown>();
  while (!seen.has(500n)) {
    const [first, second, third] = await store.readAll([count, { sql: "SELECT max(n) + 1 FROM t" }, count]);
    assert.deepEqual(third!.rows, first!.rows);
    if (first!.rows[0]![0] !== 0n) assert.deepEqual(second!.rows, first!.rows);
    seen.add(first!.rows[0]![0]);
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  await writer.rest();
});

test(
  "a write waits for a lock without blocking the process, and fails at its deadline",
  async (path, store) => {
    const holder = startStoreProcess({ do: "hold_write_lock", path });
    assert.equal(await holder.next(), "held");
    const impatient = await SqliteStore.open({ path, durability: "normal", busyTimeoutMs: 200 });
    const insert = { sql: "INSERT INTO t VALUES ('here', 1)" };
    const failing = assert.rejects(impatient.write([insert]), {
      name: "StoreBusyError",
      code: "unavailable",
      message:
        /^Cannot write to database .*purser\.db: another process has held its write lock for 0\.2 s; end the program/,
    });
    const waiting = store.write([insert]);
    // In WAL mode, reads don't wait for a writer.
    assert.equal((await store.read({ sql: "SELECT count(*) FROM t" })).rows[0]![0], 0n);
    await failing;
    await holder.end();
    await waiting;
    await assert.rejects(impatient.write([insert]), { name: "ConstraintError" });
    await impatient.close();
  },
);

test(
  "a process that is stopped inside its commit keeps each write waiting until its deadline, and loses nothing",
  async (path, store) => {
    const stopped = startStoreProcess({ do: "stop_in_commit", path, name: "stopped" });
    try {
      assert.deepEqual([await stopped.next(), await stopped.next()], ["committed 0", "stopped"]);
      const timeoutMs = 2_000;
      const impatient = await SqliteStore.open({ path, durability: "normal", busyTimeoutMs: timeoutMs });
      const waits = await Promise.all([0, 100, 300, 500].map(async (delayMs) => {
        await new Promise((resolve) => setTimeout(resolve, delayMs));
        const begun = performance.now();
        await assert.rejects(
          impatient.write([{ sql: "INSERT INTO t VALUES ('late', ?)", args: [delayMs] }]),
          {
            code: "unavailable",
            message:
              /another process has held its write lock for 2 s; end the program that keeps a transaction/,
          },
        );
        return performance.now() - begun;
      }));
      // Writes that came while the first one waited don't wait for their turn and then once more.
      assert.ok(
        waits.every((ms) => ms > timeoutMs / 2 && ms < timeoutMs + 1_000),
        `${waits.map(Math.round)}`,
      );
      const count = { sql: "SELECT name, count(*) FROM t GROUP BY name ORDER BY name" };
      assert.deepEqual((await store.read(count)).rows, [["stopped", 1n]], "reads still work");
      const waiting = store.write([{ sql: "INSERT INTO t VALUES ('here', 1)" }]);
      stopped.resume();
      assert.deepEqual(await stopped.rest(), ["committed 1"]);
      await waiting;
      await impatient.write([{ sql: "INSERT INTO t VALUES ('here', 2)" }]);
      await impatient.close();
      assert.deepEqual((await store.read(count)).rows, [["here", 2n], ["stopped", 2n]]);
      assert.deepEqual((await store.read(INTEGRITY)).rows, [["ok"]]);
    } finally {
      await stopped.kill();
    }
  },
);

test("two processes that write without a pause let this one write", async (path, store) => {
  const writers = ["a", "b"].map((name) => startStoreProcess({ do: "insert", path, name }));
  for (const writer of writers) await writer.next();
  for (let i = 0; i < 20; i++) {
    // It is rejected after ten seconds.
    await store.write([{ sql: "INSERT INTO t VALUES ('me', ?)", args: [i] }]);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  for (const writer of writers) await writer.kill();
});

Deno.test("eight processes that open a new file at once migrate it once", () =>
  inDirectory(async (folder) => {
    const path = join(folder, "new", "purser.db");
    const openers = Array.from({ length: 8 }, () => startStoreProcess({ do: "migrate", path }));
    for (const opener of openers) assert.deepEqual(await opener.rest(), [String(migrations.at(-1)!.version)]);
    const store = await SqliteStore.open({ path, durability: "normal" });
    assert.deepEqual((await store.read({ sql: "SELECT version FROM purser_migrations" })).rows, [
      ...migrations.map(({ version }) => [BigInt(version)]),
    ]);
    assert.deepEqual((await store.read(INTEGRITY)).rows, [["ok"]]);
    await store.close();
  }));

Deno.test("a file that an older Purser owns is refused, naming the process to end", () =>
  inDirectory(async (folder) => {
    const path = join(folder, "purser.db");
    const sql = "PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL; BEGIN EXCLUSIVE; COMMIT";
    const owner = startStoreProcess({ do: "hold_write_lock", path, sql });
    assert.equal(await owner.next(), "held");
    const open = () => SqliteStore.open({ path, durability: "normal", busyTimeoutMs: 50 });
    await assert.rejects(open(), { code: "unavailable", message: /has kept it locked for 0\.05 s; end the/ });
    await Deno.writeTextFile(
      `${path}.owner.json`,
      '{ "pid": 4711, "url": "http://127.0.0.1:1", "token": "x" }',
    );
    await assert.rejects(open(), {
      message: /purser\.db\.owner\.json says that an older Purser, process 4711, owns it: end that process/,
    });
    await owner.end();
    const store = await open();
    await store.write([CREATE]);
    await store.close();
  }));
