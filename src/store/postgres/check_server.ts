import { PurserError } from "../../kernel/errors.ts";
import type { PostgresAddress } from "./postgres_address.ts";
import { ReplicaError, usesPooler } from "./postgres_errors.ts";

/** The use of a connection; see `sessionOf()` and `HOLD`. */
export type Role = "read" | "write" | "restore" | "ask";

/** The facts about a server that a connection begins with. */
export interface ServerFacts {
  /** False for a schema in which nothing was committed yet. */
  hasTokens: boolean;
}

const OLDEST_VERSION = 15;

/** A connection holds its schema as long as it is open: one that restores has it alone, as one that replaces a file has. */
const HOLD: Record<Role, string> = {
  read: "pg_try_advisory_lock_shared",
  write: "pg_try_advisory_lock_shared",
  restore: "pg_try_advisory_lock",
  ask: "true OR 0 =", // beside one that restores
};

/** Returns the first statement of a connection. */
export const checkSql = (role: Role): string =>
  `SELECT current_setting('server_version_num'), current_setting('search_path'), pg_is_in_recovery(),
  to_regclass('write_tokens') IS NOT NULL, ${HOLD[role]} (
    hashtext('purser in use ' || current_setting('search_path')))`;

/**
 * Checks the answer to it.
 *
 * @throws {PurserError} `unsupported` for a server that can't be used; `conflict` where a restore isn't alone
 */
export function checkServer(
  row: unknown[],
  { schema }: PostgresAddress,
  role: Role,
  server: string,
): ServerFacts {
  const [version, searchPath, isReplica, hasTokens, isHeld] = row as [
    ...[string, string, boolean, boolean, boolean],
  ];
  const major = Math.floor(Number(version) / 10_000);
  if (major < OLDEST_VERSION) {
    throw new PurserError(
      "unsupported",
      `Cannot use the database at ${server}: it is PostgreSQL ${major}; version ${OLDEST_VERSION} or newer is needed`,
    );
  }
  if (searchPath !== schema) throw usesPooler("it dropped the settings of the session");
  if (isReplica) throw new ReplicaError();
  if (!isHeld && role === "restore") {
    throw new PurserError(
      "conflict",
      `Cannot restore the database at ${server}: another process has it open; end every process that uses it first`,
    );
  }
  if (!isHeld) throw new Error("it is being restored from a backup; wait until that has ended");
  return { hasTokens };
}
