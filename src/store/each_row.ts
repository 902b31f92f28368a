import { type SqlValue, type Statement, toBindable } from "./store.ts";

/**
 * Rows that a statement reads by the name `each_row v`, with these columns. A local file runs the statement once for
 * each row, which is the fastest there; a server reads all of them from one JSON text, since each statement costs.
 * So it must come to the same whether the rows are taken one by one, in this order, or all at once.
 */
export interface EachRow {
  columns: readonly string[];
  rows: readonly (readonly SqlValue[])[];
}

const SOURCE = /\beach_row\b/;

/** The texts of statements with rows, made once for each. */
const perRow = new Map<string, string>();
const perMany = new Map<string, string>();
const perSet = new Map<string, string>();

/** How many rows a statement takes at once where there are that many: each run of it costs. */
export const ROWS_AT_ONCE = 25;

/** The statement for `ROWS_AT_ONCE` rows, whose values are bound one row after the other. */
export function toManyRowsSql(sql: string, { columns }: EachRow): string {
  return remember(perMany, sql, () => {
    const select = `SELECT ${columns.map((column) => `? AS ${column}`).join(", ")}`;
    return sql.replace(SOURCE, `(${Array(ROWS_AT_ONCE).fill(select).join(" UNION ALL ")})`);
  });
}

/** The statement for a single row, whose values are bound in the order of the columns, in the place of `v.column`. */
export function toRowSql(sql: string, { columns }: EachRow): string {
  return remember(
    perRow,
    sql,
    () =>
      sql.replace(/\bv\.(\w+)/g, (_, column) => `?${columns.indexOf(column) + 1}`)
        .replace(/\s+FROM each_row v(?=\s*(WHERE\b|\)|$))/, "") // nothing is left to be read from it
        .replace(SOURCE, "(SELECT 1)"),
  );
}

/** How many values of a row the statement for a single row takes: a column at the end may not occur in it. */
export function countRowValues(rowSql: string, { columns }: EachRow): number {
  let count = columns.length;
  while (count > 0 && !new RegExp(`\\?${count}\\b`).test(rowSql)) count--;
  return count;
}

/** A server takes values of 5 MB; so many bytes of rows are in one statement at most. A single row may be larger. */
const MAX_BYTES_PER_SET = 4 * 1024 * 1024;

/**
 * The statements for all rows, each with one value: a JSON array of arrays. It is one, unless the rows are too large
 * for that; the results of all come to those of the statement.
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

/** Rows as JSON in which integers of 64 bits keep every digit, cut into texts of a bounded size. */
function encodeRows(rows: EachRow["rows"]): string[] {
  const encoded = rows.map((row) => `[${row.map(encodeValue).join(",")}]`);
  const all = `[${encoded.join(",")}]`;
  if (all.length * 3 <= MAX_BYTES_PER_SET) return [all]; // whatever its characters are
  const texts: string[] = [];
  let start = 0;
  let bytes = 0;
  const cut = (end: number) => texts.push(`[${encoded.slice(start, start = end).join(",")}]`);
  encoded.forEach((row, index) => {
    const size = encoder.encode(row).length + 1;
    if (index > start && bytes + size > MAX_BYTES_PER_SET) {
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
