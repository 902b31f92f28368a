import { createRequire } from "node:module";
import type { SqlValue } from "./store.ts";

/** What is used of the driver's statement. */
export interface NativeStatement {
  /** Whether it gives rows. */
  readonly reader: boolean;
  /** Rows as arrays from now on. */
  raw(toggle: boolean): unknown;
  run(args: SqlValue[]): unknown;
  all(args: SqlValue[]): SqlValue[][];
  columns(): { name: string }[];
}

/** What is used of the driver's connection. */
export interface NativeConnection {
  readonly inTransaction: boolean;
  prepare(sql: string): unknown;
  exec(sql: string): unknown;
  /** 64-bit integers come as `bigint`. */
  defaultSafeIntegers(toggle: boolean): unknown;
  close(): unknown;
}

/** What is used of the native code of `libsql`: functions, most of which take their object as `this`. */
export interface NativeCode {
  databaseOpen(
    path: string,
    token: string,
    cipher: string,
    key: string,
    timeout: number,
    remoteKey: string,
  ): object;
  databaseInTransaction(database: object): boolean;
  databasePrepareSync(this: object, sql: string): object;
  databaseExecSync(this: object, sql: string): void;
  databaseDefaultSafeIntegers(this: object, toggle: boolean): void;
  databaseClose(this: object): void;
  statementIsReader(this: object): boolean;
  statementRaw(this: object, toggle: boolean): void;
  statementRun(this: object, args: SqlValue[]): unknown;
  statementColumns(this: object): { name: string }[];
  statementRowsSync(this: object, args: SqlValue[]): object;
  /** Fills `into` with the next rows; past the last one it leaves what is there. */
  rowsNext(this: object, into: (SqlValue[] | undefined)[]): void;
}

/** The packages of the native code that may be for this machine. The first that loads is. */
function packagesFor({ platform, arch }: { platform: string; arch: string }): string[] {
  if (platform === "linux") return [`@libsql/linux-${arch}-gnu`, `@libsql/linux-${arch}-musl`];
  return [platform === "win32" ? `@libsql/win32-${arch}-msvc` : `@libsql/${platform}-${arch}`];
}

/**
 * The native code, loaded by itself. What `libsql` has around it finds out at length which machine this is, and needs much
 * of what stands for Node: together that took as long as all else of a short command. Undefined where it is not found, or
 * not the one that is known here.
 */
export function loadNativeCode(): NativeCode | undefined {
  try {
    const require = createRequire(import.meta.resolve("libsql"));
    for (const name of packagesFor(globalThis.process)) {
      try {
        const code = require(name) as NativeCode;
        return NAMES.every((name) => typeof code[name] === "function") ? code : undefined;
      } catch {
        // Another C library's.
      }
    }
  } catch {
    // A runtime that resolves in another way: the package itself knows how.
  }
}

const NAMES = [
  "databaseOpen",
  "databaseInTransaction",
  "databasePrepareSync",
  "databaseExecSync",
  "databaseDefaultSafeIntegers",
  "databaseClose",
  "statementIsReader",
  "statementRaw",
  "statementRun",
  "statementColumns",
  "statementRowsSync",
  "rowsNext",
] as const satisfies (keyof NativeCode)[];

/** The driver asks for the name of a cipher, also where nothing is encrypted. */
const CIPHER = "aes256cbc";

/** How many rows come over at once. */
const BATCH = 100;

/** Opens a database with the native code alone. */
export function openWith(code: NativeCode, path: string): NativeConnection {
  const database = code.databaseOpen(path, "", CIPHER, "", 0, "");
  return {
    get inTransaction() {
      return code.databaseInTransaction(database);
    },
    prepare: (sql) => statementOf(code, code.databasePrepareSync.call(database, sql)),
    exec: (sql) => code.databaseExecSync.call(database, sql),
    defaultSafeIntegers: (toggle) => code.databaseDefaultSafeIntegers.call(database, toggle),
    close: () => code.databaseClose.call(database),
  };
}

function statementOf(code: NativeCode, statement: object): NativeStatement {
  return {
    get reader() {
      return code.statementIsReader.call(statement);
    },
    raw: (toggle) => code.statementRaw.call(statement, toggle),
    run: (args) => code.statementRun.call(statement, args),
    columns: () => code.statementColumns.call(statement),
    all(args) {
      const rows = code.statementRowsSync.call(statement, args);
      const all: SqlValue[][] = [];
      for (;;) {
        const batch: (SqlValue[] | undefined)[] = new Array(BATCH).fill(undefined);
        code.rowsNext.call(rows, batch);
        for (const row of batch) {
          if (row === undefined) return all;
          all.push(row);
        }
      }
    },
  };
}

const code = loadNativeCode();
const Database = code ? undefined : (await import("libsql")).default;

/** Opens the native driver without waiting for locks: a wait would stop the event loop. */
export function connectNatively(path: string): NativeConnection {
  return code ? openWith(code, path) : new Database!(path, { timeout: 0 }) as unknown as NativeConnection;
}
