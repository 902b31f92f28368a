import { PurserError } from "../../kernel/errors.ts";
import type { PostgresAddress } from "./postgres_address.ts";
import { ReplicaError } from "./postgres_errors.ts";
import type { BoundStatement } from "./statement_text.ts";

/*
 * A connection makes the settings of its session as parameters of its start. A pooler refuses those or drops them, and may give
 * the session to another client after each transaction: then every batch makes them for itself, and prepares nothing.
 */

/** The use of a connection; see `sessionOf()` and `HOLD`. */
export type Role = "read" | "write" | "restore" | "ask";

const OLDEST_VERSION = 15;

/** A setting of no meaning to the server, by which a connection knows its session. */
const SESSION_NAME = "purser.session";

/**
 * A connection holds its schema as long as it is open: one that restores has it alone, as one that replaces a file has. The
 * session of a pooler, which it isn't alone in, holds nothing.
 */
const HOLD: Record<Role, string> = {
  read: "pg_try_advisory_lock_shared",
  write: "pg_try_advisory_lock_shared",
  restore: "pg_try_advisory_lock",
  ask: "true OR 0 =", // beside one that restores
};

/** Returns the query by which a connection begins; see `checkServer()`. */
export const checkOf = ({ schema }: PostgresAddress, role: Role, session: string) =>
  `SELECT current_setting('server_version_num'), pg_is_in_recovery(),
  EXISTS (SELECT 1 FROM pg_tables WHERE schemaname = '${schema}' AND tablename = 'write_tokens'
    AND has_schema_privilege(schemaname, 'USAGE')),
  current_setting('default_transaction_isolation'), current_setting('${SESSION_NAME}', true),
  CASE WHEN current_setting('${SESSION_NAME}', true) = '${session}' THEN ${
    HOLD[role]
  } (hashtext('purser in use ${schema}')) END`;

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
    ...(role === "read" || role === "ask"
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
 * Returns from the answer to `checkOf()` whether the schema has its table of tokens, and whether the session is that of this
 * connection alone.
 *
 * @throws {PurserError} `unsupported` for a server that can't be used; `conflict` where a restore isn't alone
 */
export function checkServer(
  row: unknown[],
  role: Role,
  session: string,
  server: string,
): { hasTokens: boolean; isOwn: boolean } {
  const [version, isReplica, hasTokens, isolation, ownSession, isHeld] = row as [
    ...[string, boolean, boolean, string, string, boolean | null],
  ];
  const major = Math.floor(Number(version) / 10_000);
  const cannotUse = (reason: string) =>
    new PurserError("unsupported", `Cannot use the database at ${server}: ${reason}`);
  if (major < OLDEST_VERSION) {
    throw cannotUse(`it is PostgreSQL ${major}; version ${OLDEST_VERSION} or newer is needed`);
  }
  const isOwn = ownSession === session;
  if (!isOwn && isolation !== "read committed") {
    throw cannotUse(
      `a connection pooler answers, behind which transactions are ${isolation}; set default_transaction_isolation of the user to read committed, or give the address of the server itself`,
    );
  }
  if (isReplica) throw new ReplicaError();
  if (!isOwn && role === "restore") {
    throw cannotUse("a connection pooler answers; give the address of the server itself for a restore");
  }
  if (isHeld === false && role === "restore") {
    throw new PurserError(
      "conflict",
      `Cannot restore the database at ${server}: another process has it open; end every process that uses it first`,
    );
  }
  if (isHeld === false) throw new Error("it is being restored from a backup; wait until that has ended");
  return { hasTokens, isOwn };
}
