import { LibsqlError } from "@libsql/client/web";
import { messageOf, PurserError } from "../../kernel/errors.ts";
import { rootReasonOf } from "../../kernel/system_errors.ts";
import { createTimedFetch, hostOf, type RemotePlace, toInStatements } from "./libsql_client.ts";
import { ServerConnections } from "./server_connections.ts";
import {
  COMMITS_BETWEEN_SWEEPS,
  KEEP_TOKEN,
  type ServerAction,
  type ServerOptions,
  ServerStore,
  split,
  SWEEP_TOKENS,
} from "../server_store.ts";
import { ConstraintError, type ResultSet, type Statement } from "../store.ts";
import { within } from "../within.ts";
import type { WriteUnit } from "../write_unit.ts";

/** The options of a remote store. */
export interface RemoteOptions extends RemotePlace, ServerOptions {
  /** The state of the tokens table, if several stores share it; a long-lived store has its own. */
  tokens?: WriteTokens;
}

/** The state of the tokens table: whether it exists, and the number of commits. */
export interface WriteTokens {
  isThere: boolean;
  commits: number;
}

/** The time for which 404 is retried: sqld answers it for a moment while it evicts and opens the database. */
const UNKNOWN_DATABASE_MS = 2_000;

const CREATE_TOKENS = `CREATE TABLE IF NOT EXISTS write_tokens (
  token TEXT PRIMARY KEY NOT NULL,
  at INTEGER NOT NULL
) WITHOUT ROWID`;

/** A database on a libSQL server (sqld, Turso). One batch is one round trip. */
export class RemoteStore extends ServerStore {
  readonly engine = "sqlite";
  readonly #options: RemoteOptions;
  readonly #connections: ServerConnections;
  readonly #tokens: WriteTokens;

  constructor(options: RemoteOptions) {
    super(options, hostOf(options.url));
    this.#options = options;
    this.#tokens = options.tokens ?? { isThere: false, commits: 0 };
    this.#connections = new ServerConnections({
      ...options,
      fetch: createTimedFetch(options),
      keepsConnections: options.tokens === undefined,
    });
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

  protected async readOnce(statements: readonly Statement[], until: number): Promise<ResultSet[]> {
    const { sent, toResults } = toInStatements(statements);
    return toResults(await within(this.remainingMs(until), this.#connections.read(sent, until)));
  }

  protected disconnect(): Promise<void> {
    return this.#connections.close();
  }

  /**
   * Commits units at most once. A lost response leaves open whether the commit happened, so every commit inserts a unique
   * token: a retry of one that happened fails on it, and counts as done. Even the first attempt may be a retry: Deno's
   * `fetch` repeats a request when a reused connection ends without a response. A connection for each commit (see
   * `createSingleSendFetch()`) would cost a TLS handshake each.
   */
  protected commit(units: readonly WriteUnit[], until: number): Promise<ResultSet[][]> {
    const token = this.#options.newToken();
    const prefix: Statement[] = [{ sql: KEEP_TOKEN, args: [token] }];
    // Not a migration: the commit that applies the first one needs it already.
    if (!this.#tokens.isThere) prefix.unshift({ sql: CREATE_TOKENS });
    if (this.#tokens.commits++ % COMMITS_BETWEEN_SWEEPS === 0) prefix.push({ sql: SWEEP_TOKENS });
    const { sent, toResults } = toInStatements([...prefix, ...units.flat()]);
    return this.untilDeadline("write", until, async () => {
      try {
        const results = toResults(await within(this.remainingMs(until), this.#connections.commit(sent)));
        this.#tokens.isThere = true;
        return split(results.slice(prefix.length), units);
      } catch (error) {
        if (!isTokenTaken(error)) throw error;
        return await this.readBack(units, until);
      }
    });
  }

  protected canRetry(error: unknown, action: ServerAction, retryMs: number): boolean {
    if (isConstraint(error)) throw new ConstraintError(messageOf(error), { cause: error });
    const refusal = refusalIn(error);
    if (refusal) throw refusal;
    if (isTooBig(error)) {
      throw new PurserError(
        "too_large",
        `Cannot ${action} the database at ${this.place}: a value is larger than the 5 MB that the server takes; most often it is a message or a tool's output`,
        { cause: error },
      );
    }
    const missing = /no such table: (\S+)/.exec(messageOf(error))?.[1];
    if (missing) throw this.withoutTable(action, error, missing);
    const isPassing = httpStatus(error) === 404 ? retryMs <= UNKNOWN_DATABASE_MS : canPass(error);
    if (!isPassing && !isRequestRefused(error)) throw error;
    return isPassing;
  }

  protected explain(error: unknown): string {
    const status = httpStatus(error);
    if (status === 401 || status === 403) return "it refused the token; check PURSER_DB_TOKEN";
    if (status === 404) {
      return "it answers 404: there is no database of that name, which is the first label of the host on a server with namespaces, or the token is for another one; correct the URL or PURSER_DB_TOKEN, or create the namespace";
    }
    const reason = messageOf(error);
    // On Node the outer error doesn't say why.
    return /\bfetch failed$/.test(reason) ? rootReasonOf(error) : reason;
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

function httpStatus(error: unknown): number | undefined {
  const { cause } = error as { cause?: { status?: unknown } };
  return typeof cause?.status === "number" ? cause.status : undefined;
}
