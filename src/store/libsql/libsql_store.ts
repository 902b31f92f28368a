import { LibsqlError } from "@libsql/client/web";
import type { Clock } from "../../kernel/clock.ts";
import { messageOf, PurserError } from "../../kernel/errors.ts";
import { systemCodeOf } from "../../kernel/system_errors.ts";
import { createTimedFetch, hostOf, type RemotePlace, toInStatements } from "./libsql_client.ts";
import { ServerConnections } from "./server_connections.ts";
import { DATABASE_NOW } from "../dialect.ts";
import { ConstraintError, type ResultSet, type Statement, type Store } from "../store.ts";
import { pushInTime, within } from "../within.ts";
import { noInstanceLocks } from "../instance_locks.ts";
import { type ScrubValue, WriteQueue } from "../write_queue.ts";
import type { SetWriter, WriteDeadline, WriteUnit } from "../write_unit.ts";

/** The options of a remote store: its server, and everything it must not take from the machine itself. */
export interface RemoteOptions extends RemotePlace {
  /** The longest that one read or one commit may take in all, waiting and retries included. */
  timeoutMs: number;
  clock: Clock;
  newToken: () => string;
  /** The state of the tokens table, if several stores share it; a long-lived store has its own. */
  tokens?: WriteTokens;
  /** Maps each value that is written. */
  scrub?: ScrubValue;
}

/** The state of the tokens table: whether it exists, and the number of commits. */
export interface WriteTokens {
  isThere: boolean;
  commits: number;
}

const FIRST_RETRY_MS = 25;
const LONGEST_RETRY_MS = 1_000;
/** The time for which 404 is retried: sqld answers it for a moment while it evicts and opens the database. */
const UNKNOWN_DATABASE_MS = 2_000;
const KEEP_TOKENS_MS = 3_600_000;
const COMMITS_BETWEEN_SWEEPS = 1_000;

const CREATE_TOKENS = `CREATE TABLE IF NOT EXISTS write_tokens (
  token TEXT PRIMARY KEY NOT NULL,
  at INTEGER NOT NULL
) WITHOUT ROWID`;
// The server's clock, so that instances whose clocks differ don't sweep each other's tokens.
const NOW = DATABASE_NOW;
const KEEP_TOKEN = `INSERT INTO write_tokens (token, at) VALUES (?, ${NOW})`;
const SWEEP_TOKENS = `DELETE FROM write_tokens WHERE at < ${NOW} - ${KEEP_TOKENS_MS}`;

/** A database on a libSQL server (sqld, Turso). One batch is one round trip. */
export class RemoteStore implements Store {
  readonly kind = "remote";
  readonly engine = "sqlite";
  readonly isShared = true;
  readonly instances = noInstanceLocks;
  #connections: ServerConnections;
  #queue: WriteQueue;
  #options: RemoteOptions;
  #tokens: WriteTokens;
  #isClosed = false;

  constructor(options: RemoteOptions) {
    this.#options = options;
    this.#tokens = options.tokens ?? { isThere: false, commits: 0 };
    this.#connections = new ServerConnections({
      ...options,
      fetch: createTimedFetch(options),
      keepsConnections: options.tokens === undefined,
    });
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

  /** The server has threads of its own. */
  readLong(statement: Statement): Promise<ResultSet> {
    return this.read(statement);
  }

  async readAll(statements: readonly Statement[]): Promise<ResultSet[]> {
    if (this.#isClosed) throw new PurserError("unavailable", "Cannot read: the database is closed");
    const { clock, timeoutMs } = this.#options;
    const until = clock.monotonic() + timeoutMs;
    return await this.#untilDeadline("read", until, () => this.#readOnce(statements, until));
  }

  async #readOnce(statements: readonly Statement[], until: number): Promise<ResultSet[]> {
    const { sent, toResults } = toInStatements(statements);
    return toResults(await this.#connections.read(sent, until));
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

  async answersAnyone(): Promise<boolean> {
    const { authToken, ...place } = this.#options;
    if (authToken === undefined) return false;
    const anyone = new RemoteStore(place);
    try {
      await anyone.read({ sql: "SELECT 1" });
      return true;
    } catch {
      return false;
    } finally {
      await anyone.close();
    }
  }

  freeBytes(): Promise<undefined> {
    return Promise.resolve(undefined);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#queue.close(new PurserError("unavailable", "Cannot write: the database is closed"));
    await this.#connections.close();
  }

  /**
   * Commits units at most once. A lost response leaves open whether the commit happened, so every commit inserts a unique
   * token: a retry of one that happened fails on it, and counts as done. Even the first attempt may be a retry: Deno's
   * `fetch` repeats a request when a reused connection ends without a response. A connection for each commit (see
   * `createSingleSendFetch()`) would cost a TLS handshake each.
   */
  #commit(units: readonly WriteUnit[], until: number): Promise<ResultSet[][]> {
    const token = this.#options.newToken();
    const prefix: Statement[] = [{ sql: KEEP_TOKEN, args: [token] }];
    // Not a migration: the commit that applies the first one needs it already.
    if (!this.#tokens.isThere) prefix.unshift({ sql: CREATE_TOKENS });
    if (this.#tokens.commits++ % COMMITS_BETWEEN_SWEEPS === 0) prefix.push({ sql: SWEEP_TOKENS });
    const { sent, toResults } = toInStatements([...prefix, ...units.flat()]);
    return this.#untilDeadline("write", until, async () => {
      try {
        const results = toResults(await this.#connections.commit(sent));
        this.#tokens.isThere = true;
        return split(results.slice(prefix.length), units);
      } catch (error) {
        if (!isTokenTaken(error)) throw error;
        return await this.#readBack(units, until);
      }
    });
  }

  /**
   * Returns the results of a commit whose response was lost: its queries, run again. A statement that writes begins with its
   * verb, so WITH begins a query.
   */
  async #readBack(units: readonly WriteUnit[], until: number): Promise<ResultSet[][]> {
    const results: ResultSet[] = [];
    for (const statement of units.flat()) {
      const isQuery = /^\s*(SELECT|WITH)\b/i.test(statement.sql);
      results.push(
        ...isQuery ? await this.#readOnce([statement], until) : [{ columns: [], rows: [] }],
      );
    }
    return split(results, units);
  }

  async #untilDeadline<T>(
    action: "read" | "write",
    deadline: number,
    attempt: () => Promise<T>,
  ): Promise<T> {
    const { clock } = this.#options;
    const unknownUntil = clock.monotonic() + UNKNOWN_DATABASE_MS;
    for (let delayMs = FIRST_RETRY_MS;; delayMs = Math.min(delayMs * 2, LONGEST_RETRY_MS)) {
      try {
        return await within(deadline - clock.monotonic(), attempt());
      } catch (error) {
        if (isConstraint(error)) throw new ConstraintError(messageOf(error), { cause: error });
        const refusal = refusalIn(error);
        if (refusal) throw refusal;
        if (isTooBig(error)) {
          const where = hostOf(this.#options.url);
          throw new PurserError(
            "too_large",
            `Cannot ${action} the database at ${where}: a value is larger than the 5 MB that the server takes; most often it is a message or a tool's output`,
            { cause: error },
          );
        }
        // A schema that this process has migrated is gone.
        const missing = /no such table: \S+/.exec(messageOf(error))?.[0];
        if (missing) {
          const remedy =
            "it was replaced or emptied while this process used it; put its data back, or restart this process";
          const where = hostOf(this.#options.url);
          throw new PurserError(
            "unavailable",
            `Cannot ${action} the database at ${where}: ${missing}; ${remedy}`,
            { cause: error },
          );
        }
        const isPassing = httpStatus(error) === 404
          ? clock.monotonic() + delayMs <= unknownUntil
          : canPass(error);
        if (!isPassing && !isRequestRefused(error)) throw error;
        if (!isPassing || clock.monotonic() + delayMs >= deadline) {
          throw this.#unavailable(action, error);
        }
        await clock.sleep(delayMs);
      }
    }
  }

  #unavailable(action: "read" | "write", error: unknown): PurserError {
    const where = hostOf(this.#options.url);
    return new PurserError("unavailable", `Cannot ${action} the database at ${where}: ${explain(error)}`, {
      cause: error,
    });
  }
}

/** Returns Purser's own error, such as for a redirect, from within that of a client. */
function refusalIn(error: unknown): PurserError | undefined {
  for (let link = error; link instanceof Error; link = link.cause) {
    if (link instanceof PurserError) return link;
  }
}

function sqliteCode(error: unknown): string {
  return error instanceof LibsqlError ? error.code : "";
}

function isConstraint(error: unknown): boolean {
  return sqliteCode(error).startsWith("SQLITE_CONSTRAINT") ||
    /constraint failed|append-only/i.test(messageOf(error));
}

/** The server's own limit on one value. */
function isTooBig(error: unknown): boolean {
  return /string or blob too big/i.test(messageOf(error));
}

function isTokenTaken(error: unknown): boolean {
  return isConstraint(error) && messageOf(error).includes("write_tokens.token");
}

/** Error codes of the server for invalid statements or values. */
const WRONG_STATEMENT = /^(SQL|ARGS?_|RESPONSE_TOO_LARGE)/;

/** Returns whether a retry can help: a statement that SQLite or the server has refused is refused again. */
function canPass(error: unknown): boolean {
  const code = sqliteCode(error);
  if (code.startsWith("SQLITE_BUSY") || code.startsWith("SQLITE_LOCKED")) return true;
  const status = httpStatus(error);
  if (status !== undefined) return status >= 500 || status === 408 || status === 429;
  return !WRONG_STATEMENT.test(code) && !(error instanceof RangeError);
}

/** Returns whether the server refused the request before the statement: a wrong token, or no such database. */
function isRequestRefused(error: unknown): boolean {
  const status = httpStatus(error);
  return status !== undefined && status >= 400 && status < 500;
}

function explain(error: unknown): string {
  const status = httpStatus(error);
  if (status === 401 || status === 403) return "it refused the token; check PURSER_DB_TOKEN";
  if (status === 404) {
    return "it answers 404: there is no database of that name, which is the first label of the host on a server with namespaces, or the token is for another one; correct the URL or PURSER_DB_TOKEN, or create the namespace";
  }
  const reason = messageOf(error);
  return /\bfetch failed$/.test(reason) ? rootReasonOf(error, reason) : reason;
}

/** Returns the message of the innermost cause: on Node the outer one doesn't say why a fetch failed. */
function rootReasonOf(error: unknown, reason: string): string {
  for (let link = causeOf(error); link instanceof Error; link = causeOf(link)) {
    reason = link.message || systemCodeOf(link) || reason;
  }
  return reason;
}

/** Returns the cause of an error; of the attempts to reach the addresses of a host, the last one. */
function causeOf(error: unknown): unknown {
  return error instanceof AggregateError ? error.errors.at(-1) : (error as { cause?: unknown })?.cause;
}

function httpStatus(error: unknown): number | undefined {
  const { cause } = error as { cause?: { status?: unknown } };
  return typeof cause?.status === "number" ? cause.status : undefined;
}

function split(results: ResultSet[], units: readonly WriteUnit[]): ResultSet[][] {
  let start = 0;
  return units.map((unit) => results.slice(start, start += unit.length));
}
