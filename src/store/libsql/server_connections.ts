import { LibsqlError } from "@libsql/client/web";
import {
  BatchCond,
  ClientError,
  HttpServerError,
  type HttpStream,
  openHttp,
  parseLibsqlUrl,
  ProtoError,
  ResponseError,
  type RowsResult,
  Stmt,
} from "@libsql/hrana-client";
import { NO_ANSWER } from "../within.ts";
import { type InStatement, startTimer } from "./libsql_client.ts";

/** The idle time after which a connection is closed; the server closes it after 10 s. */
const IDLE_MS = 500;

/** The maximum age of a connection: settings of the server, such as its durability, apply to new connections only. */
const LONGEST_USE_MS = 60_000;

/** The reads that are sent at once; others wait for one of them to end. */
const MAX_READS = 20;

/** The reads within `IDLE_MS` of each other after which connections are kept for the next one. */
const OFTEN = 4;

/** The options of `ServerConnections`. */
export interface ConnectionOptions {
  url: string;
  authToken?: string;
  fetch: (request: Request) => Promise<Response>;
  clock: { monotonic(): number };
  /** If set, connections are kept for the next commit or read; otherwise each is closed in its first request. */
  keepsConnections: boolean;
}

interface Connection {
  stream: HttpStream;
  openedAt: number;
}

/**
 * Sends commits and reads to a libSQL server, one request each, on connections of the database that are kept for the next
 * one: on a new connection the server reads the whole schema first. A single read keeps no connection, since closing it takes a
 * request, too.
 */
export class ServerConnections {
  #target: { url: string; authToken?: string };
  /** Each with the function that cancels its timer. */
  #idle = new Map<Connection, () => void>();
  #ending = new Set<Promise<unknown>>();
  #isClosed = false;

  #reads = 0;
  #waitingReads: WaitingRead[] = [];
  /** The time of the last read, and the number of reads in close succession before it. */
  #lastReadAt = -Infinity;
  #readsInARow = 0;

  constructor(private readonly options: ConnectionOptions) {
    const { hranaHttpUrl = options.url, authToken } = parseLibsqlUrl(options.url);
    this.#target = { url: hranaHttpUrl, authToken: options.authToken ?? authToken };
  }

  /** Commits all statements in one transaction, or throws and commits none. */
  commit(statements: readonly InStatement[]): Promise<ClientResult[]> {
    return this.#send({ begin: "BEGIN IMMEDIATE", statements, isKept: this.options.keepsConnections });
  }

  /** Runs queries over one consistent view. One that still waits at `until`, a monotonic time, is never sent. */
  async read(statements: readonly InStatement[], until: number): Promise<ClientResult[]> {
    const now = this.options.clock.monotonic();
    this.#readsInARow = now - this.#lastReadAt < IDLE_MS ? this.#readsInARow + 1 : 0;
    this.#lastReadAt = now;
    const isKept = this.options.keepsConnections && this.#readsInARow >= OFTEN;
    if (this.#reads >= MAX_READS) await this.#waitForTurn(until);
    else this.#reads++;
    try {
      return await this.#send({ begin: "BEGIN TRANSACTION READONLY", statements, isKept });
    } finally {
      this.#endTurn();
    }
  }

  #waitForTurn(until: number): Promise<void> {
    return new Promise((resolve, reject) => this.#waitingReads.push({ until, resolve, reject }));
  }

  /** Starts the next read whose caller still waits. */
  #endTurn(): void {
    const now = this.options.clock.monotonic();
    for (let next = this.#waitingReads.shift(); next; next = this.#waitingReads.shift()) {
      if (now < next.until) return next.resolve();
      next.reject(new DOMException(NO_ANSWER, "TimeoutError"));
    }
    this.#reads--;
  }

  async #send(transaction: Transaction): Promise<ClientResult[]> {
    const kept = this.#takeIdle();
    if (kept) {
      try {
        return await this.#run(kept, { ...transaction, isKept: true });
      } catch (error) {
        if (!isConnectionGone(error)) throw error;
      }
    }
    return await this.#run(this.#open(), transaction);
  }

  /** Closes all connections, and waits until the server has closed them. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const { reject } of this.#waitingReads.splice(0)) reject(new Error("the database is closed"));
    for (const [connection, stopTimer] of this.#idle) {
      stopTimer();
      this.#end(connection);
    }
    await Promise.all(this.#ending);
  }

  #open(): Connection {
    const { fetch, clock } = this.options;
    let hasFailed = false;
    const send = async (request: Request) => {
      // Without a response the server's id of the connection is lost: a request to close it would be refused.
      if (hasFailed) throw new TypeError("its last request has failed");
      hasFailed = true;
      const answer = await fetch(request);
      hasFailed = !answer.ok;
      return answer;
    };
    const client = openHttp(this.#target.url, this.#target.authToken, send);
    client.intMode = "bigint";
    return { stream: client.openStream(), openedAt: clock.monotonic() };
  }

  async #run(connection: Connection, transaction: Transaction): Promise<ClientResult[]> {
    const { stream } = connection;
    try {
      const committed = runTransaction(stream, transaction);
      if (!transaction.isKept) stream.closeGracefully();
      return await committed;
    } catch (error) {
      throw toLibsqlError(error);
    } finally {
      if (!stream.closed) this.#keep(connection);
    }
  }

  #takeIdle(): Connection | undefined {
    const oldest = this.options.clock.monotonic() - LONGEST_USE_MS;
    for (const [connection, stopTimer] of this.#idle) {
      if (connection.openedAt < oldest) continue; // its timer closes it
      stopTimer();
      this.#idle.delete(connection);
      return connection;
    }
    return undefined;
  }

  #keep(connection: Connection): void {
    if (this.#isClosed) return this.#end(connection);
    this.#idle.set(connection, startTimer(IDLE_MS, () => this.#end(connection)));
  }

  #end(connection: Connection): void {
    this.#idle.delete(connection);
    const { stream } = connection;
    // A stream does not report the end of a request that only closes it.
    const ended = stream.run("SELECT 1").catch(() => {}).finally(() => this.#ending.delete(ended));
    this.#ending.add(ended);
    stream.closeGracefully();
  }
}

/** The result of a statement. */
export interface ClientResult {
  columns: string[];
  rows: ArrayLike<unknown>[];
}

/** A read that waits for others to end. */
interface WaitingRead {
  until: number;
  resolve: () => void;
  reject: (reason: Error) => void;
}

interface Transaction {
  begin: "BEGIN IMMEDIATE" | "BEGIN TRANSACTION READONLY";
  statements: readonly InStatement[];
  /** False for a connection that is closed in the same request. */
  isKept: boolean;
}

async function runTransaction(
  stream: HttpStream,
  { begin, statements }: Transaction,
): Promise<ClientResult[]> {
  const batch = stream.batch(false);
  let last = batch.step();
  const begun = last.run(begin);
  const answers: Promise<RowsResult | undefined>[] = [];
  for (const { sql, args } of statements) {
    const step = batch.step().condition(BatchCond.ok(last));
    answers.push(step.query(new Stmt(sql).bindIndexes(args)));
    last = step;
  }
  const commit = batch.step().condition(BatchCond.ok(last));
  const committed = commit.run("COMMIT");
  const undone = batch.step().condition(BatchCond.not(BatchCond.ok(commit))).run("ROLLBACK");
  for (const step of [begun, ...answers, committed, undone]) step.catch(() => {}); // the first error is thrown below
  await batch.execute();
  await begun;
  const results = await Promise.all(answers);
  await committed;
  return results.map((result) => ({
    columns: result!.columnNames.map((name) => name ?? ""),
    rows: result!.rows,
  }));
}

/** Returns whether the server does not know the connection, as after its start, and has therefore done nothing. */
function isConnectionGone(error: unknown): boolean {
  const { cause } = error as { cause?: unknown };
  return cause instanceof HttpServerError && (cause.status === 400 || cause.status === 404);
}

/** Returns the error that `@libsql/client` throws for the same answer. */
function toLibsqlError(error: unknown): unknown {
  if (!(error instanceof ClientError)) return error;
  const code = error instanceof ResponseError
    ? error.code
    : error instanceof HttpServerError
    ? "SERVER_ERROR"
    : error instanceof ProtoError
    ? "HRANA_PROTO_ERROR"
    : undefined;
  return new LibsqlError(error.message, code ?? "UNKNOWN", undefined, undefined, error);
}
