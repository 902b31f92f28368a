import { type Client, createClient, type InValue } from "@libsql/client/web";
import type { ClientResult } from "./commit_client.ts";
import { toSetStatements } from "../each_row.ts";
import { type ResultSet, type SqlValue, type Statement, toBindable } from "../store.ts";

/** Where a libSQL server is, and how long one request to it may take. */
export interface RemotePlace {
  /** `libsql://`, `https://` or `http://`. */
  url: string;
  authToken?: string;
  timeoutMs: number;
  fetch?: typeof globalThis.fetch;
}

/** A client of a libSQL server whose requests end in time. */
export function createRemoteClient(place: RemotePlace): Client {
  const { url, authToken } = place;
  return createClient({ url, authToken, intMode: "bigint", fetch: createTimedFetch(place) });
}

/** The clients have no timeout of their own: a server that hangs would hold every caller for ever. */
export function createTimedFetch({ fetch, timeoutMs }: RemotePlace): (request: Request) => Promise<Response> {
  const send = fetch ?? globalThis.fetch;
  return (request) => send(request, { signal: AbortSignal.timeout(timeoutMs) });
}

/** A statement as the clients take it. */
export interface InStatement {
  sql: string;
  args: InValue[];
}

/** Runs queries over one consistent view. */
export async function readBatch(client: Client, statements: readonly Statement[]): Promise<ResultSet[]> {
  const { sent, toResults } = toInStatements(statements);
  return toResults(await client.batch(sent, "read"));
}

/**
 * Waits no longer than that: a retry that begins late must not be waited for past its deadline.
 *
 * @throws {DOMException} `TimeoutError` when the time is over
 */
export async function within<T>(timeoutMs: number, attempt: Promise<T>): Promise<T> {
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

/** Runs a task after that time, unless what it returns is called before. */
export function startTimer(delayMs: number, task: () => void): () => void {
  const timer = setTimeout(task, delayMs);
  return () => clearTimeout(timer);
}

/** Only the host: a URL may carry a token. */
export function hostOf(url: string): string {
  return URL.parse(url)?.host ?? "an unreadable address";
}

/** The statements as the client sends them, and the result of each from those of what was sent. */
export function toInStatements(
  statements: readonly Statement[],
): { sent: InStatement[]; toResults(results: readonly ClientResult[]): ResultSet[] } {
  const parts = statements.map((statement) =>
    statement.each ? toSetStatements({ ...statement, each: statement.each }) : [statement]
  );
  return {
    sent: parts.flat().map(({ sql, args = [] }) => ({ sql, args: args.map(toBindable) })),
    toResults(results) {
      let start = 0;
      return parts.map(({ length }) => {
        const [first, ...others] = results.slice(start, start += length).map(toResultSet);
        for (const { rows } of others) for (const row of rows) first!.rows.push(row);
        return first!;
      });
    },
  };
}

function toResultSet(result: ClientResult): ResultSet {
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
