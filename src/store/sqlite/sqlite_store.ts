import type { Durability } from "../../contract/values.ts";
import { type Clock, systemClock } from "../../kernel/clock.ts";
import { PurserError } from "../../kernel/errors.ts";
import { files, type IdentifyFile } from "../../kernel/files/files.ts";
import { explainBusy, explainSqliteError, retryWhileBusy, StoreBusyError } from "./sqlite_errors.ts";
import {
  createInstanceLocks,
  type FileSystemOf,
  FileWatch,
  loadFileSystemOf,
  whyExclusive,
} from "./database_file.ts";
import { FullDisk } from "./full_disk.ts";
import {
  type Connected,
  inTransaction,
  loadSqlite,
  PreparedStatements,
  type SqliteDriver,
  WRITER_PRAGMAS,
} from "./sqlite_driver.ts";
import type { ReadThreads, WriteThread } from "./database_threads.ts";
import { WriterPause } from "./writer_pause.ts";
import type { ResultSet, Statement, Store } from "../store.ts";
import { type InstanceLocks, noInstanceLocks } from "../instance_locks.ts";
import { type CommitHow, type ScrubValue, WriteQueue } from "../write_queue.ts";
import type { SetWriter, WriteUnit } from "../write_unit.ts";

/** The options of `SqliteStore.open`. Optional ones are for tests. */
export interface SqliteOptions {
  /** The file, or `:memory:`. */
  path: string;
  durability: Durability;
  clock?: Pick<Clock, "monotonic" | "sleep">;
  /** A number from 0 up to 1. */
  random?: () => number;
  /** The longest wait of a read or a commit for other processes. */
  busyTimeoutMs?: number;
  driver?: SqliteDriver;
  identify?: IdentifyFile;
  fileSystemOf?: FileSystemOf;
  /** Called after each commit. */
  onCommit?: () => void;
  /** Maps each value that is written. */
  scrub?: ScrubValue;
  /** Long queries over a large file, and the commits of long sets, run in threads of their own. */
  hasThreads?: boolean;
}

type Action = "open" | "read" | "write to";

/** Modules of Node are loaded when they are used: each takes a command that only reads several milliseconds. */
const runNext = (task: () => void) =>
  (globalThis as unknown as { setImmediate(task: () => void): void }).setImmediate(task);

const BUSY_TIMEOUT_MS = 10_000;

/** A write that is this close to its deadline is not retried alone: otherwise many would fail one after the other. */
const NEARLY_OVER_MS = 50;

/** The pages of a file that can be read whole without a noticeable wait for other requests: 16 MiB. */
const SMALL_FILE_PAGES = 4_096;

/**
 * A database in a local file, shared with any number of other processes, or in memory. One connection, in WAL mode from
 * the first write on, with statements prepared once. No transaction stays open across an await, so a unit never sees half
 * of another; waiting for other processes does not block the event loop.
 */
export class SqliteStore implements Store {
  readonly kind: "file" | "memory";
  readonly engine = "sqlite";
  readonly instances: InstanceLocks;
  #options: SqliteOptions;
  #driver: SqliteDriver;
  #clock: Pick<Clock, "monotonic" | "sleep">;
  /** Undefined after a failed rollback, until the next use. */
  #connected: Connected | undefined;
  #identify: IdentifyFile | undefined;
  #fileSystemOf: FileSystemOf | undefined;
  #watch: FileWatch | undefined;
  /** The reason why the file is not shared, if it isn't. */
  #whyExclusive: string | undefined;
  #isWal = false;
  #queue: WriteQueue;
  #pause: WriterPause;
  #disk = new FullDisk();
  #threads: Promise<ReadThreads> | undefined;
  #writeThread: WriteThread | undefined;
  #isClosed = false;

  private constructor(options: SqliteOptions, driver: SqliteDriver) {
    this.#options = options;
    this.#driver = driver;
    this.#clock = options.clock ?? systemClock;
    this.kind = options.path === ":memory:" ? "memory" : "file";
    this.instances = this.kind === "file" ? createInstanceLocks(options.path) : noInstanceLocks;
    this.#pause = new WriterPause({ clock: this.#clock, readVersion: () => this.#dataVersion() });
    this.#queue = new WriteQueue(
      (units, _until, since, how) => this.#commit(units, since, how),
      runNext,
      () => this.isShared ? this.#pause.between() : undefined,
      {
        clock: this.#clock,
        mayRetry: (error, since) =>
          this.isShared && isBusy(error) && this.#remainingMs(since) > NEARLY_OVER_MS,
      },
      options.scrub,
    );
  }

  /**
   * @throws {StoreBusyError} another process has kept the file locked until the deadline
   * @throws {PurserError} `unavailable` or `internal` when the file can't be opened or is not a database
   */
  static async open(options: SqliteOptions): Promise<SqliteStore> {
    const store = new SqliteStore(options, options.driver ?? await loadSqlite());
    await store.#open();
    return store;
  }

  get isShared(): boolean {
    return this.kind === "file" && this.#whyExclusive === undefined;
  }

  read(statement: Statement): Promise<ResultSet> {
    return this.#readWhenFree((statements) => statements.query(statement));
  }

  async readLong(statement: Statement): Promise<ResultSet> {
    const { path } = this.#options;
    if (!this.#options.hasThreads || !this.isShared) return await this.read(statement);
    const { rows } = await this.read({ sql: "PRAGMA page_count" });
    if (Number(rows[0]![0]) <= SMALL_FILE_PAGES) return await this.read(statement);
    this.#threads ??= import("./database_threads.ts").then((module) =>
      new module.ReadThreads(path, this.#clock)
    );
    try {
      return await (await this.#threads).query(statement);
    } catch (error) {
      if ((error as Error).name !== "NoThreadError") throw explainSqliteError(error, "read", path);
      this.#options = { ...this.#options, hasThreads: false };
      return await this.read(statement);
    }
  }

  async readAll(statements: readonly Statement[], { isLong = false } = {}): Promise<ResultSet[]> {
    // Its cache has the pages of the last set.
    const thread = isLong ? this.#writeThread : undefined;
    if (thread) {
      const read = await this.#inThread("read", () => thread.readAll(statements));
      if (read) return read;
    }
    return await this.#readWhenFree((prepared) => {
      const query = () => statements.map((statement) => prepared.query(statement));
      return statements.length < 2 || this.kind === "memory" ? query() : this.#inTransaction("BEGIN", query);
    });
  }

  write(statements: readonly Statement[]): Promise<ResultSet[]> {
    return this.#queue.push(statements);
  }

  writeInSet<Item, Result>(writer: SetWriter<Item, Result>, item: Item): Promise<Result> {
    return this.#queue.pushInSet(writer, item);
  }

  get writes(): WriteQueue {
    return this.#queue;
  }

  async freeBytes(): Promise<number | undefined> {
    if (this.kind === "memory") return undefined;
    try {
      const [{ realpath, stat, statfs }, { dirname }] = await Promise.all([
        import("node:fs/promises"),
        import("node:path"),
      ]);
      const path = await realpath(this.#options.path);
      const { bavail, bsize } = await statfs(dirname(path));
      const walBytes = await stat(`${path}-wal`).then(({ size }) => size, () => 0);
      return Math.max(0, bavail * bsize - walBytes); // the next checkpoint may grow the file by the WAL
    } catch {
      return undefined; // not every system supports it
    }
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    await this.#queue.close(new PurserError("unavailable", "Cannot write: the database is closed"));
    await (await this.#threads)?.close();
    await this.#writeThread?.close();
    this.#disconnect();
    await this.instances.close();
  }

  async #open(): Promise<void> {
    if (this.kind === "file") {
      this.#identify = this.#options.identify ?? await files.loadIdentify();
      this.#fileSystemOf = this.#options.fileSystemOf ?? await loadFileSystemOf();
    }
    await this.#whenFree("open", () => {});
  }

  /** The PRAGMAs are one call, and the last of them read the file: a locked file is detected here. */
  #connect(): Connected {
    const { path } = this.#options;
    const connection = this.#driver.connect(path);
    try {
      if (this.kind === "file" && !this.#watch) {
        this.#watch = new FileWatch(path, this.#identify!, this.#clock);
        const { device } = this.#watch;
        const fileSystem = device === undefined ? undefined : this.#fileSystemOf!({ path, device });
        this.#whyExclusive = whyExclusive({ version: this.#driver.version, fileSystem });
      }
      const isExclusive = this.#whyExclusive !== undefined;
      connection.exec([
        ...(isExclusive ? ["PRAGMA locking_mode = EXCLUSIVE"] : []),
        WRITER_PRAGMAS,
        `PRAGMA synchronous = ${this.#options.durability === "full" ? "FULL" : "NORMAL"}`,
        ...(isExclusive ? ["BEGIN EXCLUSIVE", "COMMIT"] : []),
      ].join(";"));
      return { connection, statements: new PreparedStatements(connection) };
    } catch (error) {
      connection.close();
      throw error;
    }
  }

  #disconnect(): void {
    this.#connected?.connection.close();
    this.#connected = undefined;
  }

  async #readWhenFree<T>(task: (statements: PreparedStatements) => T): Promise<T> {
    return await this.#whenFree("read", () => task(this.#connected!.statements));
  }

  /** Changes with each commit of another connection; undefined where it can't be read. */
  #dataVersion(): unknown {
    try {
      return this.#connected?.statements.execute({ sql: "PRAGMA data_version" }).rows[0]?.[0];
    } catch {
      return undefined; // the next commit reports why
    }
  }

  #commit(
    units: readonly WriteUnit[],
    since: number,
    { mayLose, isLong }: CommitHow,
  ): ResultSet[][] | Promise<ResultSet[][]> {
    if (isLong && this.#options.hasThreads && this.isShared && !this.#disk.wasFull) {
      return this.#commitInThread(units, since, mayLose);
    }
    return this.#whenFree("write to", () => {
      this.#enableWal();
      const { connection, statements } = this.#connected!;
      const commit = () =>
        this.#inTransaction(
          "BEGIN IMMEDIATE",
          () => units.map((unit) => unit.map((each) => statements.execute(each))),
        );
      const isUnflushed = mayLose && this.kind === "file" && this.#options.durability === "full";
      const results = this.#disk.watch(connection, () => isUnflushed ? this.#unflushed(commit) : commit());
      this.#watch?.checkNow();
      this.#options.onCommit?.();
      this.#pause.commitEnded();
      return results;
    }, since);
  }

  /** Commits in a thread, or in this one where there is none. */
  async #commitInThread(
    units: readonly WriteUnit[],
    since: number,
    mayLose: boolean,
  ): Promise<ResultSet[][]> {
    if (!this.#isWal) await this.#whenFree("write to", () => this.#enableWal());
    if (!this.#writeThread) {
      const { WriteThread } = await import("./database_threads.ts");
      this.#writeThread = new WriteThread(this.#options.path);
    }
    const thread = this.#writeThread;
    const isFlushed = !mayLose && this.#options.durability === "full";
    const results = await this.#inThread("write to", () => thread.commit(units, isFlushed), since);
    // Without its thread a set may be committed: a later one, which its guard refuses, finds it.
    if (!results) return await this.#commit(units, since, { mayLose, isLong: false });
    this.#watch?.checkNow();
    this.#options.onCommit?.();
    this.#pause.commitEnded({ isOwn: true });
    return results;
  }

  /** Does work in the thread that writes, and retries it while another process holds a lock; undefined once there is no thread. */
  async #inThread<T>(
    action: Action,
    work: () => Promise<T>,
    since = this.#clock.monotonic(),
  ): Promise<T | undefined> {
    const attempt = async () => {
      this.#watch?.check();
      try {
        return await work();
      } catch (error) {
        this.#disk.note(error);
        throw explainSqliteError(error, action, this.#options.path);
      }
    };
    try {
      return await this.#retry(action, attempt, since);
    } catch (error) {
      if ((error as Error).name !== "NoThreadError") throw error;
      this.#options = { ...this.#options, hasThreads: false };
      this.#writeThread = undefined;
      return undefined;
    }
  }

  /** Commits without a flush of the log: the next commit with one covers it. Only a power loss undoes it. */
  #unflushed<T>(commit: () => T): T {
    const { connection } = this.#connected!;
    connection.exec("PRAGMA synchronous = NORMAL");
    try {
      return commit();
    } finally {
      // A failed rollback has closed the connection; the next one begins with its own setting.
      if (this.#connected?.connection === connection) connection.exec("PRAGMA synchronous = FULL");
    }
  }

  /** Returns the rest of the busy timeout of a unit that has waited since then. */
  #remainingMs(since: number): number {
    return since + (this.#options.busyTimeoutMs ?? BUSY_TIMEOUT_MS) - this.#clock.monotonic();
  }

  /** Enables WAL with the first write: a read-only command does not change the file. */
  #enableWal(): void {
    if (this.#isWal || this.kind === "memory") return;
    this.#connected!.statements.execute({ sql: "PRAGMA journal_mode = WAL" });
    this.#isWal = true;
  }

  #inTransaction<T>(begin: "BEGIN" | "BEGIN IMMEDIATE", task: () => T): T {
    return inTransaction(this.#connected!, begin, task, () => {
      // In memory, closing would lose all data.
      if (this.kind === "file") this.#disconnect();
    });
  }

  /** Runs a task in this turn, or retries it while another process holds a lock that it needs, until the busy timeout. */
  #whenFree<T>(action: Action, task: () => T, since = this.#clock.monotonic()): T | Promise<T> {
    try {
      return this.#attempt(action, task);
    } catch (error) {
      if (!isBusy(error) || this.kind === "memory") throw error;
      return this.#retry(action, () => this.#attempt(action, task), since);
    }
  }

  async #retry<T>(action: Action, attempt: () => T | Promise<T>, since: number): Promise<T> {
    const { path, random = Math.random, busyTimeoutMs = BUSY_TIMEOUT_MS } = this.#options;
    const clock = this.#clock;
    try {
      return await retryWhileBusy(attempt, isBusy, { clock, random, timeoutMs: this.#remainingMs(since) });
    } catch (error) {
      if (!isBusy(error)) throw error;
      const whyExclusive = this.#whyExclusive;
      throw await explainBusy({ action, path, whyExclusive, timeoutMs: busyTimeoutMs, cause: error });
    }
  }

  #attempt<T>(action: Action, task: () => T): T {
    try {
      if (this.#isClosed && action === "read") {
        throw new PurserError("unavailable", "Cannot read: the database is closed");
      }
      this.#watch?.check();
      this.#connected ??= this.#connect();
      return task();
    } catch (error) {
      throw explainSqliteError(error, action, this.#options.path);
    }
  }
}

function isBusy(error: unknown): boolean {
  return error instanceof StoreBusyError;
}
