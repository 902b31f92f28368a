import { PurserError } from "../../kernel/errors.ts";
import type { PostgresAddress } from "./postgres_address.ts";
import { ReplicaError } from "./postgres_errors.ts";
import type { BoundStatement } from "./statement_text.ts";

/*
 * A connection makes the settings of its session as parameters of its start. A pooler refuses those or drops them, and may give
 * the session to another client after each transaction: then every batch makes them for itself, and prepares nothing.
 */

/** The use of a connection; see `sessionOf()`. */
export type Role = "read" | "write";

/** The facts about a server that a connection begins with. */
export interface ServerFacts {
  /** False for a schema in which nothing was committed yet. */
  hasTokens: boolean;
}

const OLDEST_VERSION = 15;

/** A setting of no meaning to the server, by which a connection knows its session. */
const SESSION_NAME = "purser.session";

/** The query by which a connection begins; see `checkServer()`. */
export const checkOf = ({ schema }: PostgresAddress) =>
  `SELECT current_setting('server_version_num'), pg_is_in_recovery(),
  EXISTS (SELECT 1 FROM pg_tables WHERE schemaname = '${schema}' AND tablename = 'write_tokens'
    AND has_schema_privilege(schemaname, 'USAGE')),
  current_setting('default_transaction_isolation'), current_setting('${SESSION_NAME}', true)`;

/**
 * Returns the settings of a session. A commit has no time limit of its own: where it would end the wait for a synchronous
 * standby, the server would acknowledge a commit that a failover may lose.
 */
export function sessionOf(
  { schema }: PostgresAddress,
  role: Role,
  timeoutMs: number,
): Record<string, string> {
  const limit = `${Math.ceil(timeoutMs)}`;
  return {
    search_path: schema,
    default_transaction_isolation: "read committed",
    jit: "off",
    // As in SQLite, for which the statements are written: a wrong estimate must not read a whole ledger to join a few rows.
    enable_hashjoin: "off",
    enable_mergejoin: "off",
    ...(role === "read"
      ? { default_transaction_read_only: "on", statement_timeout: limit }
      : { default_transaction_read_only: "off", statement_timeout: "0", lock_timeout: limit }),
  };
}

/** Returns settings, and a name of the session, as parameters of its start. */
export function optionsOf(settings: Record<string, string>, session: string): string {
  return Object.entries({ ...settings, [SESSION_NAME]: session })
    .map(([name, value]) => `-c ${name}=${value.replaceAll(" ", "\\ ")}`).join(" ");
}

/**
 * Returns the statement that makes settings for one transaction: for a pooler, which gives a session to others after it. The
 * isolation can't be set any more then: `checkServer()` has looked at it.
 */
export function settingsOf(
  { default_transaction_isolation: _, default_transaction_read_only: isReadOnly, ...settings }: Record<
    string,
    string
  >,
): BoundStatement {
  const all = { ...settings, ...(isReadOnly === "on" && { transaction_read_only: "on" }) };
  const calls = Object.keys(all).map((name, index) => `set_config('${name}', $${index + 1}, true)`);
  return { text: `SELECT ${calls.join(", ")}`, values: Object.values(all) };
}

/**
 * Returns the facts of the answer to `checkOf()`, and whether the session is that of this connection alone.
 *
 * @throws {PurserError} `unsupported` for a server that can't be used
 */
export function checkServer(row: unknown[], session: string): ServerFacts & { isOwn: boolean } {
  const [version, isReplica, hasTokens, isolation, ownSession] = row as [
    string,
    boolean,
    boolean,
    string,
    string,
  ];
  const major = Math.floor(Number(version) / 10_000);
  if (major < OLDEST_VERSION) {
    throw new PurserError(
      "unsupported",
      `Cannot use the database: it is PostgreSQL ${major}; version ${OLDEST_VERSION} or newer is needed`,
    );
  }
  const isOwn = ownSession === session;
  if (!isOwn && isolation !== "read committed") {
    throw new PurserError(
      "unsupported",
      `Cannot use the database: a connection pooler answers, behind which transactions are ${isolation}; set default_transaction_isolation of the user to read committed, or give the address of the server itself`,
    );
  }
  if (isReplica) throw new ReplicaError();
  return { hasTokens, isOwn };
}
