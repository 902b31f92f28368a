import assert from "node:assert/strict";
import { join } from "node:path";
import { PurserError } from "../errors.ts";
import { createIds } from "../ids.ts";
import { systemClock } from "../clock.ts";
import { ConstraintError, openStore, type Store } from "./mod.ts";
import { FileStore, StoreBusyError } from "./file_store.ts";
import { connectNatively, type NativeConnection } from "./native_driver.ts";
import { migrate } from "./migrate.ts";

const INSERT = { sql: "INSERT INTO t VALUES (?)", args: [1] };
const COUNT = { sql: "SELECT count(*) FROM t" };

async function inFolder(body: (folder: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "purser-file-" });
  try {
    await body(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

function open(path: string, connect?: (path: string) => NativeConnection): FileStore {
  return FileStore.open({ path, durability: "normal", connect });
}

function openMigrated(path: string): Promise<Store> {
  return openStore({
    location: { kind: "file", path },
    durability: "full",
    remoteTimeoutMs: 1_000,
    clock: systemClock,
    ids: createIds(systemClock),
  });
}

/** A connection that `interfere` can make fail: it hears of every `exec` before it happens. */
function fault(interfere: (sql: string) => void): (path: string) => NativeConnection {
  return (path) => {
    const connection = connectNatively(path);
    return {
      get inTransaction() {
        return connection.inTransaction;
      },
      prepare: (sql) => connection.prepare(sql),
      exec(sql) {
        interfere(sql);
        return connection.exec(sql);
      },
      defaultSafeIntegers: (toggle) => connection.defaultSafeIntegers(toggle),
      close: () => connection.close(),
    };
  };
}

function sqliteError(code: string): Error {
  return Object.assign(new Error(`it says ${code}`), { code });
}

Deno.test("a database file is owned by one opener at a time, and free again once that closes", () =>
  inFolder(async (folder) => {
    const path = join(folder, "purser.db");
    const first = await openMigrated(path);
    await assert.rejects(
      openMigrated(path),
      (error) =>
        error instanceof StoreBusyError && error.message.includes(path) &&
        /another process/.test(error.message),
    );
    await first.write([{ sql: "CREATE TABLE t (a)" }, INSERT]);
    await first.close();
    for (let i = 1n; i <= 3n; i++) {
      const again = await openMigrated(path);
      assert.equal((await again.read(COUNT)).rows[0]![0], i);
      await again.write([INSERT]);
      await again.close();
    }
  }));

Deno.test("a database whose owner was killed opens again and has what was committed", () =>
  inFolder(async (folder) => {
    const path = join(folder, "purser.db");
    const script = join(folder, "owner.ts");
    await Deno.writeTextFile(
      script,
      `import { FileStore } from ${JSON.stringify(import.meta.resolve("./file_store.ts"))};
const store = FileStore.open({ path: ${JSON.stringify(path)}, durability: "full" });
await store.write([{ sql: "CREATE TABLE t (a)" }]);
for (let i = 0; ; i++) {
  await store.write([{ sql: "INSERT INTO t VALUES (?)", args: [i] }]);
  console.log(i);
}
`,
    );
    const config = new URL("../../deno.json", import.meta.url).pathname;
    const owner = new Deno.Command(Deno.execPath(), {
      args: ["run", "-A", "--no-check", "--config", config, script],
      stdout: "piped",
      stderr: "inherit",
      stdin: "null",
    }).spawn();
    let acknowledged = "";
    const reader = owner.stdout.pipeThrough(new TextDecoderStream()).getReader();
    while (!acknowledged.includes("\n20\n")) {
      const { value, done } = await reader.read();
      if (done) break;
      acknowledged += value;
    }
    assert.throws(() => open(path), StoreBusyError);
    owner.kill("SIGKILL");
    for (let next; !(next = await reader.read()).done;) acknowledged += next.value;
    await owner.status;
    const seen = acknowledged.split("\n").slice(0, -1).length;
    const store = open(path);
    const { rows } = await store.read({ sql: "SELECT count(*), max(a) FROM t" });
    assert.ok(rows[0]![0] as bigint >= BigInt(seen), `${rows[0]![0]} rows of ${seen} acknowledged`);
    assert.equal(rows[0]![0], rows[0]![1] as bigint + 1n);
    await store.close();
  }));

Deno.test("a connection that says BUSY is thrown away, and what it should have written is written", () =>
  inFolder(async (folder) => {
    for (const when of ["BEGIN IMMEDIATE", "COMMIT"]) {
      const path = join(folder, `${when}.db`);
      let failures = 0;
      let connections = 0;
      const store = open(path, (where) => {
        connections++;
        return fault((sql) => {
          if (sql === when && failures > 0) {
            failures--;
            throw sqliteError("SQLITE_BUSY");
          }
        })(where);
      });
      await store.write([{ sql: "CREATE TABLE t (a PRIMARY KEY)" }, { sql: "INSERT INTO t VALUES (0)" }]);
      await store.read(COUNT); // leaves prepared statements behind
      failures = 1;
      await store.write([INSERT]);
      assert.equal(connections, 2);
      assert.equal((await store.read(COUNT)).rows[0]![0], 2n);
      await assert.rejects(store.write([INSERT]), ConstraintError);
      await store.close();
    }
  }));

Deno.test("a database that stays BUSY is an error, and works again when it no longer is", () =>
  inFolder(async (folder) => {
    const path = join(folder, "purser.db");
    let isBusy = false;
    const store = open(
      path,
      fault((sql) => {
        if (isBusy && sql.startsWith("BEGIN ")) throw sqliteError("SQLITE_BUSY");
      }),
    );
    await store.write([{ sql: "CREATE TABLE t (a)" }]);
    isBusy = true;
    await assert.rejects(store.write([INSERT]), StoreBusyError);
    await assert.rejects(store.read(COUNT), StoreBusyError);
    isBusy = false;
    await store.write([INSERT]);
    assert.equal((await store.read(COUNT)).rows[0]![0], 1n);
    await store.close();
  }));

Deno.test("a database in memory is never thrown away: there is no other copy", async () => {
  let failures = 0;
  const store = FileStore.open({
    path: ":memory:",
    durability: "full",
    connect: fault((sql) => {
      if (failures > 0 && sql === "COMMIT") {
        failures--;
        throw sqliteError("SQLITE_LOCKED");
      }
    }),
  });
  await store.write([{ sql: "CREATE TABLE t (a)" }, INSERT]);
  failures = 1;
  await assert.rejects(store.write([INSERT]), StoreBusyError);
  await store.write([INSERT]);
  assert.equal((await store.read(COUNT)).rows[0]![0], 2n);
  await store.close();
});

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

Deno.test("the file is in WAL from the first write on, and synchronous as asked for", () =>
  inFolder(async (folder) => {
    for (const [durability, synchronous] of [["full", 2n], ["normal", 1n]] as const) {
      const store = FileStore.open({ path: join(folder, `${durability}.db`), durability });
      await store.write([{ sql: "CREATE TABLE t (a)" }]);
      assert.equal((await store.read({ sql: "PRAGMA journal_mode" })).rows[0]![0], "wal");
      assert.equal((await store.read({ sql: "PRAGMA synchronous" })).rows[0]![0], synchronous);
      assert.equal((await store.read({ sql: "PRAGMA locking_mode" })).rows[0]![0], "exclusive");
      await store.close();
    }
  }));

Deno.test("who only reads a file owns it as well, and writes nothing", () =>
  inFolder(async (folder) => {
    const path = join(folder, "purser.db");
    await (await openMigrated(path)).close();
    const before = await Deno.stat(path);
    const store = await openMigrated(path);
    await store.read({ sql: "SELECT count(*) FROM calls" });
    await assert.rejects(openMigrated(path), StoreBusyError);
    assert.deepEqual([...Deno.readDirSync(folder)].map((entry) => entry.name), ["purser.db"]);
    await store.close();
    assert.deepEqual((await Deno.stat(path)).mtime, before.mtime);
    await (await openMigrated(path)).close();
  }));

Deno.test("a full disk is a clear error that loses nothing, and passes with it", () =>
  inFolder(async (folder) => {
    const path = join(folder, "purser.db");
    let limit: ((pages: number) => void) | undefined;
    const store = open(path, (where) => {
      const connection = connectNatively(where);
      limit = (pages) => connection.exec(`PRAGMA max_page_count = ${pages}`);
      return connection;
    });
    await store.write([{ sql: "CREATE TABLE t (a)" }, { sql: "CREATE TABLE big (a)" }]);
    limit!(16);
    const big = { sql: "INSERT INTO big VALUES (zeroblob(1000000))" };
    for (let i = 0; i < 3; i++) {
      await assert.rejects(store.write([INSERT, big]), (error) => {
        assert.ok(error instanceof PurserError);
        assert.equal(error.code, "unavailable");
        assert.match(error.message, /the disk is full/);
        return true;
      });
    }
    await store.write([INSERT]); // what still fits is still written
    limit!(1_000_000);
    await store.write([INSERT, big]);
    assert.equal((await store.read(COUNT)).rows[0]![0], 2n);
    await store.close();
  }));

Deno.test("what is no database is refused by name, and not touched", () =>
  inFolder(async (folder) => {
    const path = join(folder, "letter.txt");
    const letter = "Dear purser, ".repeat(500);
    await Deno.writeTextFile(path, letter);
    await assert.rejects(openMigrated(path), (error) => {
      assert.ok(error instanceof PurserError);
      assert.match(error.message, new RegExp(`${path}.*damaged or no database`));
      return true;
    });
    assert.equal(await Deno.readTextFile(path), letter);
  }));

Deno.test("a folder in the place of a database is refused by name", () =>
  inFolder(async (folder) => {
    await assert.rejects(
      openMigrated(folder),
      (error) =>
        error instanceof PurserError && error.code === "unavailable" && error.message.includes(folder),
    );
  }));

Deno.test("a folder that can't be made is refused by name", () =>
  inFolder(async (folder) => {
    await Deno.writeTextFile(join(folder, "file"), "");
    const path = join(folder, "file", "purser.db");
    await assert.rejects(
      openMigrated(path),
      (error) => error instanceof PurserError && error.code === "unavailable" && error.message.includes(path),
    );
  }));

Deno.test({
  name: "a database file that can't be written is refused by name",
  ignore: Deno.build.os === "windows",
  fn: () =>
    inFolder(async (folder) => {
      const path = join(folder, "purser.db");
      await (await openMigrated(path)).close();
      await Deno.chmod(path, 0o400);
      // For root no file is read-only, so the driver is asked to take it so.
      const readOnly = (where: string) => {
        const connection = connectNatively(where);
        connection.exec("PRAGMA query_only = ON");
        return connection;
      };
      const isRoot = Deno.uid() === 0;
      await assert.rejects(
        async () =>
          isRoot ? open(path, readOnly).write([{ sql: "CREATE TABLE t (a)" }]) : await openMigrated(path),
        (error) =>
          error instanceof PurserError && error.code === "unavailable" && error.message.includes(path),
      );
    }),
});

Deno.test("a file that was cut short is refused or read, never crashed on", () =>
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

Deno.test("a failed open leaves the file to others", () =>
  inFolder(async (folder) => {
    const path = join(folder, "purser.db");
    const newer = await openMigrated(path);
    await newer.write([{ sql: "INSERT INTO purser_migrations VALUES (99, 'future', 'x', 1)" }]);
    await newer.close();
    for (let i = 0; i < 2; i++) await assert.rejects(openMigrated(path), /upgrade Purser/);
    const store = open(path);
    await store.write([{ sql: "DELETE FROM purser_migrations WHERE version = 99" }]);
    await store.close();
    await (await openMigrated(path)).close();
  }));

Deno.test("more kinds of statements than are kept prepared still all work", () =>
  inFolder(async (folder) => {
    const store = open(join(folder, "purser.db"));
    await store.write([{ sql: "CREATE TABLE t (a)" }]);
    for (let round = 0; round < 2; round++) {
      for (let i = 0; i < 300; i++) {
        assert.equal((await store.read({ sql: `SELECT ${i} + ?`, args: [1] })).rows[0]![0], BigInt(i + 1));
      }
    }
    await store.close();
  }));

Deno.test("a database of another program is refused before anything is written into it", async () => {
  const directory = await Deno.makeTempDir();
  const path = `${directory}/other.db`;
  const other = FileStore.open({ path, durability: "normal" });
  await other.write([{ sql: "CREATE TABLE theirs (id INTEGER)" }]);
  await other.close();
  const store = FileStore.open({ path, durability: "normal" });
  await assert.rejects(migrate(store, { now: () => 0 }), {
    code: "conflict",
    message: /not Purser's.*theirs/,
  });
  const { rows } = await store.read({ sql: "SELECT name FROM sqlite_schema" });
  assert.deepEqual(rows, [["theirs"]]);
  await store.close();
  await Deno.remove(directory, { recursive: true });
});

Deno.test("a file that another program has held in WAL can be opened as soon as that program ends", () =>
  inFolder(async (folder) => {
    const path = join(folder, "purser.db");
    await (await openMigrated(path)).close();
    const script = join(folder, "hold.ts");
    await Deno.writeTextFile(
      script,
      `import { connectNatively } from ${JSON.stringify(import.meta.resolve("./native_driver.ts"))};
       const connection = connectNatively(${JSON.stringify(path)});
       connection.exec("PRAGMA journal_mode = WAL");
       connection.exec("SELECT count(*) FROM sqlite_schema");
       console.log("held");
       await Deno.stdin.read(new Uint8Array(1));`,
    );
    const config = new URL("../../deno.json", import.meta.url).pathname;
    const holder = new Deno.Command(Deno.execPath(), {
      args: ["run", "-A", "--quiet", "--config", config, script],
      stdin: "piped",
      stdout: "piped",
    }).spawn();
    const reader = holder.stdout.getReader();
    assert.equal(new TextDecoder().decode((await reader.read()).value), "held\n");
    for (let i = 0; i < 3; i++) assert.throws(() => open(path), StoreBusyError);
    await holder.stdin.close();
    while (!(await reader.read()).done);
    await holder.status;
    const store = open(path);
    await store.write([{ sql: "CREATE TABLE t (a)" }]);
    await store.close();
    assert.deepEqual([...Deno.readDirSync(folder)].map(({ name }) => name).sort(), ["hold.ts", "purser.db"]);
  }));
