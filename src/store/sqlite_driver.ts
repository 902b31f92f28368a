import type { SqlValue } from "./store.ts";

/** The part of a `node:sqlite` statement that the store uses. Rows are arrays, integers are bigint. */
export interface SqliteStatement {
  all(...values: SqlValue[]): SqlValue[][];
  run(...values: SqlValue[]): unknown;
  columns(): { name: string }[];
}

/** The part of a `node:sqlite` connection that the store uses. */
export interface SqliteConnection {
  /** Whether a transaction is open. */
  readonly isTransaction: boolean;
  exec(sql: string): void;
  prepare(sql: string): SqliteStatement;
  /** Finalizes all statements and releases all locks. */
  close(): void;
}

/** SQLite as the runtime has it built in. */
export interface SqliteDriver {
  /** The version of SQLite, as in `3.53.2`. */
  readonly version: string;
  /** Opens a connection that never waits for a lock: waiting inside SQLite would block the event loop. */
  connect(path: string, options?: { isReadOnly?: boolean }): SqliteConnection;
}

let loaded: Promise<SqliteDriver> | undefined;

/** Loads `node:sqlite`, once per process. */
export function loadSqlite(): Promise<SqliteDriver> {
  return loaded ??= load();
}

async function load(): Promise<SqliteDriver> {
  const { DatabaseSync } = await withoutSqliteWarning(() => import("node:sqlite"));
  const connect: SqliteDriver["connect"] = (path, { isReadOnly = false } = {}) => {
    const database = new DatabaseSync(path, { readOnly: isReadOnly });
    // Set by a PRAGMA: the option `timeout` is not applied on every runtime.
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
    return { version: String(memory.prepare("SELECT sqlite_version()").all()[0]![0]), connect };
  } finally {
    memory.close();
  }
}

/** Suppresses the one line that Node prints about its SQLite module: stderr belongs to the commands. */
async function withoutSqliteWarning<T>(task: () => Promise<T>): Promise<T> {
  // Deno prints no such warning, and reading its `process` takes it longer than all else here.
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
