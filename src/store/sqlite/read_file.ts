import { files } from "../../kernel/files/files.ts";
import type { ResultSet, Statement } from "../store.ts";
import { loadSqlite, PreparedStatements } from "./sqlite_driver.ts";
import { explainSqliteError } from "./sqlite_errors.ts";

/** The reads of a store. */
export interface StoreReads {
  read(statement: Statement): Promise<ResultSet>;
  readLong(statement: Statement): Promise<ResultSet>;
}

/**
 * Lets a task read the file of a database as it is: nothing is created, migrated or written, and nothing waits for a lock.
 * Returns undefined where there is no file.
 *
 * @throws {StoreBusyError} another process has locked the file
 */
export async function readDatabaseFile<T>(
  path: string,
  task: (store: StoreReads) => Promise<T>,
): Promise<T | undefined> {
  if (await files.stampOf(path) === undefined) return undefined;
  const { connect } = await loadSqlite();
  try {
    const connection = connect(path);
    try {
      const statements = new PreparedStatements(connection);
      const read = (statement: Statement) => Promise.resolve(statements.query(statement));
      return await task({ read, readLong: read });
    } finally {
      connection.close();
    }
  } catch (error) {
    throw explainSqliteError(error, "read", path);
  }
}
