import { availableParallelism } from "node:os";
import { isMainThread, type MessagePort, parentPort, Worker, workerData } from "node:worker_threads";
import type { Clock } from "../../kernel/clock.ts";
import { PurserError } from "../../kernel/errors.ts";
import type { ResultSet, Statement } from "../store.ts";
import { copyDatabase, loadSqlite, PreparedStatements, type SqliteConnection } from "./sqlite_driver.ts";

/** The most queries at the same time; further ones wait. More queries than processors would only delay each other. */
const MAX_THREADS = Math.min(Math.max(availableParallelism(), 2), 4);

/** The time after which a thread without queries ends. A thread takes about 25 MB, and 60 ms to start: the last one stays. */
const IDLE_MS = 60_000;

/** The data that a thread is started with. Another thread that loads this module, such as a test's, has no such data. */
interface ThreadData {
  purserReads: string;
}

/** An error of SQLite as a thread sends it: its class would be lost. */
interface SentError {
  message: string;
  code?: unknown;
  errcode?: unknown;
}
type Answer = { result: ResultSet } | { error: SentError };

/** Makes a thread close its connection and end. */
const END = "end";

/** The work of a thread: a query, or a copy of the database into an empty file. */
type Task = Statement | { copyTo: string };

/** No thread could be started, or one ended by itself. */
export class NoThreadError extends Error {
  override name = "NoThreadError";
}

/** A thread with a connection of its own, which runs one query at a time. */
class ReadThread {
  #worker: Worker;
  #asked: PromiseWithResolvers<Answer> | undefined;
  #ended: Promise<void> | undefined;
  hasEnded = false;
  /** Grows with each query. */
  queries = 0;

  /** `onEnd` is called when it has ended by itself. */
  constructor(path: string, onEnd: (thread: ReadThread) => void) {
    this.#worker = new Worker(new URL(import.meta.url), {
      workerData: { purserReads: path } satisfies ThreadData,
    });
    const end = (cause?: unknown) => {
      this.hasEnded = true;
      this.#asked?.reject(new NoThreadError("A thread that reads the database has ended", { cause }));
      onEnd(this);
    };
    this.#worker.on("message", (answer: Answer) => this.#asked?.resolve(answer)).on("error", end)
      .on("exit", () => end());
  }

  async run(task: Task): Promise<ResultSet> {
    this.queries++;
    const answer = await this.#ask(task);
    if ("error" in answer) throw Object.assign(new Error(answer.error.message), answer.error);
    return answer.result;
  }

  /** Resolves when its connection is closed, for each caller; a query that runs is given up. */
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
  readonly #threads = new Set<ReadThread>();
  #idle: ReadThread[] = [];
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
    return await this.#run({ sql, args });
  }

  /** Copies the database, as it is at one moment, into an empty file. Throws as `query` does. */
  async copyTo(file: string): Promise<void> {
    await this.#run({ copyTo: file });
  }

  async #run(task: Task): Promise<ResultSet> {
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

  async #take(): Promise<ReadThread> {
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

  #start(): ReadThread {
    try {
      const thread = new ReadThread(this.path, (thread) => this.#remove(thread));
      this.#threads.add(thread);
      return thread;
    } catch (cause) {
      throw new NoThreadError("Cannot start a thread to read the database", { cause });
    }
  }

  #giveBack(thread: ReadThread): void {
    if (thread.hasEnded) return this.#remove(thread);
    this.#idle.push(thread);
    void this.#endIfIdle(thread, thread.queries);
    this.#waiting.shift()?.resolve();
  }

  /** Removes a thread that has ended, so that a waiting query can start another one. */
  #remove(thread: ReadThread): void {
    if (!this.#threads.delete(thread)) return;
    this.#idle = this.#idle.filter((one) => one !== thread);
    this.#waiting.shift()?.resolve();
  }

  async #endIfIdle(thread: ReadThread, queries: number): Promise<void> {
    await this.clock.sleep(IDLE_MS);
    if (thread.queries !== queries || thread.hasEnded) return;
    if ([...this.#threads].every((each) => each === thread || each.hasEnded)) return;
    await thread.end();
    this.#remove(thread);
  }
}

function closed(): PurserError {
  return new PurserError("unavailable", "Cannot read: the database is closed");
}

/** The work of a thread. */
async function serveQueries(path: string, port: MessagePort): Promise<void> {
  const { connect } = await loadSqlite();
  let connection: SqliteConnection | undefined;
  let statements: PreparedStatements | undefined;
  const open = () => {
    connection = connect(path, { isReadOnly: true });
    // Here a wait for a lock holds up no other request.
    connection.exec("PRAGMA busy_timeout = 10000; PRAGMA temp_store = MEMORY; PRAGMA cache_size = -16384");
    return new PreparedStatements(connection);
  };
  const nothing = { result: { columns: [], rows: [] } };
  const answer = async (message: Task | typeof END): Promise<Answer> => {
    try {
      if (message === END) {
        connection?.close();
        return nothing;
      }
      if ("sql" in message) return { result: (statements ??= open()).query(message) };
      await copyDatabase(path, message.copyTo);
      return nothing;
    } catch (error) {
      const { message, code, errcode } = error as SentError;
      return { error: { message, code, errcode } };
    }
  };
  port.on("message", async (message: Task | typeof END) => port.postMessage(await answer(message)));
}

const data = workerData as Partial<ThreadData> | null;
if (!isMainThread && parentPort && data?.purserReads !== undefined) {
  await serveQueries(data.purserReads, parentPort);
}
