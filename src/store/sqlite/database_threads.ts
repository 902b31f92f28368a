import { availableParallelism } from "node:os";
import { isMainThread, type MessagePort, parentPort, Worker, workerData } from "node:worker_threads";
import type { Clock } from "../../kernel/clock.ts";
import { PurserError } from "../../kernel/errors.ts";
import type { ResultSet, Statement } from "../store.ts";
import type { WriteUnit } from "../write_unit.ts";
import {
  type Connected,
  copyDatabase,
  inTransaction,
  loadSqlite,
  PreparedStatements,
  WRITER_PRAGMAS,
} from "./sqlite_driver.ts";

/** The most queries at the same time; further ones wait. More queries than processors would only delay each other. */
const MAX_THREADS = Math.min(Math.max(availableParallelism(), 2), 4);

/** The time after which a thread without queries ends. A thread takes about 25 MB, and 60 ms to start: the last one stays. */
const IDLE_MS = 60_000;

/** The data that a thread is started with. Another thread that loads this module, such as a test's, has no such data. */
interface ThreadData {
  purserDatabase: string;
}

/** An error of SQLite as a thread sends it: its class would be lost. */
interface SentError {
  message: string;
  code?: unknown;
  errcode?: unknown;
}
type Answer = { results: ResultSet[][] } | { error: SentError };

/** Makes a thread close its connection and end. */
const END = "end";

/** The work of a thread: a query, a copy of the database into an empty file, or what a `WriteThread` does. */
type Task =
  | Statement
  | { copyTo: string }
  | { reads: readonly Statement[] }
  | { units: readonly WriteUnit[]; isFlushed: boolean };

/** No thread could be started, or one ended by itself. */
export class NoThreadError extends Error {
  override name = "NoThreadError";
}

/** A thread with a connection of its own, which does one task at a time. */
class DatabaseThread {
  #worker: Worker;
  #asked: PromiseWithResolvers<Answer> | undefined;
  #ended: Promise<void> | undefined;
  hasEnded = false;
  /** Grows with each task. */
  tasks = 0;

  /** `onEnd` is called when it has ended by itself. */
  constructor(path: string, onEnd: (thread: DatabaseThread) => void) {
    this.#worker = new Worker(new URL(import.meta.url), {
      workerData: { purserDatabase: path } satisfies ThreadData,
    });
    const end = (cause?: unknown) => {
      this.hasEnded = true;
      this.#asked?.reject(new NoThreadError("A thread of the database has ended", { cause }));
      onEnd(this);
    };
    this.#worker.on("message", (answer: Answer) => this.#asked?.resolve(answer)).on("error", end)
      .on("exit", () => end());
  }

  async run(task: Task): Promise<ResultSet[][]> {
    this.tasks++;
    const answer = await this.#ask(task);
    if ("error" in answer) throw Object.assign(new Error(answer.error.message), answer.error);
    return answer.results;
  }

  /** Resolves when its connection is closed, for each caller; a task that runs is given up. */
  end(): Promise<void> {
    return this.#ended ??= this.#end();
  }

  async #end(): Promise<void> {
    if (this.hasEnded) return;
    this.hasEnded = true;
    if (!this.#asked) await this.#ask(END).catch(() => {}); // it has ended already
    void this.#worker.terminate();
  }

  async #ask(message: Task | typeof END): Promise<Answer> {
    this.#asked = Promise.withResolvers();
    this.#worker.postMessage(message);
    try {
      return await this.#asked.promise;
    } finally {
      this.#asked = undefined;
    }
  }
}

/** Runs queries over a database file in threads, which are started when they are needed; after a minute one is left. */
export class ReadThreads {
  readonly #threads = new Set<DatabaseThread>();
  #idle: DatabaseThread[] = [];
  /** Those that wait for a thread. */
  #waiting: PromiseWithResolvers<void>[] = [];
  #isClosed = false;

  constructor(private readonly path: string, private readonly clock: Pick<Clock, "sleep">) {}

  /** The threads that run, or wait for a query. */
  get count(): number {
    return this.#threads.size;
  }

  /**
   * @throws {NoThreadError} the query was not run
   * @throws an error of SQLite, by its `code` and `errcode`
   */
  async query({ sql, args }: Statement): Promise<ResultSet> {
    return (await this.#run({ sql, args }))[0]![0]!;
  }

  /** Copies the database, as it is at one moment, into an empty file. Throws as `query` does. */
  async copyTo(file: string): Promise<void> {
    await this.#run({ copyTo: file });
  }

  async #run(task: Task): Promise<ResultSet[][]> {
    const thread = await this.#take();
    try {
      if (this.#isClosed) throw closed();
      return await thread.run(task);
    } catch (error) {
      if (this.#isClosed) throw closed();
      throw error;
    } finally {
      this.#giveBack(thread);
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const waiting of this.#waiting.splice(0)) waiting.resolve();
    await Promise.all([...this.#threads].map((thread) => thread.end()));
  }

  async #take(): Promise<DatabaseThread> {
    while (!this.#isClosed) {
      const thread = this.#idle.pop() ?? (this.#threads.size < MAX_THREADS ? this.#start() : undefined);
      if (thread && !thread.hasEnded) return thread;
      if (thread) continue;
      const waiting = Promise.withResolvers<void>();
      this.#waiting.push(waiting);
      await waiting.promise;
    }
    throw closed();
  }

  #start(): DatabaseThread {
    try {
      const thread = new DatabaseThread(this.path, (thread) => this.#remove(thread));
      this.#threads.add(thread);
      return thread;
    } catch (cause) {
      throw new NoThreadError("Cannot start a thread to read the database", { cause });
    }
  }

  #giveBack(thread: DatabaseThread): void {
    if (thread.hasEnded) return this.#remove(thread);
    this.#idle.push(thread);
    void this.#endIfIdle(thread, thread.tasks);
    this.#waiting.shift()?.resolve();
  }

  /** Removes a thread that has ended, so that a waiting query can start another one. */
  #remove(thread: DatabaseThread): void {
    if (!this.#threads.delete(thread)) return;
    this.#idle = this.#idle.filter((one) => one !== thread);
    this.#waiting.shift()?.resolve();
  }

  async #endIfIdle(thread: DatabaseThread, tasks: number): Promise<void> {
    await this.clock.sleep(IDLE_MS);
    if (thread.tasks !== tasks || thread.hasEnded) return;
    if ([...this.#threads].every((each) => each === thread || each.hasEnded)) return;
    await thread.end();
    this.#remove(thread);
  }
}

/**
 * Commits long sets in a thread, so that this one serves others meanwhile, and reads what they begin with. It starts when it is
 * first used.
 */
export class WriteThread {
  #thread: DatabaseThread | undefined;
  /** The end of the task before: a thread does one at a time. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(private readonly path: string) {}

  /** Reads by one consistent view. Throws as `commit` does. */
  async readAll(reads: readonly Statement[]): Promise<ResultSet[]> {
    return (await this.#run({ reads }))[0]!;
  }

  /**
   * Commits units in one transaction, which waits for the disk if it `isFlushed`.
   *
   * @throws {NoThreadError} the thread has ended, perhaps after the commit
   * @throws an error of SQLite, by its `code` and `errcode`; nothing is committed
   */
  async commit(units: readonly WriteUnit[], isFlushed: boolean): Promise<ResultSet[][]> {
    return await this.#run({ units, isFlushed });
  }

  async close(): Promise<void> {
    await this.#last;
    await this.#thread?.end();
  }

  #run(task: Task): Promise<ResultSet[][]> {
    const done = this.#last.then(() => this.#runNow(task));
    this.#last = done.catch(() => {});
    return done;
  }

  async #runNow(task: Task): Promise<ResultSet[][]> {
    try {
      this.#thread ??= new DatabaseThread(this.path, () => {});
    } catch (cause) {
      throw new NoThreadError("Cannot start a thread to write the database", { cause });
    }
    if (this.#thread.hasEnded) throw new NoThreadError("The thread that writes the database has ended");
    return await this.#thread.run(task);
  }
}

function closed(): PurserError {
  return new PurserError("unavailable", "Cannot read: the database is closed");
}

/** The work of a thread. */
async function serveTasks(path: string, port: MessagePort): Promise<void> {
  const { connect } = await loadSqlite();
  let connected: Connected | undefined;
  const open = (isReadOnly: boolean, pragmas: string) => {
    const connection = connect(path, { isReadOnly });
    connection.exec(pragmas);
    return { connection, statements: new PreparedStatements(connection) };
  };
  // Here a wait for a lock holds up no other request.
  const reader = () =>
    connected ??= open(
      true,
      "PRAGMA busy_timeout = 10000; PRAGMA temp_store = MEMORY; PRAGMA cache_size = -16384",
    );
  const writer = () => connected ??= open(false, WRITER_PRAGMAS);
  const close = () => {
    connected?.connection.close();
    connected = undefined;
  };
  const perform = async (task: Task | typeof END): Promise<ResultSet[][]> => {
    if (task === END) close();
    else if ("sql" in task) return [[reader().statements.query(task)]];
    else if ("copyTo" in task) await copyDatabase(path, task.copyTo);
    else if ("reads" in task) {
      const { statements } = writer();
      return inTransaction(
        writer(),
        "BEGIN",
        () => [task.reads.map((each) => statements.query(each))],
        close,
      );
    } else {
      const { connection, statements } = writer();
      connection.exec(`PRAGMA synchronous = ${task.isFlushed ? "FULL" : "NORMAL"}`);
      const commit = () => task.units.map((unit) => unit.map((each) => statements.execute(each)));
      return inTransaction(writer(), "BEGIN IMMEDIATE", commit, close);
    }
    return [];
  };
  const answer = async (task: Task | typeof END): Promise<Answer> => {
    try {
      return { results: await perform(task) };
    } catch (error) {
      const { message, code, errcode } = error as SentError;
      return { error: { message, code, errcode } };
    }
  };
  port.on("message", async (task: Task | typeof END) => port.postMessage(await answer(task)));
}

const data = workerData as Partial<ThreadData> | null;
if (!isMainThread && parentPort && data?.purserDatabase !== undefined) {
  await serveTasks(data.purserDatabase, parentPort);
}
