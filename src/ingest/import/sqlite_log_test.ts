import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { files } from "../../kernel/files/files.ts";
import { openDatabase, stampOfDatabase } from "./sqlite_log.ts";

const sync = await files.loadFilesSync();

/** Calls `use` with a folder, and the database of an agent in it. */
async function withDatabase(use: (folder: string, path: string, agent: DatabaseSync) => Promise<void>) {
  const folder = await Deno.makeTempDir();
  const path = `${folder}/my #1 50% log?.db`;
  const agent = new DatabaseSync(path);
  agent.exec("PRAGMA journal_mode=WAL; CREATE TABLE message (id TEXT, at INTEGER)");
  agent.exec("INSERT INTO message VALUES ('a', 1), ('b', 9007199254740993)");
  try {
    await use(folder, path, agent);
  } finally {
    if (agent.isOpen) agent.close();
    await Deno.remove(folder, { recursive: true });
  }
}

const namesIn = (folder: string) => Array.from(Deno.readDirSync(folder), ({ name }) => name).sort();

async function readAll(path: string) {
  await using db = await openDatabase(sync, path);
  return { tables: db.tables(), rows: [...db.rows("SELECT * FROM message WHERE at > ?", 0)] };
}

const ROWS = [{ id: "a", at: 1 }, { id: "b", at: 9007199254740993n }];
const ALL = { tables: ["message"], rows: ROWS.map((row) => Object.assign(Object.create(null), row)) };

Deno.test("a SQLite log is read while its agent has it open and writes, and never makes it wait", async () => {
  await withDatabase(async (_, path, agent) => {
    agent.exec("BEGIN IMMEDIATE; INSERT INTO message VALUES ('c', 3)");
    assert.deepEqual(await readAll(path), ALL, "what isn't committed isn't read");
    agent.exec("COMMIT");
    const before = stampOfDatabase(sync, path);
    {
      await using db = await openDatabase(sync, path);
      const first = [...db.rows("SELECT count(*) AS n FROM message")];
      agent.exec("INSERT INTO message VALUES ('d', 4)");
      assert.deepEqual([...db.rows("SELECT count(*) AS n FROM message")], first, "one view of the data");
    }
    assert.notDeepEqual(stampOfDatabase(sync, path), before, "a commit changes its stamp");
  });
});

Deno.test("a SQLite log that no one has open is read without a file beside it", async () => {
  await withDatabase(async (folder, path, agent) => {
    agent.close();
    const before = namesIn(folder);
    assert.equal(before.length, 1);
    assert.deepEqual(await readAll(path), ALL);
    assert.deepEqual(namesIn(folder), before);
  });
});

Deno.test("a write-ahead log that a dead agent has left is read from a copy", async () => {
  await withDatabase(async (folder, path) => {
    const left = `${folder}/left.db`;
    await Deno.copyFile(path, left);
    await Deno.copyFile(`${path}-wal`, `${left}-wal`);
    const before = namesIn(folder);
    assert.deepEqual(await readAll(left), ALL);
    assert.deepEqual(namesIn(folder), before);
  });
});

Deno.test("a file that is no database is refused", async () => {
  const path = await Deno.makeTempFile();
  await Deno.writeTextFile(path, "not a database, although it has the name of one".repeat(30));
  await assert.rejects(readAll(path), /file is not a database/);
  await Deno.remove(path);
});
