/*
 * The differences between the SQL of SQLite and of PostgreSQL. A statement is one text for both: a part that only one of them
 * reads is a comment to the other, and the driver of the one takes away its marks.
 */

/** Returns a part of a statement, or a whole one, that SQLite alone reads. */
export const onlySqlite = (sql: string) => `/*+${sql}*/`;
/** Returns a part of a statement that PostgreSQL alone reads. */
export const onlyPostgres = (sql: string) => `/*!${sql}*/`;

/** SQL after a table's name and alias: SQLite reads the table by this index, or refuses the statement if it can't. */
export const indexedBy = (index: string): string => onlySqlite(`INDEXED BY ${index}`);

/**
 * SQL after a table's name and alias: SQLite reads the table by its primary key or whole, by no other index. A unary plus
 * before a column keeps its index out in PostgreSQL too.
 */
export const NOT_INDEXED = onlySqlite("NOT INDEXED");

/**
 * SQL for a position after one that others have been counted up to: few are. PostgreSQL expects a third of a table after a
 * value that it doesn't know, but few rows between two.
 */
export const isAfter = (position: string, column = "position"): string =>
  `${column} > ${position}${onlyPostgres(` AND ${column} <= 9223372036854775807`)}`;

/** An inner join with a condition, of which SQLite reads the left side in the outer loop. */
export const ORDERED_JOIN = `${onlySqlite("CROSS")} JOIN`;

/** SQL at the end of `INSERT … SELECT … FROM each_row v …`: after a join, PostgreSQL inserts the rows in any order; SQLite in their own. */
export const IN_ROW_ORDER = onlyPostgres("ORDER BY v.each_row_number");

/** SQL for the database's clock, in epoch milliseconds. */
export const DATABASE_NOW = onlySqlite("CAST(unixepoch('subsec') * 1000 AS INTEGER)") +
  onlyPostgres("CAST(floor(extract(epoch FROM statement_timestamp()) * 1000) AS BIGINT)");

/** SQL for a query of the durability of commits: 2 or more if each is flushed to the disk before it is acknowledged, else less. */
export const SELECT_SYNCHRONOUS = `SELECT ${onlySqlite("synchronous FROM pragma_synchronous")}${
  onlyPostgres(
    "CASE WHEN current_setting('fsync') = 'on' AND current_setting('synchronous_commit') <> 'off' THEN 2 ELSE 1 END",
  )
}`;

/** The type of a column of integers: 64 bits. */
export const INTEGER = onlySqlite("INTEGER") + onlyPostgres("BIGINT");

/** The type of a column of texts, which are in the order of their bytes. */
export const TEXT = `TEXT${onlyPostgres(' COLLATE "C"')}`;

/** SQL at the end of a table's definition: SQLite keeps its rows in the order of the primary key. */
export const WITHOUT_ROWID = onlySqlite(" WITHOUT ROWID");

/** SQL for the names of the tables that aren't a server's own, an extension's or a driver's. */
export const USER_TABLES =
  onlySqlite(`SELECT name FROM sqlite_schema WHERE type = 'table' AND name <> 'write_tokens'
  AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' AND name NOT LIKE 'libsql\\_%' ESCAPE '\\'`) +
  onlyPostgres(`SELECT CAST(c.relname AS TEXT) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
  WHERE n.nspname = current_schema() AND c.relkind IN ('r', 'p', 'f')
  AND c.relname NOT IN ('write_tokens', 'ledger_lock')
  AND NOT EXISTS (SELECT 1 FROM pg_depend d WHERE d.objid = c.oid AND d.deptype = 'e')`);

/**
 * SQL for an integer in a sum that may pass 64 bits: SQLite then gives a REAL, PostgreSQL an error unless one term is wider.
 * `atMost64Bits()` makes an integer of the sum.
 */
export const wide = (term: string): string => onlyPostgres("CAST(") + term + onlyPostgres(" AS NUMERIC)");

/**
 * SQL for a text that is compared and ordered by its bytes, as all columns are. Needed for other texts, such as those of
 * `json_each`, in an ORDER BY, and where they meet columns in a recursion.
 */
export const byBytes = (text: string): string => text + onlyPostgres(' COLLATE "C"');

/** SQL for whether a text matches a pattern, whose stars stand for any characters; it has none of `?`, `[` and `]`. */
export const matchesPattern = (text: string, pattern: string): string =>
  onlySqlite(`(${text}) GLOB ${pattern}`) +
  onlyPostgres(
    `(${text}) LIKE replace(replace(replace(replace(${pattern}, '\\', '\\\\'), '%', '\\%'), '_', '\\_'), '*', '%')`,
  );

/** SQL for a JSON object with the fields of two: where both have one, that of the second. */
export const mergeJson = (first: string, second: string): string =>
  onlySqlite(`json_patch(${first}, ${second})`) +
  onlyPostgres(`CAST(CAST(${first} AS jsonb) || CAST(${second} AS jsonb) AS TEXT)`);

/** SQL for a JSON object without some fields. */
export const withoutFields = (object: string, fields: readonly string[]): string =>
  onlySqlite(`json_remove(${object}, ${fields.map((name) => `'$.${name}'`).join(", ")})`) +
  onlyPostgres(
    `CAST(CAST(${object} AS jsonb) - ARRAY[${fields.map((name) => `'${name}'`).join(", ")}] AS TEXT)`,
  );

/** Returns the text of a statement for SQLite, which keeps that of a table: without the parts for PostgreSQL. */
export const toSqlite = (sql: string): string => sql.replace(/\/\*\+(.*?)\*\/|\/\*!.*?\*\//gs, "$1");

/** Returns the text of a statement for PostgreSQL, of which nothing is left if SQLite alone reads it. */
export const toPostgres = (sql: string): string => sql.replace(/\/\*!(.*?)\*\/|\/\*\+.*?\*\//gs, "$1");
