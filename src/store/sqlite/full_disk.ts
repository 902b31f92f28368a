import type { SqliteConnection } from "./sqlite_driver.ts";
import { kindOfSqliteError } from "./sqlite_errors.ts";

/**
 * Recovers from a full disk. On a small one the log (WAL) may have taken all space before it was long enough for a checkpoint:
 * space that is freed would only make it longer. So after a commit that found no space, the log is moved into the database and
 * cut off before the next one, as soon as there is room for the pages that are new.
 */
export class FullDisk {
  wasFull = false;

  /** Runs a commit, and remembers whether it has found no space. */
  watch<T>(connection: SqliteConnection, commit: () => T): T {
    if (this.wasFull) this.#cutLog(connection);
    try {
      return commit();
    } catch (error) {
      this.note(error);
      throw error;
    }
  }

  /** Notes whether an error of a commit says that it has found no space. */
  note(error: unknown): void {
    this.wasFull ||= kindOfSqliteError(error) === "full";
  }

  #cutLog(connection: SqliteConnection): void {
    try {
      connection.exec("PRAGMA wal_checkpoint(TRUNCATE)");
      this.wasFull = false;
    } catch {
      // there is still no room; the commit says so, if it needs some
    }
  }
}
