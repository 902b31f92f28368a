/*
 * The differences between the SQL of SQLite and of PostgreSQL. A statement is one text for both: a part that only one of them
 * reads is a comment to the other, and the driver of the one takes away its marks.
 */

const onlySqlite = (sql: string) => `/*+${sql}*/`;
const onlyPostgres = (sql: string) => `/*!${sql}*/`;

/** SQL after a table's name and alias: SQLite reads the table by this index, or refuses the statement if it can't. */
export const indexedBy = (index: string): string => onlySqlite(`INDEXED BY ${index}`);

/** SQL after a table's name and alias: SQLite reads the table by its primary key or whole, by no other index. */
export const NOT_INDEXED = onlySqlite("NOT INDEXED");

/** An inner join with a condition, of which SQLite reads the left side in the outer loop. */
export const ORDERED_JOIN = `${onlySqlite("CROSS")} JOIN`;

/** SQL at the end of `INSERT … SELECT … FROM each_row v …`: PostgreSQL inserts the rows by this order, SQLite in their own. */
export const inOrderOf = (sql: string): string => onlyPostgres(`ORDER BY ${sql}`);

/** SQL for the database's clock, in epoch milliseconds. */
export const DATABASE_NOW = onlySqlite("CAST(unixepoch('subsec') * 1000 AS INTEGER)") +
  onlyPostgres("CAST(floor(extract(epoch FROM statement_timestamp()) * 1000) AS BIGINT)");

/** SQL for a query of the durability of commits: 2 or more if each is flushed to the disk before it is acknowledged, else less. */
export const SELECT_SYNCHRONOUS = `SELECT ${onlySqlite("synchronous FROM pragma_synchronous")}${
  onlyPostgres(
    "CASE WHEN current_setting('fsync') = 'on' AND current_setting('synchronous_commit') <> 'off' THEN 2 ELSE 1 END",
  )
}`;

/** Returns the text of a statement for SQLite. */
export const toSqlite = (sql: string): string => sql.replace(/\/\*\+(.*?)\*\//gs, "$1");

/** Returns the text of a statement for PostgreSQL. */
export const toPostgres = (sql: string): string => sql.replace(/\/\*!(.*?)\*\//gs, "$1");
