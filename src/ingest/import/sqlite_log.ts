import type { DatabaseSync } from "node:sqlite";
import type { FilesSync, FileStamp } from "../../kernel/files/files.ts";
import { files } from "../../kernel/files/files.ts";
import type { LogDatabase } from "../logs/importer.ts";

/** The files of SQLite beside a database: its write-ahead log with the index of that, or what a transaction would restore. */
const WAL = "-wal";
const INDEX = "-shm";
const JOURNAL = "-journal";

/** Returns the stamp of a database with its write-ahead log: it differs after every commit. */
export function stampOfDatabase(files: FilesSync, path: string): FileStamp {
  const database = files.stampOf(path);
  const wal = stampIfAny(files, path + WAL);
  return {
    size: database.size + (wal?.size ?? 0),
    modifiedAt: Math.max(database.modifiedAt, wal?.modifiedAt ?? 0),
    inode: database.inode,
  };
}

/**
 * Opens a database that its agent may have open, as it is at one moment. The agent never waits for it, and no file is written
 * beside its own: a database with a write-ahead log in use is read beside its agent, any other one is copied, since SQLite
 * would lock it or create that log.
 *
 * @throws {Error} with "busy" in its message while a transaction of an agent without a write-ahead log is in progress
 */
export async function openDatabase(sync: FilesSync, path: string): Promise<LogDatabase & AsyncDisposable> {
  const { DatabaseSync } = await import("node:sqlite");
  const sizeOf = (suffix: string) => stampIfAny(sync, path + suffix)?.size ?? 0;
  const hasWal = sizeOf(WAL) > 0;
  if (hasWal && sizeOf(INDEX) > 0) return begin(new DatabaseSync(path, { readOnly: true }), async () => {});
  if (sizeOf(JOURNAL) > 0) throw new Error("the database is busy");
  const folder = await files.makeTemporaryFolder("purser_import_");
  const removeCopy = () => files.removeFolder(folder);
  try {
    const { copyFile } = await import("node:fs/promises");
    const copy = `${folder}/log.db`;
    await copyFile(path, copy);
    if (hasWal) await copyFile(path + WAL, copy + WAL);
    return begin(new DatabaseSync(copy), removeCopy);
  } catch (error) {
    await removeCopy();
    throw error;
  }
}

function begin(database: DatabaseSync, removeCopy: () => Promise<void>): LogDatabase & AsyncDisposable {
  // One view of the data; a reader of a write-ahead log blocks no writer.
  database.exec("BEGIN");
  return {
    *rows(sql, ...args) {
      const statement = database.prepare(sql);
      statement.setReadBigInts(true);
      for (const row of statement.iterate(...args)) yield withNumbers(row);
    },
    tables: () =>
      database.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all()
        .map(({ name }) => String(name)),
    async [Symbol.asyncDispose]() {
      database.close();
      await removeCopy();
    },
  };
}

/** Converts the integers of a row that a number can hold. */
function withNumbers(row: Record<string, unknown>): Record<string, unknown> {
  for (const [name, value] of Object.entries(row)) {
    if (typeof value === "bigint" && BigInt(Number(value)) === value) row[name] = Number(value);
  }
  return row;
}

function stampIfAny(files: FilesSync, path: string): FileStamp | undefined {
  try {
    return files.stampOf(path);
  } catch {
    return undefined;
  }
}
