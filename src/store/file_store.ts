import { dirname } from "node:path";
import { setImmediate } from "node:timers";
import type { Durability } from "../config.ts";
import { messageOf, PurserError } from "../errors.ts";
import { connectNatively, type NativeConnection, type NativeStatement } from "./native_driver.ts";
import { toRowSql } from "./each_row.ts";
import {
  ConstraintError,
  type ResultSet,
  type SqlValue,
  type Statement,
  type Store,
  toBindable,
} from "./store.ts";
import { type SetWriter, WriteQueue, type WriteUnit } from "./write_queue.ts";

/** The database file is owned by another process (SQLITE_BUSY). */
export class StoreBusyError extends PurserError {
  constructor(message: string, options?: { cause?: unknown }) {
    super("unavailable", message, options);
    this.name = "StoreBusyError";
  }
}

interface Prepared {
  statement: NativeStatement;
  columns: string[];
  reader: boolean;
}

const MAX_PREPARED = 200;
const MAX_BUSY_RETRIES = 3;

/** Not prepared: a statement keeps a closed connection alive, and with it the lock, until it is collected. */
function runPragma(connection: NativeConnection, text: string): void {
  connection.exec(`PRAGMA ${text}`);
}

/**
 * A database in a local file (or in memory): one connection, exclusive to this process, WAL once it writes, statements
 * prepared once. Everything is synchronous inside, so a unit never sees another's half.
 */
export class FileStore implements Store {
  readonly kind: "file" | "memory";
  /** Undefined after it was thrown away, until it is needed again. */
  #connection: NativeConnection | undefined;
  #prepared = new Map<string, Prepared>();
  /** Whether the connection writes to a log beside the file. */
  #isLogged = false;
  #queue: WriteQueue;
  #isClosed = false;

  private constructor(
    private readonly path: string,
    private readonly durability: Durability,
    private readonly connect: (path: string) => NativeConnection,
  ) {
    this.kind = path === ":memory:" ? "memory" : "file";
    this.#connection = this.#open();
    this.#queue = new WriteQueue((units) => this.#commit(units), (task) => setImmediate(task));
  }

  /** @throws {StoreBusyError} another process owns the file */
  static open(options: {
    path: string;
    durability: Durability;
    connect?: (path: string) => NativeConnection;
  }): FileStore {
    return new FileStore(options.path, options.durability, options.connect ?? connectNatively);
  }

  read(statement: Statement): Promise<ResultSet> {
    return this.#attempt(() => this.#execute(statement));
  }

  readAll(statements: readonly Statement[]): Promise<ResultSet[]> {
    return this.#attempt(() => statements.map((statement) => this.#execute(statement)));
  }

  readStale(statements: readonly Statement[]): Promise<ResultSet[]> {
    return this.readAll(statements);
  }

  write(statements: readonly Statement[]): Promise<ResultSet[]> {
    return this.#queue.push(statements);
  }

  writeInSet<Item, Result>(writer: SetWriter<Item, Result>, item: Item): Promise<Result> {
    return this.#queue.pushInSet(writer, item);
  }

  get waitingWrites(): number {
    return this.#queue.waiting;
  }

  async freeBytes(): Promise<number | undefined> {
    if (this.kind === "memory") return undefined;
    try {
      const { statfs } = await import("node:fs/promises");
      const { bavail, bsize } = await statfs(dirname(this.path));
      return bavail * bsize;
    } catch {
      return undefined; // a system that does not tell
    }
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    await this.#queue.close(new PurserError("unavailable", "Cannot write: the database is closed"));
    this.#release();
  }

  #open(): NativeConnection {
    let connection: NativeConnection | undefined;
    try {
      connection = this.connect(this.path);
      connection.defaultSafeIntegers(true);
      const pragma = (text: string) => runPragma(connection!, text);
      if (this.kind === "file") pragma("locking_mode = EXCLUSIVE");
      pragma(`synchronous = ${this.durability === "full" ? "FULL" : "NORMAL"}`);
      pragma("temp_store = MEMORY");
      pragma("cache_size = -32768");
      // Takes the lock now: a second process has to find out here, not in the middle of its work.
      connection.exec("BEGIN EXCLUSIVE");
      connection.exec("COMMIT");
      this.#isLogged = this.kind === "memory";
      return connection;
    } catch (error) {
      if (connection) this.#shut(connection);
      throw this.#explain(error);
    }
  }

  #live(): NativeConnection {
    return this.#connection ??= this.#open();
  }

  #release(): void {
    const connection = this.#connection;
    this.#connection = undefined;
    this.#prepared.clear();
    if (connection) this.#shut(connection);
  }

  /**
   * Leaves WAL before closing: the driver keeps a closed connection alive until its statements are
   * collected, and one in WAL would keep the file locked for as long.
   */
  #shut(connection: NativeConnection): void {
    try {
      if (connection.inTransaction) connection.exec("ROLLBACK");
      if (this.kind === "file") {
        runPragma(connection, "journal_mode = DELETE");
        runPragma(connection, "locking_mode = NORMAL");
        connection.exec("SELECT 1 FROM sqlite_schema LIMIT 1");
      }
    } catch {
      // All that was committed is in the log beside the file; the next owner takes it from there.
    } finally {
      connection.close();
    }
  }

  /** Enters WAL with the first write: to go there and back takes the disk longer than a command that only reads. */
  #log(connection: NativeConnection): void {
    if (this.#isLogged) return;
    runPragma(connection, "journal_mode = WAL");
    this.#isLogged = true;
  }

  #commit(units: readonly WriteUnit[]): ResultSet[][] {
    for (let attempt = 0;; attempt++) {
      try {
        const connection = this.#live();
        this.#log(connection);
        connection.exec("BEGIN IMMEDIATE");
        const results = units.map((unit) => unit.map((statement) => this.#execute(statement)));
        connection.exec("COMMIT");
        return results;
      } catch (error) {
        const explained = this.#explain(error);
        if (this.#isWorn(explained)) {
          this.#release();
          if (attempt < MAX_BUSY_RETRIES) continue;
        }
        this.#rollBack();
        throw explained;
      }
    }
  }

  #rollBack(): void {
    try {
      if (this.#connection?.inTransaction) this.#connection.exec("ROLLBACK");
    } catch {
      // A connection that can't roll back is not to be trusted again. In memory it is all there is.
      if (this.kind === "file") this.#release();
    }
  }

  /** After SQLITE_BUSY a connection of this driver fails for good: "SQL statements in progress". */
  #isWorn(error: Error): boolean {
    return this.kind === "file" && error instanceof StoreBusyError;
  }

  // deno-lint-ignore require-await -- turns what is thrown into a rejection
  async #attempt<T>(task: () => T): Promise<T> {
    if (this.#isClosed) throw new PurserError("unavailable", "Cannot read: the database is closed");
    for (let attempt = 0;; attempt++) {
      try {
        return task();
      } catch (error) {
        const explained = this.#explain(error);
        if (!this.#isWorn(explained)) throw explained;
        this.#release(); // the next use opens a new one, if it can be opened by then
        if (attempt >= MAX_BUSY_RETRIES) throw explained;
      }
    }
  }

  #execute({ sql, args = [], each }: Statement): ResultSet {
    if (each) {
      const prepared = this.#prepare(toRowSql(sql, each));
      const rows: SqlValue[][] = [];
      for (const row of each.rows) {
        if (prepared.reader) rows.push(...prepared.statement.all(row.map(toBindable)));
        else prepared.statement.run(row.map(toBindable));
      }
      return { columns: prepared.columns, rows };
    }
    const prepared = this.#prepare(sql);
    const values = args.map(toBindable);
    if (prepared.reader) return { columns: prepared.columns, rows: prepared.statement.all(values) };
    prepared.statement.run(values);
    return { columns: [], rows: [] };
  }

  #prepare(sql: string): Prepared {
    let prepared = this.#prepared.get(sql);
    if (!prepared) {
      const statement = this.#live().prepare(sql) as NativeStatement;
      const reader = statement.reader;
      if (reader) statement.raw(true);
      prepared = { statement, reader, columns: reader ? statement.columns().map((c) => c.name) : [] };
      if (this.#prepared.size >= MAX_PREPARED) {
        this.#prepared.delete(this.#prepared.keys().next().value!);
      }
    } else {
      this.#prepared.delete(sql); // moved to the end: the map's order is the order of last use
    }
    this.#prepared.set(sql, prepared);
    return prepared;
  }

  #explain(error: unknown): Error {
    const code = String((error as { code?: unknown })?.code ?? "");
    const where = this.kind === "memory" ? "the database in memory" : `database ${this.path}`;
    if (error instanceof PurserError) return error;
    if (code.startsWith("SQLITE_BUSY") || code.startsWith("SQLITE_LOCKED")) {
      return new StoreBusyError(`Cannot open ${where}: another process owns it`, { cause: error });
    }
    if (code.startsWith("SQLITE_CONSTRAINT")) return new ConstraintError(messageOf(error), { cause: error });
    if (code === "SQLITE_FULL") {
      return new PurserError("unavailable", `Cannot write to ${where}: the disk is full`, { cause: error });
    }
    if (code === "SQLITE_NOTADB" || code.startsWith("SQLITE_CORRUPT")) {
      return new PurserError("internal", `Cannot use ${where}: it is damaged or no database`, {
        cause: error,
      });
    }
    const isNotOpened = code.startsWith("SQLITE_CANTOPEN") || code.startsWith("SQLITE_READONLY");
    // The driver has no code for some of them, such as a folder in which nothing can be made.
    if (isNotOpened || /^ConnectionFailed|\breadonly database\b/.test(messageOf(error))) {
      return new PurserError("unavailable", `Cannot open ${where}: ${messageOf(error)}`, { cause: error });
    }
    return error instanceof Error ? error : new Error(String(error));
  }
}
