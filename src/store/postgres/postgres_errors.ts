import { messageOf, PurserError } from "../../kernel/errors.ts";
import { rootReasonOf } from "../../kernel/system_errors.ts";

/** A server that follows another one: a read replica, or a primary that was demoted. */
export class ReplicaError extends Error {
  override name = "ReplicaError";
  constructor() {
    super("it is a read replica, or was the primary before a failover; give the address of the primary");
  }
}

/** Returns the SQLSTATE of a server's error (https://www.postgresql.org/docs/current/errcodes-appendix.html), else "". */
export function sqlState(error: unknown): string {
  const code = (error as { code?: unknown })?.code;
  return typeof code === "string" && /^[0-9A-Z]{5}$/.test(code) && "severity" in (error as object)
    ? code
    : "";
}

/** True if a constraint has refused a statement, or a trigger that raises such an error. */
export function isConstraint(error: unknown): boolean {
  return sqlState(error).startsWith("23");
}

/** True if a commit with the same token has happened. */
export function isTokenTaken(error: unknown): boolean {
  return sqlState(error) === "23505" && (error as { table?: string }).table === "write_tokens";
}

/** Serialization failure, deadlock, lock not available in time; and no more connections, disk or memory. */
const PASSING = /^(40001|40P01|55P03|53...)$/;

/** Shutdown, crash, start; and a connection that broke or was refused. */
const GONE = /^(57P0[1-5]|08...)$/;

/** Returns whether a retry can help: what the server has refused for its text or its values is refused again. */
export function canPass(error: unknown): boolean {
  const state = sqlState(error);
  if (PASSING.test(state) || GONE.test(state) || isReplica(error) || isPlanOutdated(error)) return true;
  if (state !== "" || error instanceof RangeError) return false;
  return !isTlsRefused(error) && !isWithoutPassword(error);
}

/** True for a server that follows another one: also a primary that was demoted while it was connected to. */
function isReplica(error: unknown): boolean {
  return error instanceof ReplicaError || sqlState(error) === "25006";
}

/** Another process has replaced a view that a prepared statement reads. */
function isPlanOutdated(error: unknown): boolean {
  return sqlState(error) === "0A000" && /cached plan/.test(messageOf(error));
}

/** `pg` has no code for an answer to the start that asks for a password that isn't set. */
function isWithoutPassword(error: unknown): boolean {
  return /SASL|password must be/i.test(messageOf(error));
}

function isTlsRefused(error: unknown): boolean {
  return /does not support SSL|certificate|self.signed|UnknownIssuer|NotValidForName/i.test(messageOf(error));
}

/** Returns Purser's own error for one that no retry can help, if it has one. */
export function refusalOf(error: unknown): PurserError | undefined {
  if (error instanceof PurserError) return error;
  // A statement of this connection is unknown to the server's session, or of another client.
  if (["26000", "42P05"].includes(sqlState(error))) {
    return new PurserError(
      "unsupported",
      "Cannot use the database: a connection pooler answers that keeps the settings of a session, but not its prepared statements; give the address of the server itself",
    );
  }
}

/** Returns whether the server refused the connection or a right: no retry helps, but it isn't the statement's fault. */
export function isAccessRefused(error: unknown): boolean {
  return /^(28...|3D000|3F000|42501)$/.test(sqlState(error)) || isTlsRefused(error) ||
    isWithoutPassword(error);
}

/** Returns the state and the remedy for the message of an error; never a password. */
export function explain(error: unknown): string {
  const state = sqlState(error);
  const reason = messageOf(error);
  if (isReplica(error)) return new ReplicaError().message;
  if (state.startsWith("28") || isWithoutPassword(error)) {
    return `it refused the user or the password; check the URL and PURSER_DB_TOKEN`;
  }
  if (state === "3D000") return `${reason}; create it, or correct the URL`;
  if (state === "42501" || state === "3F000") {
    const refused = state === "3F000" ? "permission denied to use the schema" : reason;
    return `${refused}; grant the user the right, or name another schema by ?schema=`;
  }
  if (state === "2BP01") return `${reason} (${(error as { detail?: string }).detail}); drop those first`;
  if (state === "55P03") return "other processes hold its lock";
  return reason || rootReasonOf(error, "it does not answer");
}
