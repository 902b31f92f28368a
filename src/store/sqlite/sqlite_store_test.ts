import assert from "node:assert/strict";
import { join } from "node:path";
import { inDirectory as inFolder } from "../../../tests/harness/in_directory.ts";
import { eagerClock } from "../../../tests/harness/eager_clock.ts";
import { fixedClock } from "../../kernel/clock.ts";
import { StoreBusyError } from "./sqlite_errors.ts";
import {
  COUNT,
  CREATE,
  fault,
  INSERT,
  open,
  sqlite,
  sqliteError,
} from "../../../tests/harness/sqlite_faults.ts";

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
    const identify = await (await import("../../kernel/files/files.ts")).files.loadIdentify();
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
