import { PurserError } from "../../kernel/errors.ts";
import type { SqlValue } from "../store.ts";

/**
 * The oldest Node of each major version whose SQLite module returns rows as arrays and binds `?1` by its number
 * (https://github.com/nodejs/node/pull/59350). Versions between these lack it; every newer major version has it.
 */
export const OLDEST_NODE: readonly (readonly [major: number, minor: number])[] = [[22, 20], [24, 7]];

/** The part of a `node:sqlite` statement that the store uses. Rows are arrays, integers are bigint. */
export interface SqliteStatement {
  all(...values: SqlValue[]): SqlValue[][];
  run(...values: SqlValue[]): unknown;
  columns(): { name: string }[];
}

/** The part of a `node:sqlite` connection that the store uses. */
export interface SqliteConnection {
  /** True while a transaction is open. */
  readonly isTransaction: boolean;
  exec(sql: string): void;
  prepare(sql: string): SqliteStatement;
  /** Finalizes all statements and releases all locks. */
  close(): void;
}

/** The runtime's built-in SQLite. */
export interface SqliteDriver {
  /** The version of SQLite, such as `3.53.2`. */
  readonly version: string;
  /** Opens a connection that never waits for a lock: waiting inside SQLite would block the event loop. */
  connect(path: string, options?: { isReadOnly?: boolean }): SqliteConnection;
}

let loaded: Promise<SqliteDriver> | undefined;

/**
 * Loads `node:sqlite`, once per process.
 *
 * @throws {PurserError} `unsupported` where it is missing, or too old
 */
export function loadSqlite(): Promise<SqliteDriver> {
  return loaded ??= load();
}

async function load(): Promise<SqliteDriver> {
  const { DatabaseSync } = await withoutSqliteWarning(() => import("node:sqlite")).catch((error) => {
    throw tooOld(error);
  });
  const connect: SqliteDriver["connect"] = (path, { isReadOnly = false } = {}) => {
    const database = new DatabaseSync(path, { readOnly: isReadOnly });
    // By PRAGMA: not every runtime applies the option `timeout`.
    database.exec("PRAGMA busy_timeout = 0");
    return {
      get isTransaction() {
        return database.isTransaction;
      },
      exec: (sql) => database.exec(sql),
      prepare(sql) {
        const statement = database.prepare(sql);
        statement.setReadBigInts(true);
        statement.setReturnArrays(true);
        return statement as unknown as SqliteStatement;
      },
      close: () => database.close(),
    };
  };
  const memory = connect(":memory:");
  try {
    const [[version] = []] = memory.prepare("SELECT sqlite_version() WHERE ?1 = ?1").all(1);
    return { version: String(version), connect };
  } catch (error) {
    throw tooOld(error);
  } finally {
    memory.close();
  }
}

function tooOld(cause: unknown): PurserError {
  const versions = OLDEST_NODE.map((version) => version.join(".")).join(" or ");
  return new PurserError(
    "unsupported",
    `Cannot open a database: the SQLite module of this runtime is missing or too old; use Node ${versions} or newer`,
    { cause },
  );
}

/** Suppresses Node's warning about its SQLite module: stderr belongs to the commands. */
async function withoutSqliteWarning<T>(task: () => Promise<T>): Promise<T> {
  // Deno prints none, and takes longer to load its `process` than for all else here.
  if ("Deno" in globalThis) return await task();
  const { process } = globalThis;
  const emit = process.emitWarning;
  process.emitWarning = function (this: unknown, ...args: unknown[]) {
    const [warning, type] = args;
    if (type === "ExperimentalWarning" && /^SQLite\b/.test(String(warning))) return;
    Reflect.apply(emit, process, args);
  } as typeof emit;
  try {
    return await task();
  } finally {
    process.emitWarning = emit;
  }
}
