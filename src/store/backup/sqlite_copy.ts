import type { Clock } from "../../kernel/clock.ts";
import { PurserError } from "../../kernel/errors.ts";
import { files } from "../../kernel/files/files.ts";
import { realDatabasePath } from "../sqlite/database_file.ts";
import { ReadThreads } from "../sqlite/database_threads.ts";
import { loadSqlite, PreparedStatements, type SqliteConnection } from "../sqlite/sqlite_driver.ts";
import { explainSqliteError, kindOfSqliteError, type SqliteErrorKind } from "../sqlite/sqlite_errors.ts";
import type { ResultSet, Statement } from "../store.ts";
import type { Copyable, Filling } from "./copyable.ts";
import { draftOf, publishInPlace, publishNew, refuseTaken, stampOf, syncFile } from "./draft_file.ts";
import { readContent } from "./verify.ts";

type Driver = Awaited<ReturnType<typeof loadSqlite>>;

/** The options of a `SqliteCopy`. */
export interface FileOptions {
  path: string;
  /** The name in messages: `database PATH`, `backup PATH`. */
  name: string;
  clock: Clock;
  signal: AbortSignal;
}

/** The rows that a server is sent at once: within the default time for a request, it takes many times as many. */
const ROWS_OF_PART = 500;
const CHARACTERS_OF_PART = 512 * 1024;

/** Opens a file for `SqliteCopy`; it need not exist if it is only filled. */
export async function openFile(options: FileOptions): Promise<SqliteCopy> {
  return new SqliteCopy(options, await loadSqlite());
}

/** A database in a local file. It is read in a thread of its own, so that an abort ends also what takes long. */
export class SqliteCopy implements Copyable {
  readonly name: string;
  #threads: ReadThreads;

  constructor(private readonly options: FileOptions, private readonly driver: Driver) {
    this.name = options.name;
    this.#threads = new ReadThreads(options.path, options.clock);
  }

  async read(statement: Statement): Promise<ResultSet> {
    return await this.#unlessAborted("read", this.options.path, () => this.#threads.query(statement));
  }

  async copyTo(file: string): Promise<void> {
    await this.#unlessAborted(
      "copy",
      `${this.options.path} to ${file}`,
      () => this.#threads.copyTo(file),
    );
    const copy = this.driver.connect(file);
    try {
      copy.exec("PRAGMA journal_mode = DELETE"); // else each reader makes a log beside it
    } finally {
      copy.close();
    }
  }

  async #unlessAborted<T>(action: string, what: string, task: () => Promise<T>): Promise<T> {
    const { signal } = this.options;
    const aborted = Promise.withResolvers<never>();
    const abort = () => aborted.reject(signal.reason);
    signal.addEventListener("abort", abort, { once: true });
    try {
      signal.throwIfAborted();
      return await Promise.race([task(), aborted.promise]);
    } catch (error) {
      throw explainSqliteError(error, action, what);
    } finally {
      signal.removeEventListener("abort", abort);
    }
  }

  /** Returns the columns of a table. */
  async columnsOf(table: string): Promise<{ name: string; isInteger: boolean }[]> {
    const { rows } = await this.read({ sql: `SELECT name, type FROM pragma_table_info('${table}')` });
    return rows.map(([name, type]) => ({ name: String(name), isInteger: type === "INTEGER" }));
  }

  /** Yields the texts that a query returns, one in each row, in parts of bounded size. It is run in this thread. */
  *partsOf(sql: string): Generator<string[]> {
    const connection = this.driver.connect(this.options.path, { isReadOnly: true });
    try {
      let texts: string[] = [];
      let characters = 0;
      for (const [text] of connection.prepare(sql).iterate() as IterableIterator<[string]>) {
        texts.push(text);
        characters += text.length;
        if (texts.length < ROWS_OF_PART && characters < CHARACTERS_OF_PART) continue;
        yield texts;
        texts = [];
        characters = 0;
      }
      if (texts.length > 0) yield texts;
    } finally {
      connection.close();
    }
  }

  /** The file is replaced only after the new one is verified, and while no other process has it open. */
  async fillFrom(
    backup: SqliteCopy,
    { mayReplace, verify, now }: Filling,
  ): Promise<string | undefined> {
    const path = await realDatabasePath(this.options.path);
    if (path === await realDatabasePath(backup.options.path)) {
      throw new PurserError("conflict", `Cannot restore ${this.name}: it is the backup itself`);
    }
    const kind = await files.kindOf(path).catch(() => undefined);
    if (kind && !kind.isFile) {
      throw new PurserError("conflict", `Cannot restore ${this.name}: it isn't a file; name a file`);
    }
    if (!kind) await refuseTaken(path);
    const replaced = kind && this.#takeExclusively(path);
    try {
      const used = replaced && await this.#readContent(replaced);
      if (used && !mayReplace) throw hasContent(this.name);
      const draft = await draftOf(path, "restore");
      try {
        await backup.copyTo(draft.path);
        const copy = new SqliteCopy({ ...this.options, path: draft.path }, this.driver);
        await verify(copy).finally(() => copy.close());
        this.options.signal.throwIfAborted();
        await syncFile(draft.path);
        const keepAs = used ? `${path}.replaced-${stampOf(now)}` : undefined;
        await (kind ? publishInPlace(draft.path, path, keepAs) : publishNew(draft.path, path));
        return keepAs;
      } finally {
        await draft.remove();
      }
    } finally {
      replaced?.close();
    }
  }

  /** Locks a database against all others, and moves its log into it: SQLite would apply the log to the new file. */
  #takeExclusively(path: string): SqliteConnection {
    const connection = this.driver.connect(path);
    try {
      connection.prepare("PRAGMA journal_mode = DELETE").all(); // refused while another connection is open
      connection.exec("BEGIN EXCLUSIVE");
      return connection;
    } catch (error) {
      connection.close();
      const reason = TAKEN[kindOfSqliteError(error)!];
      if (reason === undefined) throw explainSqliteError(error, "restore", path);
      throw new PurserError("conflict", `Cannot restore ${this.name}: ${reason}`, { cause: error });
    }
  }

  async #readContent(connection: SqliteConnection): Promise<string | undefined> {
    const statements = new PreparedStatements(connection);
    const reads = { read: (statement: Statement) => Promise.resolve(statements.query(statement)) };
    return (await readContent(reads, `Cannot restore ${this.name}`)).used;
  }

  async close(): Promise<void> {
    await this.#threads.close();
  }
}

const TAKEN: Partial<Record<SqliteErrorKind, string>> = {
  busy: "another process has it open; end every process that uses it first",
  damaged: "the file is damaged or is not a database; move it away first",
};

/** Writes a database into an empty file, which is of no use if that fails. */
export async function writeFile(
  file: string,
  write: (connection: SqliteConnection) => Promise<void>,
): Promise<void> {
  const connection = (await loadSqlite()).connect(file);
  try {
    connection.exec("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -65536");
    await write(connection);
    connection.exec("PRAGMA journal_mode = DELETE");
  } catch (error) {
    throw explainSqliteError(error, "write", file);
  } finally {
    connection.close();
  }
}

/** Returns the error for a database that is replaced only on request. */
export function hasContent(name: string): PurserError {
  return new PurserError(
    "conflict",
    `Cannot restore ${name}: it has content; name another database, or replace it by --replace`,
  );
}
