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
const perSet = new Map<string, string>();

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

/** The statement for all rows, with one value: a JSON array of arrays. */
export function toSetStatement({ sql, each }: Statement & { each: EachRow }): Statement {
  const text = remember(perSet, sql, () => {
    const values = each.columns.map((column, index) => `value ->> ${index} AS ${column}`).join(", ");
    return sql.replace(SOURCE, `(SELECT ${values} FROM json_each(?1))`);
  });
  return { sql: text, args: [encodeRows(each.rows)] };
}

function remember(texts: Map<string, string>, sql: string, make: () => string): string {
  let text = texts.get(sql);
  if (text === undefined) texts.set(sql, text = make());
  return text;
}

/** Rows as JSON in which integers of 64 bits keep every digit. */
function encodeRows(rows: EachRow["rows"]): string {
  return `[${rows.map((row) => `[${row.map(encodeValue).join(",")}]`).join(",")}]`;
}

function encodeValue(value: SqlValue): string {
  if (value instanceof Uint8Array) throw new TypeError("Cannot write bytes as a row's value");
  const bindable = toBindable(value);
  return typeof bindable === "bigint" ? String(bindable) : JSON.stringify(bindable);
}
