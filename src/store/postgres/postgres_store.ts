import type { Clock } from "../../kernel/clock.ts";
import { messageOf, PurserError } from "../../kernel/errors.ts";
import { noInstanceLocks } from "../instance_locks.ts";
import { DATABASE_NOW } from "../dialect.ts";
import { ConstraintError, type ResultSet, type Statement, type Store } from "../store.ts";
import { pushInTime } from "../within.ts";
import { type ScrubValue, WriteQueue } from "../write_queue.ts";
import type { SetWriter, WriteDeadline, WriteUnit } from "../write_unit.ts";
import { ConnectionPool } from "./connection_pool.ts";
import { parsePostgresUrl } from "./postgres_address.ts";
import { type ConnectionOptions, PostgresConnection } from "./postgres_connection.ts";
import {
  canPass,
  explain,
  isAccessRefused,
  isConstraint,
  isTokenTaken,
  NO_ANSWER,
  refusalOf,
  sqlState,
} from "./postgres_errors.ts";
import { postgresLogic, postgresMigrations } from "./postgres_schema.ts";
import { bindStatement, type BoundStatement } from "./statement_text.ts";

/** The options of a store: its database, and everything it must not take from the machine itself. */
export interface PostgresOptions {
  url: string;
  password?: string;
  /** The longest that one read or one commit may take in all, waiting and retries included. */
  timeoutMs: number;
  clock: Clock;
  newToken: () => string;
  /** Maps each value that is written. */
  scrub?: ScrubValue;
  /** Called after every commit; for tests. */
  onCommit?: () => void;
}

const FIRST_RETRY_MS = 25;
const LONGEST_RETRY_MS = 1_000;
const KEEP_TOKENS_MS = 3_600_000;
const COMMITS_BETWEEN_SWEEPS = 1_000;
/** Beside one that writes. */
const MOST_READERS = 6;

/** Each unit takes the only row of this table first, so that units commit one after another. */
const LOCK = bindStatement({ sql: "SELECT id FROM ledger_lock FOR UPDATE" });
const KEEP_TOKEN = `INSERT INTO write_tokens (token, at) VALUES (?, ${DATABASE_NOW})`;
const SWEEP_TOKENS = bindStatement({
  sql: `DELETE FROM write_tokens WHERE at < ${DATABASE_NOW} - ${KEEP_TOKENS_MS}`,
});
const BEGIN_VIEW = bindStatement({ sql: "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY" });
const COMMIT = bindStatement({ sql: "COMMIT" });
const ROLLBACK = bindStatement({ sql: "ROLLBACK" });

/** Not a migration: the commit that applies the first one needs these tables already. One process creates them. */
export const createTables = (schema: string): Statement[] =>
  [
    `SELECT pg_advisory_xact_lock(hashtext('purser ${schema}'))`,
    // IF NOT EXISTS needs the right to create one even where it exists.
    `DO $$ BEGIN IF to_regnamespace('${schema}') IS NULL THEN CREATE SCHEMA "${schema}"; END IF; END $$`,
    `CREATE TABLE IF NOT EXISTS write_tokens (token TEXT COLLATE "C" PRIMARY KEY, at BIGINT NOT NULL)`,
    "CREATE TABLE IF NOT EXISTS ledger_lock (id BIGINT PRIMARY KEY)",
    "INSERT INTO ledger_lock VALUES (1) ON CONFLICT DO NOTHING",
  ].map((sql) => ({ sql }));

/** A schema of a PostgreSQL database. One batch is one round trip. */
export class PostgresStore implements Store {
  readonly kind = "remote";
  readonly engine = "postgres";
  readonly schema = { migrations: postgresMigrations, logic: postgresLogic };
  readonly isShared = true;
  readonly instances = noInstanceLocks;
  readonly #options: PostgresOptions;
  readonly #connecting: ConnectionOptions;
  readonly #readers: ConnectionPool;
  readonly #writers: ConnectionPool;
  readonly #queue: WriteQueue;
  #commits = 0;
  #isClosed = false;

  /** @throws {PurserError} `invalid` for a URL that names no database, or has a secret in it */
  constructor(options: PostgresOptions) {
    this.#options = options;
    const { url, password, timeoutMs } = options;
    this.#connecting = { address: parsePostgresUrl(url), password, timeoutMs };
    this.#readers = new ConnectionPool(
      (ms) => PostgresConnection.open(this.#connecting, "read", ms),
      MOST_READERS,
    );
    this.#writers = new ConnectionPool((ms) => PostgresConnection.open(this.#connecting, "write", ms), 1);
    this.#queue = new WriteQueue(
      (units, until) => this.#commit(units, until),
      (task) => queueMicrotask(task),
      undefined,
      undefined,
      options.scrub,
    );
  }

  async read(statement: Statement): Promise<ResultSet> {
    return (await this.readAll([statement]))[0]!;
  }

  /** The server has processes of its own. */
  readLong(statement: Statement): Promise<ResultSet> {
    return this.read(statement);
  }

  async readAll(statements: readonly Statement[]): Promise<ResultSet[]> {
    if (this.#isClosed) throw new PurserError("unavailable", "Cannot read: the database is closed");
    const until = this.#options.clock.monotonic() + this.#options.timeoutMs;
    return await this.#untilDeadline("read", until, () => this.#readOnce(statements, until));
  }

  #readOnce(statements: readonly Statement[], until: number): Promise<ResultSet[]> {
    const sent = statements.map(bindStatement);
    const remainingMs = () => until - this.#options.clock.monotonic();
    return this.#readers.use(remainingMs, async (connection) => {
      if (sent.length === 1) return await connection.run(sent, remainingMs());
      try {
        return (await connection.run([BEGIN_VIEW, ...sent, COMMIT], remainingMs())).slice(1, -1);
      } catch (error) {
        if (connection.isUsable) await connection.run([ROLLBACK], remainingMs());
        throw error;
      }
    });
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

  get waitingWrites(): number {
    return this.#queue.waiting;
  }

  freeBytes(): Promise<undefined> {
    return Promise.resolve(undefined);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#queue.close(new PurserError("unavailable", "Cannot write: the database is closed"));
    await Promise.all([this.#readers.close(), this.#writers.close()]);
  }

  /**
   * Commits units at most once. A connection that broke leaves open whether the commit happened, so every commit inserts a
   * unique token, after it has taken the lock: a retry waits until the first attempt has ended, fails on the token if that has
   * committed, and counts as done.
   */
  #commit(units: readonly WriteUnit[], until: number): Promise<ResultSet[][]> {
    const token = this.#options.newToken();
    const sent = units.flat().map(bindStatement);
    if (this.#commits++ % COMMITS_BETWEEN_SWEEPS === 0) sent.push(SWEEP_TOKENS);
    return this.#untilDeadline("write", until, async () => {
      try {
        return split(await this.#commitOnce(token, sent, until), units);
      } catch (error) {
        if (!isTokenTaken(error)) throw error;
        // Where commits wait for a synchronous standby, this one tells that the standby has all before it.
        await this.#commitOnce(this.#options.newToken(), [], until);
        return await this.#readBack(units, until);
      }
    });
  }

  #commitOnce(token: string, sent: readonly BoundStatement[], until: number): Promise<ResultSet[]> {
    const remainingMs = () => until - this.#options.clock.monotonic();
    return this.#writers.use(remainingMs, async (connection) => {
      const { facts } = connection;
      const prefix = [LOCK, bindStatement({ sql: KEEP_TOKEN, args: [token] })];
      if (!facts.hasTokens) {
        prefix.unshift(...createTables(this.#connecting.address.schema).map(bindStatement));
      }
      const results = await connection.run([...prefix, ...sent], remainingMs());
      if (connection.isUnreplicated) {
        throw new Error("it stopped to wait for its synchronous standby"); // as for a lost answer
      }
      facts.hasTokens = true;
      this.#options.onCommit?.();
      return results.slice(prefix.length);
    });
  }

  /**
   * Returns the results of a commit whose answer was lost: its queries, run again. A statement that writes begins with its
   * verb, so WITH begins a query.
   */
  async #readBack(units: readonly WriteUnit[], until: number): Promise<ResultSet[][]> {
    const results: ResultSet[] = [];
    for (const statement of units.flat()) {
      const isQuery = /^\s*(SELECT|WITH)\b/i.test(statement.sql);
      results.push(...isQuery ? await this.#readOnce([statement], until) : [{ columns: [], rows: [] }]);
    }
    return split(results, units);
  }

  async #untilDeadline<T>(action: "read" | "write", deadline: number, attempt: () => Promise<T>): Promise<T> {
    const { clock } = this.#options;
    let answer: unknown; // says more than that the last attempt, near the deadline, got none
    for (let delayMs = FIRST_RETRY_MS;; delayMs = Math.min(delayMs * 2, LONGEST_RETRY_MS)) {
      try {
        return await attempt();
      } catch (error) {
        if (isConstraint(error)) throw new ConstraintError(messageOf(error), { cause: error });
        const refusal = refusalOf(error);
        if (refusal) throw refusal;
        // A schema that this process has migrated is gone.
        if (sqlState(error) === "42P01") {
          const missing = /relation "(.*?)"/.exec(messageOf(error))?.[1];
          throw this.#unavailable(
            action,
            error,
            `no such table: ${missing}; it was replaced or emptied while this process used it; put its data back, or restart this process`,
          );
        }
        const isPassing = canPass(error);
        if (!isPassing && !isAccessRefused(error)) throw error;
        if (messageOf(error) !== NO_ANSWER) answer = error;
        if (!isPassing || clock.monotonic() + delayMs >= deadline) {
          throw this.#unavailable(action, answer ?? error);
        }
        await clock.sleep(delayMs);
      }
    }
  }

  #unavailable(action: "read" | "write", error: unknown, reason = explain(error)): PurserError {
    const { servers } = this.#connecting.address;
    const place = servers.map(({ host, port }) => `${host}:${port}`).join(", ");
    return new PurserError("unavailable", `Cannot ${action} the database at ${place}: ${reason}`, {
      cause: error,
    });
  }
}

function split(results: ResultSet[], units: readonly WriteUnit[]): ResultSet[][] {
  let start = 0;
  return units.map((unit) => results.slice(start, start += unit.length));
}
