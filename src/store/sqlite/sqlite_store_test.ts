import { databaseLogic } from "../../service/database_logic.ts";
import assert from "node:assert/strict";
import { join } from "node:path";
import { inDirectory as inFolder } from "../../../tests/harness/in_directory.ts";
import { eagerClock } from "../../../tests/harness/eager_clock.ts";
import { fixedClock, systemClock } from "../../kernel/clock.ts";
import { PurserError } from "../../kernel/errors.ts";
import { createIds } from "../../kernel/ids.ts";
import { migrate } from "../schema/migrate.ts";
import { openStore, type Store } from "../mod.ts";
import { loadSqlite, type SqliteConnection, type SqliteDriver } from "./sqlite_driver.ts";
import { StoreBusyError } from "./sqlite_errors.ts";
import { type SqliteOptions, SqliteStore } from "./sqlite_store.ts";

const CREATE = { sql: "CREATE TABLE t (a)" };
const INSERT = { sql: "INSERT INTO t VALUES (?)", args: [1] };
const COUNT = { sql: "SELECT count(*) FROM t" };
const sqlite = await loadSqlite();

function open(options: Partial<SqliteOptions> & { path: string }): Promise<SqliteStore> {
  return SqliteStore.open({ durability: "normal", busyTimeoutMs: 100, ...options });
}

function openMigrated(path: string): Promise<Store> {
  return openStore({
    logic: databaseLogic,
    location: { kind: "file", path },
    durability: "full",
    remoteTimeoutMs: 1_000,
    clock: systemClock,
    ids: createIds(systemClock),
  });
}

/** SQLite, but `interfere` is called with every statement before it is executed and may throw. */
function fault(interfere: (sql: string, connection: SqliteConnection) => void): SqliteDriver {
  return {
    version: sqlite.version,
    connect(path, options) {
      const connection = sqlite.connect(path, options);
      return {
        get isTransaction() {
          return connection.isTransaction;
        },
        exec(sql) {
          interfere(sql, connection);
          connection.exec(sql);
        },
        prepare(sql) {
          const statement = connection.prepare(sql);
          return {
            columns: () => statement.columns(),
            all(...values) {
              interfere(sql, connection);
              return statement.all(...values);
            },
            run(...values) {
              interfere(sql, connection);
              return statement.run(...values);
            },
          };
        },
        close: () => connection.close(),
      };
    },
  };
}

function sqliteError(message: string, errcode?: number): Error {
  return Object.assign(new Error(message), { code: "ERR_SQLITE_ERROR", errcode });
}

Deno.test("a file is open in several stores at once, and each sees what the others have committed", () =>
  inFolder(async (folder) => {
    const path = join(folder, "purser.db");
    const stores = await Promise.all([1, 2, 3].map(() => open({ path })));
    await stores[0]!.write([CREATE]);
    for (let round = 0; round < 20; round++) await Promise.all(stores.map((store) => store.write([INSERT])));
    for (const store of stores) {
      assert.equal(store.isShared, true);
      assert.equal((await store.read(COUNT)).rows[0]![0], 60n);
    }
    for (const store of stores) await store.close();
    assert.deepEqual([...Deno.readDirSync(folder)].map(({ name }) => name), ["purser.db"]);
  }));

Deno.test("every statement waits for a lock of another process", () =>
  inFolder(async (folder) => {
    for (const when of ["BEGIN IMMEDIATE", "INSERT INTO t VALUES (?)", "COMMIT", "SELECT count(*) FROM t"]) {
      const clock = eagerClock();
      let failures = 0;
      const driver = fault((sql) => {
        if (sql === when && failures-- > 0) throw sqliteError("database is locked");
      });
      const store = await open({ path: join(folder, `${when.slice(0, 6)}.db`), driver, clock });
      await store.write([CREATE]);
      failures = 4;
      await store.write([INSERT]);
      assert.equal((await store.read(COUNT)).rows[0]![0], 1n, when);
      assert.ok(failures < 0);
      await store.close();
    }
  }));

Deno.test("a database that stays locked is an error after the deadline, and works again when it is free", () =>
  inFolder(async (folder) => {
    const path = join(folder, "purser.db");
    const clock = eagerClock();
    let isBusy = false;
    const driver = fault((sql) => {
      if (isBusy && sql !== "ROLLBACK") throw sqliteError("database is locked", 5);
    });
    const store = await open({ path, driver, clock, busyTimeoutMs: undefined });
    await store.write([CREATE]);
    isBusy = true;
    const before = clock.monotonic();
    await assert.rejects(store.write([INSERT]), (error) => {
      assert.ok(error instanceof StoreBusyError);
      assert.equal(error.code, "unavailable");
      assert.match(
        error.message,
        /^Cannot write to database .*: another process has held its write lock for 10 s; /,
      );
      return true;
    });
    const waitedMs = clock.monotonic() - before;
    assert.ok(waitedMs >= 10_000 && waitedMs < 10_100, `${waitedMs}`);
    await assert.rejects(
      store.read(COUNT),
      /^StoreBusyError: Cannot read database .* kept it locked for 10 s/,
    );
    isBusy = false;
    await store.write([INSERT]);
    assert.equal((await store.read(COUNT)).rows[0]![0], 1n);
    await store.close();
  }));

Deno.test("a database in memory is never retried or reopened", async () => {
  let failures = 0;
  const driver = fault((sql) => {
    if (failures > 0 && (sql === "COMMIT" || sql === "ROLLBACK")) {
      failures--;
      throw sqliteError("database is locked", 6);
    }
  });
  const store = await open({ path: ":memory:", driver });
  assert.equal(store.isShared, false);
  await store.write([CREATE, INSERT]);
  failures = 1;
  await assert.rejects(store.write([INSERT]), StoreBusyError);
  await store.write([INSERT]);
  assert.equal((await store.read(COUNT)).rows[0]![0], 2n);
  await store.close();
});

Deno.test("a connection that can't roll back is replaced", () =>
  inFolder(async (folder) => {
    let isBroken = false;
    const driver = fault((sql) => {
      if (isBroken && (sql === "COMMIT" || sql === "ROLLBACK")) throw sqliteError("disk I/O error", 10);
    });
    const store = await open({ path: join(folder, "purser.db"), driver });
    await store.write([CREATE]);
    isBroken = true;
    await assert.rejects(store.write([INSERT]), {
      code: "unavailable",
      message: /^Cannot write to database .*purser\.db: disk I\/O error$/,
    });
    isBroken = false;
    await store.write([INSERT]);
    assert.equal((await store.read(COUNT)).rows[0]![0], 1n);
    await store.close();
  }));

Deno.test("a deleted or replaced file is detected within a second, and nothing is written from then on", () =>
  inFolder(async (folder) => {
    for (const isReplaced of [false, true]) {
      const path = join(folder, `${isReplaced}.db`);
      const clock = fixedClock(0);
      const store = await open({ path, clock });
      await store.write([CREATE]);
      await Deno.rename(path, `${path}.old`);
      const other = isReplaced ? await open({ path }) : undefined;
      await other?.write([CREATE]);
      clock.advance(1_000);
      for (let i = 0; i < 2; i++) {
        for (const task of [() => store.write([INSERT]), () => store.read(COUNT)]) {
          await assert.rejects(task, {
            code: "unavailable",
            message:
              `Cannot use database ${path}: the file was deleted or replaced while it was open; restart this process`,
          });
        }
      }
      await store.close();
      if (other) {
        await other.write([INSERT]); // closing the other store has not removed this one's log
        await other.close();
      }
      const again = await open({ path });
      const tables = await again.read({ sql: "SELECT count(*) FROM sqlite_schema" });
      assert.equal(tables.rows[0]![0], isReplaced ? 1n : 0n);
      if (isReplaced) assert.equal((await again.read(COUNT)).rows[0]![0], 1n);
      await again.close();
    }
  }));

Deno.test("no commit into a deleted or replaced file is acknowledged", () =>
  inFolder(async (folder) => {
    const path = join(folder, "purser.db");
    const clock = fixedClock(0);
    const store = await open({ path, clock });
    await store.write([CREATE]);
    await Deno.rename(path, `${path}.old`);
    for (let i = 0; i < 2; i++) {
      await assert.rejects(store.write([INSERT]), {
        code: "unavailable",
        message: /was deleted or replaced/,
      });
    }
    await assert.rejects(store.read(COUNT), { code: "unavailable" });
    await store.close();
  }));

Deno.test("the file is checked at each commit, and once a second by reads", () =>
  inFolder(async (folder) => {
    const clock = fixedClock(0);
    const identify = await (await import("../../kernel/files.ts")).files.loadIdentify();
    let checks = 0;
    const store = await open({
      path: join(folder, "purser.db"),
      clock,
      identify: (path) => (checks++, identify(path)),
    });
    await store.write([CREATE]);
    assert.equal(checks, 1 + 1);
    for (let i = 0; i < 100; i++) {
      await store.read(COUNT);
      clock.advance(30);
    }
    assert.equal(checks, 2 + 2);
    await store.close();
  }));

for (
  const [why, options, message] of [
    [
      "an SQLite that is too old",
      { driver: { ...sqlite, version: "3.51.2" } },
      /another process uses it, and with SQLite 3\.51\.2, .* 3\.51\.3 or newer is needed/,
    ],
    [
      "a network file system",
      { fileSystemOf: () => "nfs4" },
      /another process uses it, and it is on a network file system \(nfs4\), .* move it to a local disk/,
    ],
  ] as const
) {
  Deno.test(`${why} gets exclusive access, and a second process is refused with the reason`, () =>
    inFolder(async (folder) => {
      const path = join(folder, "purser.db");
      const first = await open({ path, ...options });
      assert.equal(first.isShared, false);
      for (const isWritten of [false, true]) {
        if (isWritten) await first.write([CREATE, INSERT]);
        await assert.rejects(open({ path, ...options }), (error) => {
          assert.ok(error instanceof StoreBusyError);
          assert.match(error.message, message);
          return true;
        });
        await assert.rejects(
          open({ path }),
          /kept it locked for 0.1 s; .*the Purser that needs exclusive access/,
        );
      }
      assert.equal((await first.read({ sql: "PRAGMA journal_mode" })).rows[0]![0], "wal");
      await first.close();
      const shared = await open({ path });
      assert.equal((await shared.read(COUNT)).rows[0]![0], 1n);
      await assert.rejects(open({ path, ...options }), message);
      await shared.close();
      await (await open({ path, ...options })).close();
    }));
}

Deno.test("a process that commits continuously pauses every 20 ms while another writes too", () =>
  inFolder(async (folder) => {
    let now = 0;
    const pauses: number[] = [];
    const clock = {
      monotonic: () => now,
      sleep: (delayMs: number) => (pauses.push(now), now += delayMs, Promise.resolve()),
    };
    const path = join(folder, "purser.db");
    const store = await open({ path, clock, onCommit: () => now += 5 });
    const other = await open({ path });
    await store.write([CREATE]);
    // More than shares a commit each, so that the queue is never empty.
    const burst = (units: number) =>
      Promise.all(Array.from({ length: units }, () => store.write(Array(3_000).fill(INSERT))));
    await burst(20);
    assert.deepEqual(pauses, [], "it is alone");
    await other.write([INSERT]);
    now += 1_000;
    await burst(20);
    assert.ok(pauses.length >= 3, `${pauses.length} pauses`);
    const known = pauses.length;
    for (let i = 0; i < 10; i++) {
      await store.write([INSERT]);
      now += 10; // a pause of its own
    }
    assert.equal(pauses.length, known);
    now += 10_000;
    await burst(20);
    assert.equal(pauses.length, known, "the other has not written for long");
    await other.close();
    await store.close();
  }));

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
