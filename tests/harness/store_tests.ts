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

/** A table with a text as its key and an integer; the same with an integer as its key; and rows of either. */
export const createT = { sql: "CREATE TABLE t (a TEXT PRIMARY KEY NOT NULL, b BIGINT)" };
export const createNumbers = { sql: "CREATE TABLE t (a BIGINT PRIMARY KEY NOT NULL, b BIGINT)" };
export const insert = (a: SqlValue, b: SqlValue = null) => ({
  sql: "INSERT INTO t VALUES (?, ?)",
  args: [a, b],
});

/** The statements that create a trigger of each row, which raises an error; in PostgreSQL, its function. */
export function refusingTrigger(
  { engine }: Pick<Store, "engine">,
  name: string,
  event: string,
  text: string,
): { sql: string }[] {
  if (engine === "sqlite") {
    return [{ sql: `CREATE TRIGGER ${name} ${event} BEGIN SELECT RAISE(ABORT, '${text}'); END` }];
  }
  return [
    `CREATE FUNCTION ${name}() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN RAISE EXCEPTION USING MESSAGE = '${text}', ERRCODE = 'integrity_constraint_violation'; END $$`,
    `CREATE TRIGGER ${name} ${event} FOR EACH ROW EXECUTE FUNCTION ${name}()`,
  ].map((sql) => ({ sql }));
}
