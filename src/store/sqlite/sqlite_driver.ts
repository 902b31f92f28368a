import type { DatabaseSync } from "node:sqlite";
import { PurserError } from "../../kernel/errors.ts";
import { type ResultSet, type SqlValue, type Statement, toBindable } from "../store.ts";
import { toSqlite } from "../dialect.ts";
import { countRowValues, type EachRow, ROWS_AT_ONCE, toManyRowsSql, toRowSql } from "../each_row.ts";

/**
 * The oldest Node of each major version whose SQLite module returns rows as arrays and binds `?1` by its number
 * (https://github.com/nodejs/node/pull/59350). Versions between these lack it; every newer major version has it.
 */
export const OLDEST_NODE: readonly (readonly [major: number, minor: number])[] = [[22, 20], [24, 7]];

/** The part of a `node:sqlite` statement that the store uses. Rows are arrays, integers are bigint. */
export interface SqliteStatement {
  all(...values: SqlValue[]): SqlValue[][];
  iterate(...values: SqlValue[]): IterableIterator<SqlValue[]>;
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

/** A connection, and its statements. */
export interface Connected {
  connection: SqliteConnection;
  statements: PreparedStatements;
}

/** The settings of a connection that writes, besides those of its file. */
export const WRITER_PRAGMAS = [
  "PRAGMA foreign_keys = ON",
  "PRAGMA recursive_triggers = ON", // so that INSERT OR REPLACE fires the triggers that refuse DELETE
  "PRAGMA temp_store = MEMORY",
  `PRAGMA journal_size_limit = ${16 * 1024 * 1024}`,
  "PRAGMA wal_autocheckpoint = 4000", // pages: each checkpoint flushes the file
  "PRAGMA cache_size = -8192", // KiB; an import of 200,000 calls takes no less time with four times as much
].join(";");

/** Runs a task in a transaction. Where it can't be rolled back, `close` is called, which does it. */
export function inTransaction<T>(
  { connection, statements }: Connected,
  begin: "BEGIN" | "BEGIN IMMEDIATE",
  task: () => T,
  close: () => void,
): T {
  try {
    statements.execute({ sql: begin });
    const result = task();
    statements.execute({ sql: "COMMIT" });
    return result;
  } catch (error) {
    try {
      // Some errors, such as a full disk, have rolled back already.
      if (connection.isTransaction) connection.exec("ROLLBACK");
    } catch {
      close();
    }
    throw error;
  }
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
    return toConnection(database);
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

/** Returns the connection of an open database. */
export function toConnection(database: DatabaseSync): SqliteConnection {
  return {
    get isTransaction() {
      return database.isTransaction;
    },
    exec: (sql) => database.exec(sql),
    prepare(sql) {
      const statement = database.prepare(toSqlite(sql));
      statement.setReadBigInts(true);
      statement.setReturnArrays(true);
      return statement as unknown as SqliteStatement;
    },
    close: () => database.close(),
  };
}

/**
 * Copies the state that a database has at this moment to an empty file, also while other processes write. Deno does it in this
 * turn, however long it takes. By pages, since Deno refuses VACUUM INTO to a program without all permissions.
 */
export async function copyDatabase(path: string, to: string): Promise<void> {
  const { backup, DatabaseSync } = await withoutSqliteWarning(() => import("node:sqlite"));
  const database = new DatabaseSync(path, { readOnly: true });
  try {
    database.exec("PRAGMA busy_timeout = 10000; BEGIN; SELECT 1 FROM sqlite_schema"); // the state is that of the first read
    await backup(database, to);
  } finally {
    database.close();
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
  // Deno prints no such warning, and loading its `process` takes longer than all else here.
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

interface Prepared {
  statement: SqliteStatement;
  /** Empty for a statement that returns no rows. */
  columns: string[];
  /** True if it is known to be read-only. */
  isQuery: boolean;
  /** The number of values of each row that it binds, if it is run for rows. */
  rowValues?: number;
}

const MAX_PREPARED = 200;

/** The statements of one connection, prepared once each, in an LRU cache. */
export class PreparedStatements {
  /** In order of last use. */
  #prepared = new Map<string, Prepared>();

  constructor(private readonly connection: SqliteConnection) {}

  execute({ sql, args = [], each, onlyIf }: Statement): ResultSet {
    if (onlyIf && this.execute(onlyIf).rows.length === 0) return { columns: [], rows: [] };
    if (!each) return run(this.#prepare(sql), args.map(toBindable));
    const { columns, rows } = each;
    const results: ResultSet[] = [];
    let start = 0;
    for (const count of ROWS_AT_ONCE) {
      for (; rows.length - start >= count; start += count) {
        const prepared = this.#prepare(toManyRowsSql(sql, each, count));
        const values = new Array<SqlValue>(count * columns.length);
        for (let row = start, at = 0; row < start + count; row++) {
          for (const value of rows[row]!) values[at++] = toBindable(value);
        }
        results.push(run(prepared, values));
      }
    }
    if (start < rows.length || start === 0) {
      const rowSql = toRowSql(sql, each);
      const prepared = this.#prepare(rowSql);
      prepared.rowValues ??= countRowValues(rowSql, each);
      results.push(runForEach(prepared, { columns, rows: start === 0 ? rows : rows.slice(start) }));
    }
    if (results.length === 1) return results[0]!;
    return { columns: results[0]!.columns, rows: results.flatMap((result) => result.rows) };
  }

  /** Executes a read-only statement; refuses any other before it runs. */
  query({ sql, args = [] }: Pick<Statement, "sql" | "args">): ResultSet {
    // Checked before it is prepared: some PRAGMAs take effect by being prepared.
    if (!this.#prepared.get(sql)?.isQuery && !this.#isQuery(sql)) {
      throw new PurserError("internal", `Cannot read: the statement is not a query: ${sql.slice(0, 80)}`);
    }
    const prepared = this.#prepare(sql);
    prepared.isQuery = true;
    return run(prepared, args.map(toBindable));
  }

  #prepare(sql: string): Prepared {
    let prepared = this.#prepared.get(sql);
    if (prepared) {
      if (this.#prepared.size < MAX_PREPARED / 2) return prepared; // none is dropped yet
      this.#prepared.delete(sql);
    } else {
      const statement = this.connection.prepare(sql);
      prepared = { statement, columns: namesOf(statement), isQuery: false };
      if (this.#prepared.size >= MAX_PREPARED) this.#prepared.delete(this.#prepared.keys().next().value!);
    }
    this.#prepared.set(sql, prepared);
    return prepared;
  }

  /** `PRAGMA query_only` would do, but each change of it makes SQLite prepare every statement again. */
  #isQuery(sql: string): boolean {
    if (/^\s*(SELECT|VALUES|EXPLAIN)\b/i.test(sql)) return true;
    // WITH begins a query or one of these; a name or a function that reads like them is left to SQLite.
    if (/^\s*WITH\b/i.test(sql) && !/\b(INSERT|REPLACE|UPDATE|DELETE)\b/i.test(sql)) return true;
    if (/^\s*PRAGMA\b/i.test(sql)) return QUERY_PRAGMA.test(sql);
    const program = this.connection.prepare(`EXPLAIN ${sql}`).all();
    // A query returns rows and begins no write transaction: P2 of that instruction is 0 for one that reads.
    return program.some(([, opcode]) => opcode === "ResultRow") &&
      !program.some(([, opcode, , p2]) => opcode === "Transaction" && p2 !== 0n);
  }
}

/** PRAGMAs that return a setting or check the file; without a value they change nothing. */
const QUERY_PRAGMA =
  /^\s*PRAGMA\s+(\w+_(mode|check|list|version|count|size|keys|timeout|triggers)|synchronous)\s*;?\s*$/i;

/** Runs a statement with values that are bindable. */
function run(prepared: Prepared, values: readonly SqlValue[]): ResultSet {
  const { statement, columns } = prepared;
  if (columns.length === 0) {
    statement.run(...values);
    return { columns, rows: [] };
  }
  const rows = statement.all(...values);
  // Another process may have changed the schema since: SQLite has prepared the statement again.
  if (rows.length > 0 && rows[0]!.length !== columns.length) prepared.columns = namesOf(statement);
  return { columns: prepared.columns, rows };
}

/** Runs a statement once for each row. */
function runForEach(prepared: Prepared, { columns, rows }: EachRow): ResultSet {
  const results: SqlValue[][] = [];
  const { rowValues } = prepared;
  for (const row of rows) {
    const values = rowValues === columns.length ? row : row.slice(0, rowValues);
    const result = run(prepared, values.map(toBindable));
    if (result.rows.length > 0) results.push(...result.rows);
  }
  return { columns: prepared.columns, rows: results };
}

function namesOf(statement: SqliteStatement): string[] {
  return statement.columns().map(({ name }) => name);
}
