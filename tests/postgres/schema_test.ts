import assert from "node:assert/strict";
import { getTableConfig } from "drizzle-orm/sqlite-core";
import { type Store, tables } from "../../src/store/mod.ts";
import { databaseKinds } from "../harness/databases.ts";
import { skipPostgres } from "../harness/postgres.ts";

/** A table of a database, in a form that both engines have. */
interface Table {
  /** The name, the type, and whether a value is needed, of each column in order. */
  columns: [name: string, type: string, isNotNull: boolean, initial: string | null][];
  /** The columns of the primary key, and of each index, with what makes it special. */
  keys: string[];
}

const SQLITE = {
  tables: "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%' ORDER BY name",
  columns:
    `SELECT name, lower(type), "notnull" = 1 OR pk > 0, dflt_value FROM pragma_table_info(?) ORDER BY cid`,
  keys:
    `SELECT 'key ' || group_concat(name, ' ') FROM (SELECT name FROM pragma_table_info(?1) WHERE pk > 0 ORDER BY pk)
    HAVING count(*) > 0
    UNION ALL SELECT 'unique ' || group_concat(c.name, ' ') FROM pragma_index_list(?1) i, pragma_index_info(i.name) c
    WHERE i.origin = 'u' GROUP BY i.name
    UNION ALL SELECT replace(sql, 'CREATE ', '') FROM sqlite_schema WHERE type = 'index' AND tbl_name = ?1 AND sql IS NOT NULL`,
};

const POSTGRES = {
  tables:
    `SELECT CAST(tablename AS TEXT) FROM pg_tables WHERE schemaname = 'public' ORDER BY tablename COLLATE "C"`,
  columns:
    `SELECT CAST(column_name AS TEXT), CASE data_type WHEN 'bigint' THEN 'integer' WHEN 'integer' THEN '32 bits' ELSE data_type END,
      is_nullable = 'NO', replace(column_default, '::text', ''), collation_name
    FROM information_schema.columns WHERE table_name = ? ORDER BY ordinal_position`,
  keys:
    `SELECT CASE c.contype WHEN 'p' THEN 'key ' ELSE 'unique ' END || string_agg(a.attname, ' ' ORDER BY k.n)
    FROM pg_constraint c CROSS JOIN unnest(c.conkey) WITH ORDINALITY AS k (number, n)
    JOIN pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = k.number
    WHERE c.conrelid = CAST(CAST(?1 AS TEXT) AS regclass) AND c.contype IN ('p', 'u') GROUP BY c.oid
    UNION ALL SELECT indexdef FROM pg_indexes x WHERE x.tablename = ?1
      AND NOT EXISTS (SELECT 1 FROM pg_constraint c WHERE c.conname = x.indexname)`,
};

/** An index as SQLite's text of it: PostgreSQL writes its own. */
function indexOf(text: string): string {
  return text.replace(/^CREATE /, "").replaceAll("public.", "").replace(" USING btree", "").replaceAll(
    '"',
    "",
  )
    .replaceAll("::text", "").replace(/= ANY \(\(?ARRAY\[(.*?)\](?:\)::text\[\])?\)/, "IN ($1)")
    .replace(/ WHERE \((.*)\)$/, " WHERE $1").replaceAll(/\(([a-z_]+ (?:=|IS)[^()]*)\)/g, "$1").replace(
      /\s+/g,
      " ",
    );
}

async function readSchema(store: Store): Promise<Map<string, Table>> {
  const queries = store.engine === "sqlite" ? SQLITE : POSTGRES;
  const names = (await store.read({ sql: queries.tables })).rows.flat() as string[];
  const schema = new Map<string, Table>();
  for (const name of names) {
    const columns = (await store.read({ sql: queries.columns, args: [name] })).rows;
    const keys = (await store.read({ sql: queries.keys, args: [name] })).rows.flat() as string[];
    for (const [column, type, , , collation] of store.engine === "sqlite" ? [] : columns) {
      if (type === "text" && name !== "purser_migrations") {
        assert.equal(collation, "C", `${name}.${column} is ordered by its bytes`);
      }
    }
    schema.set(name, {
      columns: columns.map(([column, type, isNotNull, initial]) =>
        [column, type, isNotNull === 1n, initial] as Table["columns"][number]
      ),
      keys: keys.map(indexOf).sort(),
    });
  }
  return schema;
}

const [file, postgres] = databaseKinds().filter(({ name }) => name === "memory" || name === "postgres");

Deno.test({
  name:
    "the tables of PostgreSQL have the columns, keys and indexes of those of SQLite, and those of the code",
  ignore: skipPostgres,
  async fn() {
    await using one = await file!.create();
    await using other = await postgres!.create();
    const [expected, actual] = [await readSchema(await one.open()), await readSchema(await other.open())];
    assert.ok(actual.delete("ledger_lock") && actual.delete("write_tokens")); // the driver's own
    assert.deepEqual([...actual.keys()], [...expected.keys()]);
    for (const [name, table] of actual) assert.deepEqual(table, expected.get(name), name);
    for (const table of Object.values(tables)) {
      const { name, columns } = getTableConfig(table);
      const inCode = columns.map((
        column,
      ) => [column.name, column.getSQLType(), column.notNull || column.primary]);
      assert.deepEqual(actual.get(name)?.columns.map((column) => column.slice(0, 3)), inCode, name);
    }
  },
});
