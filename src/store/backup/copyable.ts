import type { Clock } from "../../kernel/clock.ts";
import type { RemotePlace } from "../libsql/libsql_client.ts";
import type { SqliteCopy } from "./sqlite_copy.ts";
import type { ResultSet, Statement, Store } from "../store.ts";

/** The part of a database that verification reads. */
export interface Reads {
  /** As of a store: where it is missing, the steps are those of SQLite. */
  readonly schema?: Store["schema"];
  read(statement: Statement): Promise<ResultSet>;
}

/** The way in which a database is filled from a backup. */
export interface Filling {
  /** Replaces a database that has content. */
  mayReplace: boolean;
  /** Called once everything is written, and before any process can open it. */
  verify(copy: Reads): Promise<void>;
  /** The time, in milliseconds since the epoch. */
  now: number;
}

/**
 * A database as backups need it. A backup is always a SQLite file, so that each kind of database only has to be copied to one and
 * filled from one.
 */
export interface Copyable extends Reads {
  /** For messages, without a secret: `database PATH`, `the database at HOST`. */
  readonly name: string;
  /** Writes the database as it is at one moment into an empty file, as a SQLite database without a log beside it. */
  copyTo(file: string): Promise<void>;
  /** Fills the database from a backup. Returns the path at which the replaced database is kept, if it is. */
  fillFrom(backup: SqliteCopy, filling: Filling): Promise<string | undefined>;
  close(): Promise<void>;
}

/** The options of a `Copyable` on a server. In PostgreSQL, `authToken` is the password. */
export interface ServerCopyOptions extends RemotePlace {
  clock: Clock;
  signal: AbortSignal;
}
