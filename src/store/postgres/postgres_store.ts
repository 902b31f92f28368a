import { messageOf } from "../../kernel/errors.ts";
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
import type { WriteUnit } from "../write_unit.ts";
import { ConnectionPool } from "./connection_pool.ts";
import { parsePostgresUrl } from "./postgres_address.ts";
import { type ConnectionOptions, PostgresConnection } from "./postgres_connection.ts";
import {
  canPass,
  explain,
  isAccessRefused,
  isConstraint,
  isTokenTaken,
  refusalOf,
  sqlState,
} from "./postgres_errors.ts";
import { postgresLogic, postgresMigrations } from "./postgres_schema.ts";
import { bindStatement, type BoundStatement } from "./statement_text.ts";

/** The options of a store in PostgreSQL. */
export interface PostgresOptions extends ServerOptions {
  url: string;
  password?: string;
  /** Called after every commit; for tests. */
  onCommit?: () => void;
}

/** Beside one that writes. */
const MOST_READERS = 6;

/** Each unit takes the only row of this table first, so that units commit one after another. */
const LOCK = bindStatement({ sql: "SELECT id FROM ledger_lock FOR UPDATE" });
const SWEEP = bindStatement({ sql: SWEEP_TOKENS });
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
export class PostgresStore extends ServerStore {
  readonly engine = "postgres";
  readonly schema = { migrations: postgresMigrations, logic: postgresLogic };
  readonly #options: PostgresOptions;
  readonly #connecting: ConnectionOptions;
  readonly #readers: ConnectionPool;
  readonly #writers: ConnectionPool;
  #commits = 0;

  /** @throws {PurserError} `invalid` for a URL that names no database, or has a secret in it */
  constructor(options: PostgresOptions) {
    const { url, password, timeoutMs } = options;
    const address = parsePostgresUrl(url);
    super(options, address.servers.map(({ host, port }) => `${host}:${port}`).join(", "));
    this.#options = options;
    this.#connecting = { address, password, timeoutMs };
    this.#readers = new ConnectionPool(
      (ms) => PostgresConnection.open(this.#connecting, "read", ms),
      MOST_READERS,
    );
    this.#writers = new ConnectionPool((ms) => PostgresConnection.open(this.#connecting, "write", ms), 1);
  }

  protected readOnce(statements: readonly Statement[], until: number): Promise<ResultSet[]> {
    const sent = statements.map(bindStatement);
    const remainingMs = () => this.remainingMs(until);
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

  protected async disconnect(): Promise<void> {
    await Promise.all([this.#readers.close(), this.#writers.close()]);
  }

  /**
   * Commits units at most once. A connection that broke leaves open whether the commit happened, so every commit inserts a
   * unique token, after it has taken the lock: a retry waits until the first attempt has ended, fails on the token if that has
   * committed, and counts as done.
   */
  protected commit(units: readonly WriteUnit[], until: number): Promise<ResultSet[][]> {
    const token = this.#options.newToken();
    const sent = units.flat().map(bindStatement);
    if (this.#commits++ % COMMITS_BETWEEN_SWEEPS === 0) sent.push(SWEEP);
    return this.untilDeadline("write", until, async () => {
      try {
        return split(await this.#commitOnce(token, sent, until), units);
      } catch (error) {
        if (!isTokenTaken(error)) throw error;
        // Where commits wait for a synchronous standby, this one tells that the standby has all before it.
        await this.#commitOnce(this.#options.newToken(), [], until);
        return await this.readBack(units, until);
      }
    });
  }

  #commitOnce(token: string, sent: readonly BoundStatement[], until: number): Promise<ResultSet[]> {
    const remainingMs = () => this.remainingMs(until);
    return this.#writers.use(remainingMs, async (connection) => {
      const prefix = [LOCK, bindStatement({ sql: KEEP_TOKEN, args: [token] })];
      if (!connection.hasTokens) {
        prefix.unshift(...createTables(this.#connecting.address.schema).map(bindStatement));
      }
      const results = await connection.run([...prefix, ...sent], remainingMs());
      if (connection.isUnreplicated) {
        throw new Error("it stopped to wait for its synchronous standby"); // as for a lost answer
      }
      connection.hasTokens = true;
      this.#options.onCommit?.();
      return results.slice(prefix.length);
    });
  }

  protected canRetry(error: unknown, action: ServerAction): boolean {
    if (isConstraint(error)) throw new ConstraintError(messageOf(error), { cause: error });
    const refusal = refusalOf(error);
    if (refusal) throw refusal;
    if (sqlState(error) === "42P01") {
      throw this.withoutTable(action, error, /relation "(.*?)"/.exec(messageOf(error))?.[1]);
    }
    const isPassing = canPass(error);
    if (!isPassing && !isAccessRefused(error)) throw error;
    return isPassing;
  }

  protected explain(error: unknown): string {
    return explain(error);
  }
}
