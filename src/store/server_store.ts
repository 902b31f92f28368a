import type { Clock } from "../kernel/clock.ts";
import { messageOf, PurserError } from "../kernel/errors.ts";
import { DATABASE_NOW } from "./dialect.ts";
import { noInstanceLocks } from "./instance_locks.ts";
import type { ResultSet, Statement, Store } from "./store.ts";
import { NO_ANSWER, pushInTime } from "./within.ts";
import { type ScrubValue, WriteQueue } from "./write_queue.ts";
import type { SetWriter, WriteDeadline, WriteUnit } from "./write_unit.ts";

/** The options of a store on a server: everything it must not take from the machine itself. */
export interface ServerOptions {
  /** The longest that one read or one commit may take in all, waiting and retries included. */
  timeoutMs: number;
  clock: Clock;
  newToken: () => string;
  /** Maps each value that is written. */
  scrub?: ScrubValue;
}

/** The verb of a message. */
export type ServerAction = "read" | "write";

const FIRST_RETRY_MS = 25;
const LONGEST_RETRY_MS = 1_000;

/** Each commit keeps its token, by which a retry finds out whether it has happened. Old ones are swept now and then. */
export const KEEP_TOKEN = `INSERT INTO write_tokens (token, at) VALUES (?, ${DATABASE_NOW})`;
const KEEP_TOKENS_MS = 3_600_000;
// By the server's clock, so that instances whose clocks differ don't sweep each other's tokens.
export const SWEEP_TOKENS = `DELETE FROM write_tokens WHERE at < ${DATABASE_NOW} - ${KEEP_TOKENS_MS}`;
export const COMMITS_BETWEEN_SWEEPS = 1_000;

/** A database on a server: its reads and commits are tried until they have an answer, or until their deadline. */
export abstract class ServerStore implements Store {
  abstract readonly engine: Store["engine"];
  readonly kind = "remote";
  readonly isShared = true;
  readonly instances = noInstanceLocks;
  readonly #options: ServerOptions;
  readonly #queue: WriteQueue;
  #isClosed = false;

  constructor(
    options: ServerOptions,
    /** The server, for messages. */
    protected readonly place: string,
  ) {
    this.#options = options;
    this.#queue = new WriteQueue(
      (units, until) => this.commit(units, until),
      (task) => queueMicrotask(task),
      undefined,
      undefined,
      options.scrub,
    );
  }

  protected abstract readOnce(statements: readonly Statement[], until: number): Promise<ResultSet[]>;

  /** Commits units at most once. */
  protected abstract commit(units: readonly WriteUnit[], until: number): Promise<ResultSet[][]>;

  /**
   * Returns whether to retry after an error of the server; false if that can't help. `retryMs` is the time from the first
   * attempt to the retry.
   *
   * @throws the error for the caller, if it isn't the server's
   */
  protected abstract canRetry(error: unknown, action: ServerAction, retryMs: number): boolean;

  /** Returns the state and the remedy for the message of an error. */
  protected abstract explain(error: unknown): string;

  protected abstract disconnect(): Promise<void>;

  async read(statement: Statement): Promise<ResultSet> {
    return (await this.readAll([statement]))[0]!;
  }

  /** The server has threads or processes of its own. */
  readLong(statement: Statement): Promise<ResultSet> {
    return this.read(statement);
  }

  async readAll(statements: readonly Statement[]): Promise<ResultSet[]> {
    if (this.#isClosed) throw new PurserError("unavailable", "Cannot read: the database is closed");
    const until = this.#options.clock.monotonic() + this.#options.timeoutMs;
    return await this.untilDeadline("read", until, () => this.readOnce(statements, until));
  }

  write(statements: readonly Statement[]): Promise<ResultSet[]> {
    return this.#inTime((deadline) => this.#queue.push(statements, deadline));
  }

  writeInSet<Item, Result>(writer: SetWriter<Item, Result>, item: Item): Promise<Result> {
    return this.#inTime((deadline) => this.#queue.pushInSet(writer, item, deadline));
  }

  #inTime<T>(push: (deadline: WriteDeadline) => Promise<T>): Promise<T> {
    return pushInTime(this.#options, push, (error) => this.#unavailable("write", error));
  }

  get writes(): WriteQueue {
    return this.#queue;
  }

  freeBytes(): Promise<undefined> {
    return Promise.resolve(undefined);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#queue.close(new PurserError("unavailable", "Cannot write: the database is closed"));
    await this.disconnect();
  }

  /**
   * Returns the results of a commit whose answer was lost: its queries, run again. A statement that writes begins with its
   * verb, so WITH begins a query.
   */
  protected async readBack(units: readonly WriteUnit[], until: number): Promise<ResultSet[][]> {
    const results: ResultSet[] = [];
    for (const statement of units.flat()) {
      const isQuery = /^\s*(SELECT|WITH)\b/i.test(statement.sql);
      results.push(...isQuery ? await this.readOnce([statement], until) : [{ columns: [], rows: [] }]);
    }
    return split(results, units);
  }

  /** Returns the time until a deadline of the monotonic clock. */
  protected remainingMs(until: number): number {
    return until - this.#options.clock.monotonic();
  }

  protected async untilDeadline<T>(
    action: ServerAction,
    deadline: number,
    attempt: () => Promise<T>,
  ): Promise<T> {
    const { clock } = this.#options;
    const startedAt = clock.monotonic();
    let answer: unknown; // says more than that the last attempt, near the deadline, got none
    for (let delayMs = FIRST_RETRY_MS;; delayMs = Math.min(delayMs * 2, LONGEST_RETRY_MS)) {
      try {
        return await attempt();
      } catch (error) {
        const retryAt = clock.monotonic() + delayMs;
        const canRetry = this.canRetry(error, action, retryAt - startedAt);
        if (messageOf(error) !== NO_ANSWER) answer = error;
        if (!canRetry || retryAt >= deadline) throw this.#unavailable(action, answer ?? error);
        await clock.sleep(delayMs);
      }
    }
  }

  #unavailable(action: ServerAction, error: unknown, reason = this.explain(error)): PurserError {
    return new PurserError("unavailable", `Cannot ${action} the database at ${this.place}: ${reason}`, {
      cause: error,
    });
  }

  /** Returns the error for a table that the schema had when this process migrated it. */
  protected withoutTable(action: ServerAction, error: unknown, table: string | undefined): PurserError {
    const remedy =
      "it was replaced or emptied while this process used it; put its data back, or restart this process";
    return this.#unavailable(action, error, `no such table: ${table}; ${remedy}`);
  }
}

/** Returns the results of each unit. */
export function split(results: ResultSet[], units: readonly WriteUnit[]): ResultSet[][] {
  let start = 0;
  return units.map((unit) => results.slice(start, start += unit.length));
}
