import { DatabaseSync } from "node:sqlite";

/** The location of a benchmark's database, and its durability. */
export type Storage = "full" | "normal" | "memory";

/** Returns the path of a database in a folder, or `:memory:`. */
export function pathFor(storage: Storage, directory: string, name: string): string {
  return storage === "memory" ? ":memory:" : `${directory}/${name}.db`;
}

/** Opens a database as Purser's files are: WAL, shared by processes. */
export function openBare(path: string, storage: Storage): DatabaseSync {
  const database = new DatabaseSync(path);
  if (storage === "memory") return database;
  database.exec("PRAGMA journal_mode = WAL");
  database.exec(`PRAGMA synchronous = ${storage}`);
  return database;
}
