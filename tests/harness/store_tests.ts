import type { SqlValue, Store } from "../../src/store/mod.ts";
import type { DatabaseKind, OpenOptions } from "./databases.ts";

/** Declares a test over a database of its own. */
export type StoreTest = (
  sentence: string,
  body: (store: Store, open: (options?: OpenOptions) => Promise<Store>) => Promise<void>,
  options?: OpenOptions,
) => void;

/** Returns the declaration of tests over databases of a kind. */
export function testOver(kind: DatabaseKind): StoreTest {
  return (sentence, body, options) => {
    Deno.test({
      name: `${kind.name}: ${sentence}`,
      ignore: kind.ignore,
      async fn() {
        await using database = await kind.create();
        await body(await database.open(options), (options) => database.open(options));
      },
    });
  };
}

/** Reads the first value of a query. */
export const one = async (store: Store, sql: string, args: SqlValue[] = []) =>
  (await store.read({ sql, args })).rows[0]?.[0];

/** A table with a key, and rows of it. */
export const createT = { sql: "CREATE TABLE t (a PRIMARY KEY NOT NULL, b)" };
export const insert = (a: SqlValue, b: SqlValue = null) => ({
  sql: "INSERT INTO t VALUES (?, ?)",
  args: [a, b],
});
