import type { InValue } from "@libsql/client/web";
import { PurserError } from "../../kernel/errors.ts";
import { withoutRedirects } from "../../kernel/single_send.ts";
import type { ClientResult } from "./server_connections.ts";
import { toSqlite } from "../dialect.ts";
import { toSetStatements } from "../each_row.ts";
import { type ResultSet, type SqlValue, type Statement, toBindable } from "../store.ts";

/** The address of a libSQL server, and the timeout of one request. */
export interface RemotePlace {
  /** `libsql://`, `https://` or `http://`. */
  url: string;
  authToken?: string;
  timeoutMs: number;
  fetch?: typeof globalThis.fetch;
}

/**
 * Creates a `fetch` with a timeout, which the clients lack: a hanging server would block every caller for ever. It follows no
 * redirect, which would take the statements and their values along.
 */
export function createTimedFetch({ fetch, timeoutMs }: RemotePlace): (request: Request) => Promise<Response> {
  const send = withoutRedirects<Request>(
    fetch ?? globalThis.fetch,
    (reason) =>
      new PurserError("unavailable", `Cannot use the database: ${reason}; give the address that answers`),
  );
  return (request) => send(request, { signal: AbortSignal.timeout(timeoutMs) });
}

/** A statement in the clients' form. */
export interface InStatement {
  sql: string;
  args: InValue[];
}

/** Runs a task after a delay; returns the function that cancels it. */
export function startTimer(delayMs: number, task: () => void): () => void {
  const timer = setTimeout(task, delayMs);
  return () => clearTimeout(timer);
}

/** Returns only the host: a URL may contain a token. */
export function hostOf(url: string): string {
  return URL.parse(url)?.host ?? "an unreadable address";
}

/** Converts statements to the client's form, and the results of those to one for each statement. */
export function toInStatements(
  statements: readonly Statement[],
): { sent: InStatement[]; toResults(results: readonly ClientResult[]): ResultSet[] } {
  const parts = statements.map((statement) =>
    statement.each ? toSetStatements({ ...statement, each: statement.each }) : [statement]
  );
  return {
    sent: parts.flat().map(({ sql, args = [] }) => ({ sql: toSqlite(sql), args: args.map(toBindable) })),
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
