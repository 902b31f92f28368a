import { type SqlValue, type Statement, toBindable } from "./store.ts";

/**
 * Rows that a statement reads as `each_row v`, with these columns. On a local file the statement runs for a row or a few
 * at a time, which are bound as they are; a server reads all rows from one JSON text, since each statement costs. So its
 * effect must not depend on whether the rows are read one by one, in this order, or all at once.
 */
export interface EachRow {
  columns: readonly string[];
  /** The columns whose values are integers or NULL; those of the others are texts or NULL. Only PostgreSQL reads it. */
  integers?: readonly string[];
  rows: readonly (readonly SqlValue[])[];
}

const SOURCE = /\beach_row\b/;

/** The generated SQL by the original statement. */
const perRow = new Map<string, string>();
const perMany = new Map<number, Map<string, string>>();
const perSet = new Map<string, string>();

/** The numbers of rows that one run of a statement on a local file takes, largest first; the rest runs row by row. */
export const ROWS_AT_ONCE = [64, 32, 16, 8, 4, 2];

/** Returns the statement for a number of rows, whose values are bound row by row. */
export function toManyRowsSql(sql: string, { columns }: EachRow, count: number): string {
  if (!perMany.has(count)) perMany.set(count, new Map());
  return remember(perMany.get(count)!, sql, () => {
    const select = `SELECT ${columns.map((column) => `? AS ${column}`).join(", ")}`;
    return sql.replace(SOURCE, `(${Array(count).fill(select).join(" UNION ALL ")})`);
  });
}

/** Returns the statement for a single row; each `v.column` is the parameter with the column's number. */
export function toRowSql(sql: string, { columns }: EachRow): string {
  return remember(
    perRow,
    sql,
    () =>
      sql.replace(/\bv\.(\w+)/g, (_, column) => `?${columns.indexOf(column) + 1}`)
        .replace(/\s+FROM each_row v(?=\s*(WHERE\b|\)|$))/, "") // no longer referenced
        .replace(SOURCE, "(SELECT 1)"),
  );
}

/** Returns the number of a row's values that the single-row statement binds: trailing columns may be unused. */
export function countRowValues(rowSql: string, { columns }: EachRow): number {
  let count = columns.length;
  while (count > 0 && !new RegExp(`\\?${count}\\b`).test(rowSql)) count--;
  return count;
}

/** The maximum size of the rows of one statement: a server accepts values of 5 MB. A single row may be larger. */
const MAX_BYTES_PER_STATEMENT = 4 * 1024 * 1024;

/**
 * Returns the statements for all rows, each with one value: a JSON array of arrays. There are several statements only if the
 * rows are too large for one; their results, concatenated, are those of the original statement.
 */
export function toSetStatements({ sql, each }: Statement & { each: EachRow }): Statement[] {
  const text = remember(perSet, sql, () => {
    const values = each.columns.map((column, index) => `value ->> ${index} AS ${column}`).join(", ");
    return sql.replace(SOURCE, `(SELECT ${values} FROM json_each(?1))`);
  });
  return encodeRows(each.rows).map((rows) => ({ sql: text, args: [rows] }));
}

function remember(texts: Map<string, string>, sql: string, make: () => string): string {
  let text = texts.get(sql);
  if (text === undefined) texts.set(sql, text = make());
  return text;
}

/** Encodes rows as JSON that preserves 64-bit integers, in texts of bounded size. */
function encodeRows(rows: EachRow["rows"]): string[] {
  const encoded = rows.map((row) => `[${row.map(encodeValue).join(",")}]`);
  const all = `[${encoded.join(",")}]`;
  if (all.length * 3 <= MAX_BYTES_PER_STATEMENT) return [all]; // 3 bytes per UTF-16 unit at most
  const texts: string[] = [];
  let start = 0;
  let bytes = 0;
  const cut = (end: number) => texts.push(`[${encoded.slice(start, start = end).join(",")}]`);
  encoded.forEach((row, index) => {
    const size = encoder.encode(row).length + 1;
    if (index > start && bytes + size > MAX_BYTES_PER_STATEMENT) {
      cut(index);
      bytes = 0;
    }
    bytes += size;
  });
  cut(encoded.length);
  return texts;
}

const encoder = new TextEncoder();

function encodeValue(value: SqlValue): string {
  if (value instanceof Uint8Array) throw new TypeError("Cannot write bytes as a row's value");
  const bindable = toBindable(value);
  if (typeof bindable === "bigint" && BigInt.asIntN(64, bindable) !== bindable) {
    throw new RangeError("Cannot write an integer that 64 bits can't hold");
  }
  return typeof bindable === "bigint" ? String(bindable) : JSON.stringify(bindable);
}
