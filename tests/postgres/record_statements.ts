/**
 * Preloaded (`deno test --preload=tests/postgres/record_statements.ts`), it appends every statement that a store executes to
 * the file that `PURSER_RECORD_STATEMENTS` names, as lines of JSON: see `RecordedStatement`.
 */
import { RemoteStore } from "../../src/store/libsql/libsql_store.ts";
import { SqliteStore } from "../../src/store/sqlite/sqlite_store.ts";
import { type SqlValue, type Statement, toBindable } from "../../src/store/store.ts";
import type { SetWriter } from "../../src/store/write_unit.ts";

/** A statement, and the types of its values: `i` an integer, `r` a real, `t` a text, `b` bytes, `n` NULL. */
export interface RecordedStatement {
  sql: string;
  /** One letter for each value. */
  args: string;
  /** The columns of `each_row`, and the letters of all values of each. */
  each?: Record<string, string>;
  integers?: readonly string[];
  /** The innermost line of code outside the store; undefined for a statement of the query builder. */
  where?: string;
}

const path = Deno.env.get("PURSER_RECORD_STATEMENTS");
const seen = new Set<string>();

function letterOf(value: SqlValue): string {
  const bound = toBindable(value);
  if (bound === null) return "n";
  if (bound instanceof Uint8Array) return "b";
  return typeof bound === "bigint" ? "i" : typeof bound === "number" ? "r" : "t";
}

function record(statements: readonly Statement[], where: string | undefined): void {
  for (const { sql, args = [], each } of statements) {
    const recorded: RecordedStatement = { sql, args: args.map(letterOf).join("") };
    if (each) {
      recorded.each = Object.fromEntries(
        each.columns.map((
          column,
          index,
        ) => [column, [...new Set(each.rows.map((row) => letterOf(row[index]!)))].sort().join("")]),
      );
      const { integers } = each as { integers?: readonly string[] };
      if (integers) recorded.integers = integers;
    }
    const key = JSON.stringify(recorded);
    if (seen.has(key)) continue;
    seen.add(key);
    if (where) recorded.where = where;
    Deno.writeTextFileSync(path!, JSON.stringify(recorded) + "\n", { append: true });
  }
}

const STORE =
  /\/src\/store\/(?!authored|schema)|\/node_modules\/|registry\.npmjs|record_statements|<anonymous>|ext:/;

function whereNow(): string | undefined {
  const limit = Error.stackTraceLimit;
  Error.stackTraceLimit = 30;
  const { stack = "" } = new Error();
  Error.stackTraceLimit = limit;
  const frame = stack.split("\n").slice(1).find((line) => /file:/.test(line) && !STORE.test(line));
  return frame && /\/((?:src|tests|plugins|bench)\/[^:]+:\d+)/.exec(frame)?.[1];
}

const planned = new WeakSet<object>();

function patch(store: SqliteStore | RemoteStore): void {
  const { read, readLong, readAll, write, writeInSet } = store;
  Object.assign(store, {
    read(statement: Statement) {
      record([statement], whereNow());
      return read.call(this as never, statement);
    },
    readLong(statement: Statement) {
      record([statement], whereNow());
      return readLong.call(this as never, statement);
    },
    readAll(statements: readonly Statement[]) {
      record(statements, whereNow());
      return readAll.call(this as never, statements);
    },
    write(statements: readonly Statement[]) {
      record(statements, whereNow());
      return write.call(this as never, statements);
    },
    writeInSet<Item, Result>(writer: SetWriter<Item, Result>, item: Item) {
      if (!planned.has(writer)) {
        planned.add(writer);
        const where = whereNow();
        const { plan } = writer;
        writer.plan = function (items) {
          const made = plan.call(this, items);
          record(made.statements, where);
          return made;
        };
      }
      return writeInSet.call(this as never, writer as never, item as never);
    },
  });
}

if (path) {
  patch(SqliteStore.prototype);
  patch(RemoteStore.prototype);
}
