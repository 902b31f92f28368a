import { type Client, createClient, type InStatement, LibsqlError } from "@libsql/client/web";
import type { Clock } from "../clock.ts";
import { messageOf, PurserError } from "../errors.ts";
import {
  ConstraintError,
  type ResultSet,
  type SqlValue,
  type Statement,
  type Store,
  toBindable,
} from "./store.ts";
import { WriteQueue, type WriteUnit } from "./write_queue.ts";

/** What a remote store needs: where it is, and everything it must not take from the machine itself. */
export interface RemoteOptions {
  /** `libsql://`, `https://` or `http://`. */
  url: string;
  authToken?: string;
  /** The longest that one read or one commit may take in all, retries included. */
  timeoutMs: number;
  clock: Clock;
  fetch?: typeof globalThis.fetch;
  newToken: () => string;
  /** What is known of the tokens there, where several stores share it; one that lives long keeps its own. */
  tokens?: WriteTokens;
}

/** What is known of the table of tokens: whether it is there, and how often there was a commit. */
export interface WriteTokens {
  isThere: boolean;
  commits: number;
}

const FIRST_RETRY_MS = 25;
const LONGEST_RETRY_MS = 1_000;
const KEEP_TOKENS_MS = 3_600_000;
const COMMITS_BETWEEN_SWEEPS = 1_000;

const CREATE_TOKENS = `CREATE TABLE IF NOT EXISTS write_tokens (
  token TEXT PRIMARY KEY NOT NULL,
  at INTEGER NOT NULL
) WITHOUT ROWID`;
// The server's clock, so that instances whose clocks differ don't sweep each other's tokens.
const NOW = "CAST(unixepoch('subsec') * 1000 AS INTEGER)";
const KEEP_TOKEN = `INSERT INTO write_tokens (token, at) VALUES (?, ${NOW})`;
const SWEEP_TOKENS = `DELETE FROM write_tokens WHERE at < ${NOW} - ${KEEP_TOKENS_MS}`;

/** A database on a libSQL server (sqld, Turso). One batch is one round trip. */
export class RemoteStore implements Store {
  readonly kind = "remote";
  #client: Client;
  #queue: WriteQueue;
  #options: RemoteOptions;
  #tokens: WriteTokens;
  #isClosed = false;

  constructor(options: RemoteOptions) {
    this.#options = options;
    this.#tokens = options.tokens ?? { isThere: false, commits: 0 };
    const send = options.fetch ?? globalThis.fetch;
    this.#client = createClient({
      url: options.url,
      authToken: options.authToken,
      intMode: "bigint",
      // The client has no timeout of its own: a server that hangs would hold every caller for ever.
      fetch: (request: Request) => send(request, { signal: AbortSignal.timeout(options.timeoutMs) }),
    });
    this.#queue = new WriteQueue((units) => this.#commit(units), (task) => queueMicrotask(task));
  }

  async read(statement: Statement): Promise<ResultSet> {
    return (await this.readAll([statement]))[0]!;
  }

  async readAll(statements: readonly Statement[]): Promise<ResultSet[]> {
    if (this.#isClosed) throw new PurserError("unavailable", "Cannot read: the database is closed");
    return await this.#untilDeadline("read", async () => {
      const results = await this.#client.batch(statements.map(toInStatement), "read");
      return results.map(toResultSet);
    });
  }

  write(statements: readonly Statement[]): Promise<ResultSet[]> {
    return this.#queue.push(statements);
  }

  freeBytes(): Promise<undefined> {
    return Promise.resolve(undefined);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#queue.close(new PurserError("unavailable", "Cannot write: the database is closed"));
    this.#client.close();
  }

  /**
   * An answer that got lost leaves open whether the commit happened. Every commit therefore carries a
   * token with a unique key: the second try of one that happened fails on it, and counts as done.
   */
  #commit(units: readonly WriteUnit[]): Promise<ResultSet[][]> {
    const prefix: Statement[] = [{ sql: KEEP_TOKEN, args: [this.#options.newToken()] }];
    // Not a migration: the commit that applies the first one needs it already.
    if (!this.#tokens.isThere) prefix.unshift({ sql: CREATE_TOKENS });
    if (this.#tokens.commits++ % COMMITS_BETWEEN_SWEEPS === 0) prefix.push({ sql: SWEEP_TOKENS });
    const statements = [...prefix, ...units.flat()].map(toInStatement);
    let tries = 0;
    return this.#untilDeadline("write", async () => {
      try {
        tries++;
        const results = (await this.#client.batch(statements, "write")).map(toResultSet);
        this.#tokens.isThere = true;
        return split(results.slice(prefix.length), units);
      } catch (error) {
        if (tries === 1 || !isTokenTaken(error)) throw error;
        return await this.#readBack(units);
      }
    });
  }

  /** The results of a commit whose answer was lost: its SELECTs, run once more. */
  async #readBack(units: readonly WriteUnit[]): Promise<ResultSet[][]> {
    const results: ResultSet[] = [];
    for (const statement of units.flat()) {
      const isQuery = /^\s*SELECT\b/i.test(statement.sql);
      results.push(
        isQuery
          ? toResultSet(await this.#client.execute(toInStatement(statement)))
          : { columns: [], rows: [] },
      );
    }
    return split(results, units);
  }

  async #untilDeadline<T>(action: "read" | "write", attempt: () => Promise<T>): Promise<T> {
    const { clock, timeoutMs } = this.#options;
    const deadline = clock.monotonic() + timeoutMs;
    for (let delayMs = FIRST_RETRY_MS;; delayMs = Math.min(delayMs * 2, LONGEST_RETRY_MS)) {
      try {
        return await within(deadline - clock.monotonic(), attempt());
      } catch (error) {
        if (isConstraint(error)) throw new ConstraintError(messageOf(error), { cause: error });
        if (isTooBig(error)) {
          const where = hostOf(this.#options.url);
          throw new PurserError(
            "too_large",
            `Cannot ${action} the database at ${where}: a value is larger than the 5 MB that the server takes; most often it is a message or a tool's output`,
            { cause: error },
          );
        }
        const isPassing = canPass(error);
        if (!isPassing && !isRefusedAtTheDoor(error)) throw error;
        if (!isPassing || clock.monotonic() + delayMs >= deadline) {
          throw new PurserError(
            "unavailable",
            `Cannot ${action} the database at ${hostOf(this.#options.url)}: ${explain(error)}`,
            { cause: error },
          );
        }
        await clock.sleep(delayMs);
      }
    }
  }
}

/** A retry that begins late must not be waited for past the deadline. */
async function within<T>(timeoutMs: number, attempt: Promise<T>): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => late.reject(new DOMException("it did not answer in time", "TimeoutError")),
    timeoutMs,
  );
  try {
    return await Promise.race([attempt, late.promise]);
  } finally {
    clearTimeout(timer);
    attempt.catch(() => {}); // of one that was given up nobody hears
  }
}

/** Only the host: a URL may carry a token. */
function hostOf(url: string): string {
  return URL.parse(url)?.host ?? "an unreadable address";
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

/** Codes with which the server says that the statement or its values are wrong. */
const WRONG_STATEMENT = /^(SQL|ARGS?_|RESPONSE_TOO_LARGE)/;

/** Whether another try can help: what SQLite or the server itself has refused, it will refuse again. */
function canPass(error: unknown): boolean {
  const code = sqliteCode(error);
  if (code.startsWith("SQLITE_BUSY") || code.startsWith("SQLITE_LOCKED")) return true;
  const status = httpStatus(error);
  if (status !== undefined) return status >= 500 || status === 408 || status === 429;
  return !WRONG_STATEMENT.test(code) && !(error instanceof RangeError);
}

/** Whether the server did not even look at the statement: a wrong token, or no database there. */
function isRefusedAtTheDoor(error: unknown): boolean {
  const status = httpStatus(error);
  return status !== undefined && status >= 400 && status < 500;
}

function explain(error: unknown): string {
  const status = httpStatus(error);
  if (status === 401 || status === 403) return "it refused the token; check PURSER_DB_TOKEN";
  return messageOf(error);
}

function httpStatus(error: unknown): number | undefined {
  const { cause } = error as { cause?: { status?: unknown } };
  return typeof cause?.status === "number" ? cause.status : undefined;
}

function toInStatement({ sql, args = [] }: Statement): InStatement {
  return { sql, args: args.map(toBindable) };
}

function toResultSet(result: { columns: string[]; rows: ArrayLike<unknown>[] }): ResultSet {
  return {
    columns: result.columns,
    rows: result.rows.map((row) =>
      Array.from({ length: result.columns.length }, (_, i) => toSqlValue((row as unknown[])[i]))
    ),
  };
}

function toSqlValue(value: unknown): SqlValue {
  return value instanceof ArrayBuffer ? new Uint8Array(value) : value as SqlValue;
}

function split(results: ResultSet[], units: readonly WriteUnit[]): ResultSet[][] {
  let start = 0;
  return units.map((unit) => results.slice(start, start += unit.length));
}
