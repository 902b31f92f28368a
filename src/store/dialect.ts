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

/** SQL for the database's clock, in epoch milliseconds. */
export const DATABASE_NOW = onlySqlite("CAST(unixepoch('subsec') * 1000 AS INTEGER)") +
  onlyPostgres("CAST(floor(extract(epoch FROM statement_timestamp()) * 1000) AS BIGINT)");

/**
 * SQL for an integer in a sum that may pass 64 bits: SQLite then gives a REAL, PostgreSQL an error unless one term is wider.
 * `atMost64Bits()` makes an integer of the sum.
 */
export const wide = (term: string): string => onlyPostgres("CAST(") + term + onlyPostgres(" AS NUMERIC)");

/** SQL for a text that is compared and ordered by its bytes, as all columns are; needed where columns and other texts meet in a recursion. */
export const byBytes = (text: string): string => text + onlyPostgres(' COLLATE "C"');

/** Returns the text of a statement for SQLite. */
export const toSqlite = (sql: string): string => sql.replace(/\/\*\+(.*?)\*\//gs, "$1");

/** Returns the text of a statement for PostgreSQL. */
export const toPostgres = (sql: string): string => sql.replace(/\/\*!(.*?)\*\//gs, "$1");
