import assert from "node:assert/strict";
import { join } from "node:path";
import { inDirectory as inFolder } from "../../../tests/harness/in_directory.ts";
import { PurserError } from "../../kernel/errors.ts";
import { migrate } from "../schema/migrate.ts";
import { type Store } from "../mod.ts";
import { type SqliteDriver } from "./sqlite_driver.ts";
import { SqliteStore } from "./sqlite_store.ts";
import { COUNT, CREATE, INSERT, open, openMigrated, sqlite } from "../../../tests/harness/sqlite_faults.ts";

Deno.test("the file is in WAL mode from the first write on, with the configured synchronous", () =>
  inFolder(async (folder) => {
    const setting = async (store: Store, name: string) =>
      (await store.read({ sql: `PRAGMA ${name}` })).rows[0]![0];
    for (const [durability, synchronous] of [["full", 2n], ["normal", 1n]] as const) {
      const store = await SqliteStore.open({ path: join(folder, `${durability}.db`), durability });
      assert.equal(await setting(store, "journal_mode"), "delete");
      await store.write([CREATE]);
      assert.equal(await setting(store, "journal_mode"), "wal");
      assert.equal(await setting(store, "synchronous"), synchronous);
      assert.equal(await setting(store, "busy_timeout"), 0n);
      assert.equal(await setting(store, "recursive_triggers"), 1n);
      assert.equal(await setting(store, "foreign_keys"), 1n);
      await store.close();
    }
  }));

Deno.test("a read-only command does not change the file", () =>
  inFolder(async (folder) => {
    const path = join(folder, "purser.db");
    await (await openMigrated(path)).close();
    const before = await Deno.stat(path);
    const bytes = await Deno.readFile(path);
    const store = await openMigrated(path);
    await store.read({ sql: "SELECT count(*) FROM calls" });
    await store.close();
    assert.deepEqual((await Deno.stat(path)).mtime, before.mtime);
    assert.deepEqual(await Deno.readFile(path), bytes);
    assert.deepEqual([...Deno.readDirSync(folder)].map((entry) => entry.name), ["purser.db"]);
  }));

Deno.test("a full disk is a clear error that loses nothing, and writes work again afterwards", () =>
  inFolder(async (folder) => {
    let limit: ((pages: number) => void) | undefined;
    const driver: SqliteDriver = {
      ...sqlite,
      connect(path) {
        const connection = sqlite.connect(path);
        limit = (pages) => connection.exec(`PRAGMA max_page_count = ${pages}`);
        return connection;
      },
    };
    const store = await open({ path: join(folder, "purser.db"), driver });
    await store.write([CREATE, { sql: "CREATE TABLE big (a)" }]);
    limit!(16);
    const big = { sql: "INSERT INTO big VALUES (zeroblob(1000000))" };
    for (let i = 0; i < 3; i++) {
      await assert.rejects(store.write([INSERT, big]), { code: "unavailable", message: /the disk is full/ });
    }
    await store.write([INSERT]); // a unit that still fits is still written
    limit!(1_000_000);
    await store.write([INSERT, big]);
    assert.equal((await store.read(COUNT)).rows[0]![0], 2n);
    await store.close();
  }));

Deno.test("a file that is not a database is refused by name, and not changed", () =>
  inFolder(async (folder) => {
    const path = join(folder, "letter.txt");
    const letter = "Dear purser, ".repeat(500);
    await Deno.writeTextFile(path, letter);
    await assert.rejects(openMigrated(path), {
      code: "internal",
      message:
        `Cannot open database ${path}: the file is damaged or is not a database (file is not a database); restore a backup or choose another file`,
    });
    assert.equal(await Deno.readTextFile(path), letter);
  }));

Deno.test("a file that can't be opened is refused with the system's message", () =>
  inFolder(async (folder) => {
    const path = join(folder, "none", "purser.db");
    await assert.rejects(open({ path }), {
      code: "unavailable",
      message: `Cannot open database ${path}: unable to open database file`,
    });
  }));

Deno.test({
  name: "a file that is read-only can be read, and a write to it is refused by name",
  ignore: Deno.build.os === "windows",
  fn: () =>
    inFolder(async (folder) => {
      const path = join(folder, "purser.db");
      await (await openMigrated(path)).close();
      // For root no file is read-only, so the driver is asked to take it so.
      const driver: SqliteDriver = {
        ...sqlite,
        connect(where) {
          const connection = sqlite.connect(where);
          connection.exec("PRAGMA query_only = ON");
          return connection;
        },
      };
      await Deno.chmod(path, 0o400);
      const store = await open({ path, driver: Deno.uid() === 0 ? driver : sqlite });
      assert.equal((await store.read({ sql: "SELECT count(*) FROM calls" })).rows[0]![0], 0n);
      await assert.rejects(store.write([CREATE]), {
        code: "unavailable",
        message: `Cannot write to database ${path}: attempt to write a readonly database`,
      });
      await store.close();
    }),
});

Deno.test("more statements than are kept prepared all work", () =>
  inFolder(async (folder) => {
    const store = await open({ path: join(folder, "purser.db") });
    for (let round = 0; round < 2; round++) {
      for (let i = 0; i < 300; i++) {
        assert.equal((await store.read({ sql: `SELECT ${i} + ?`, args: [1] })).rows[0]![0], BigInt(i + 1));
      }
    }
    await store.close();
  }));

Deno.test("a table that another process alters is read with its new columns", () =>
  inFolder(async (folder) => {
    const path = join(folder, "purser.db");
    const [store, other] = [await open({ path }), await open({ path })];
    await store.write([CREATE, INSERT]);
    const all = { sql: "SELECT * FROM t" };
    assert.deepEqual(await store.read(all), { columns: ["a"], rows: [[1n]] });
    await other.write([{ sql: "ALTER TABLE t ADD COLUMN b DEFAULT 2" }]);
    await store.read(all); // SQLite notices the change while it runs this one
    assert.deepEqual(await store.read(all), { columns: ["a", "b"], rows: [[1n, 2n]] });
    await store.close();
    await other.close();
  }));

Deno.test("a new database and its folder are readable by their owner only", () =>
  inFolder(async (folder) => {
    const path = join(folder, "data", "purser", "purser.db");
    const store = await openMigrated(path);
    await store.write([{ sql: "CREATE TABLE t (a)" }]);
    const mode = (file: string) => Deno.statSync(file).mode! & 0o777;
    assert.equal(mode(path), 0o600);
    assert.equal(mode(`${path}-wal`), 0o600);
    assert.equal(mode(join(folder, "data", "purser")), 0o700);
    await store.close();
    assert.equal(mode(path), 0o600);
    assert.deepEqual([...Deno.readDirSync(join(folder, "data", "purser"))].map((entry) => entry.name), [
      "purser.db",
    ]);
  }));

Deno.test("a folder instead of a database is refused by name", () =>
  inFolder(async (folder) => {
    await assert.rejects(
      openMigrated(folder),
      (error) =>
        error instanceof PurserError && error.code === "unavailable" && error.message.includes(folder),
    );
  }));

Deno.test("a folder that can't be created is refused by name", () =>
  inFolder(async (folder) => {
    await Deno.writeTextFile(join(folder, "file"), "");
    const path = join(folder, "file", "purser.db");
    await assert.rejects(
      openMigrated(path),
      (error) => error instanceof PurserError && error.code === "unavailable" && error.message.includes(path),
    );
  }));

Deno.test("a truncated file is refused or read, and never crashes", () =>
  inFolder(async (folder) => {
    const path = join(folder, "purser.db");
    const store = await openMigrated(path);
    await store.close();
    const bytes = await Deno.readFile(path);
    for (const length of [0, 10, 100, 4096, bytes.length - 100]) {
      await Deno.writeFile(path, bytes.subarray(0, length));
      try {
        await (await openMigrated(path)).close();
      } catch (error) {
        assert.ok(error instanceof Error, String(error));
      }
    }
  }));

Deno.test("a failed open does not lock the file", () =>
  inFolder(async (folder) => {
    const path = join(folder, "purser.db");
    const newer = await openMigrated(path);
    await newer.write([{ sql: "INSERT INTO purser_migrations VALUES (99, 'future', 'x', 1)" }]);
    await newer.close();
    for (let i = 0; i < 2; i++) await assert.rejects(openMigrated(path), /upgrade Purser/);
    const store = await open({ path });
    await store.write([{ sql: "DELETE FROM purser_migrations WHERE version = 99" }]);
    await store.close();
    await (await openMigrated(path)).close();
  }));

Deno.test("a database of another program is refused before anything is written", async () => {
  const directory = await Deno.makeTempDir();
  const path = `${directory}/other.db`;
  const other = await SqliteStore.open({ path, durability: "normal" });
  await other.write([{ sql: "CREATE TABLE theirs (id INTEGER)" }]);
  await other.close();
  const store = await SqliteStore.open({ path, durability: "normal" });
  await assert.rejects(migrate(store, { now: () => 0 }), {
    code: "conflict",
    message: /not Purser's.*theirs/,
  });
  const { rows } = await store.read({ sql: "SELECT name FROM sqlite_schema" });
  assert.deepEqual(rows, [["theirs"]]);
  await store.close();
  await Deno.remove(directory, { recursive: true });
});
