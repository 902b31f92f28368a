import { Buffer } from "node:buffer";
import { toPostgres } from "../dialect.ts";
import type { EachRow } from "../each_row.ts";
import { type SqlValue, type Statement, toBindable } from "../store.ts";

/** A value as `pg` sends it: NULL, a text, or bytes. */
export type BoundValue = string | Buffer | null;

/** A statement with numbered, typed placeholders. */
export interface BoundStatement {
  text: string;
  values: BoundValue[];
}

/** The text between the placeholders of a statement, and the number of each. */
interface Scanned {
  pieces: string[];
  numbers: number[];
  /** The final text by the types of the values. */
  texts: Map<string, string>;
}

const scanned = new Map<string, Scanned>();
const MAX_SCANNED = 2_000;

/** A literal, a quoted name, a comment, or a placeholder with its number. */
const TOKEN = /'(?:[^']|'')*'|"(?:[^"]|"")*"|\/\*[\s\S]*?\*\/|--[^\n]*|\?(\d*)/g;

/**
 * Returns a statement for PostgreSQL: `?` and `?1` become `$1`. Integers, reals and bytes are cast to their type, as a bare
 * placeholder takes that of its context, which for `$1 + 1` has 32 bits; texts and NULL are left to their context.
 */
export function bindStatement({ sql, args = [], each }: Statement): BoundStatement {
  if (each) return bindRows(sql, each);
  const values: BoundValue[] = [];
  let types = "";
  for (const arg of args) {
    const value = toBindable(arg);
    types += typeOf(value);
    values.push(encode(value));
  }
  const { pieces, numbers, texts } = scan(sql);
  let text = texts.get(types);
  if (text === undefined) {
    text = pieces[0]!;
    numbers.forEach((number, index) =>
      text += `$${number}${CASTS[types[number - 1]!] ?? ""}${pieces[index + 1]}`
    );
    texts.set(types, text);
  }
  const used = Math.max(0, ...numbers);
  return { text, values: used < values.length ? values.slice(0, used) : values };
}

const CASTS: Record<string, string> = { i: "::bigint", r: "::float8", b: "::bytea" };

function typeOf(value: SqlValue): string {
  if (value === null) return "n";
  if (typeof value === "bigint") return "i";
  if (typeof value === "number") return "r";
  return typeof value === "string" ? "t" : "b";
}

/** A text can't hold the character NUL, which other stores keep; it is replaced, so that a call with it is booked. */
function encode(value: SqlValue): BoundValue {
  if (value === null) return null;
  if (value instanceof Uint8Array) return Buffer.from(value);
  if (typeof value !== "string") return String(value);
  return value.includes("\0") ? value.replaceAll("\0", "\ufffd") : value;
}

function scan(sql: string): Scanned {
  let found = scanned.get(sql);
  if (!found) {
    if (scanned.size >= MAX_SCANNED) scanned.clear();
    scanned.set(sql, found = split(toPostgres(sql)));
  }
  return found;
}

/** As in SQLite, a placeholder without a number has the one after the highest so far. */
function split(sql: string): Scanned {
  const pieces: string[] = [];
  const numbers: number[] = [];
  let start = 0;
  let highest = 0;
  for (const { 0: token, 1: number, index } of sql.matchAll(TOKEN)) {
    if (number === undefined) continue;
    pieces.push(sql.slice(start, index));
    start = index + token.length;
    numbers.push(number === "" ? highest + 1 : Number(number));
    highest = Math.max(highest, numbers.at(-1)!);
  }
  pieces.push(sql.slice(start));
  return { pieces, numbers, texts: new Map() };
}

/** The rows are read from one array for each column: they need no parsing, and have the types of their columns. */
function bindRows(sql: string, { columns, rows, integers }: EachRow): BoundStatement {
  const found = scan(sql);
  const types = columns.map((column, index) =>
    integers?.includes(column) ?? guess(rows, index) ? "bigint" : "text"
  );
  const key = types.join(" ");
  let text = found.texts.get(key);
  if (text === undefined) {
    const arrays = types.map((type, index) => `$${index + 1}::${type}[]`).join(", ");
    const names = columns.map((column) => `"${column}"`).join(", ");
    text = found.pieces.join("?").replace(
      /\beach_row\b/,
      () => `(SELECT * FROM unnest(${arrays}) WITH ORDINALITY AS r (${names}, each_row_number))`,
    );
    found.texts.set(key, text);
  }
  return { text, values: columns.map((_, index) => toArray(rows, index)) };
}

function guess(rows: EachRow["rows"], index: number): boolean {
  return rows.some((row) => typeof toBindable(row[index]!) === "bigint");
}

/** Returns the values of a column as the text of an array. */
function toArray(rows: EachRow["rows"], index: number): string {
  let text = "{";
  for (const row of rows) {
    if (text.length > 1) text += ",";
    const value = toBindable(row[index]!);
    if (value instanceof Uint8Array) throw new TypeError("Cannot write bytes as a row's value");
    if (value === null) text += "NULL";
    else if (typeof value === "string") text += `"${(encode(value) as string).replace(/["\\]/g, "\\$&")}"`;
    else text += String(value);
  }
  return text + "}";
}
