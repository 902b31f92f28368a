import type { PostgresAddress } from "./postgres_address.ts";

/** The use of a connection; see `sessionOf()`. */
export type Role = "read" | "write";

/**
 * Returns the settings of a session, as parameters of its start: a pooler that gives a server's session to several clients
 * refuses them. A commit has no time limit of its own: where it would end the wait for a synchronous standby, the server would
 * acknowledge a commit that a failover may lose.
 */
export function sessionOf({ schema }: PostgresAddress, role: Role, timeoutMs: number): string {
  const limit = Math.ceil(timeoutMs);
  return Object.entries({
    search_path: schema,
    default_transaction_isolation: "read\\ committed",
    jit: "off",
    // As in SQLite, for which the statements are written: a wrong estimate must not read a whole ledger to join a few rows.
    enable_hashjoin: "off",
    enable_mergejoin: "off",
    ...(role === "read"
      ? { default_transaction_read_only: "on", statement_timeout: limit }
      : { default_transaction_read_only: "off", statement_timeout: 0, lock_timeout: limit }),
  }).map(([name, value]) => `-c ${name}=${value}`).join(" ");
}
