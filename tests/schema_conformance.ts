import assert from "node:assert/strict";
import { recordCalls } from "../src/ledger/mod.ts";
import { ConstraintError, installLogic, type Logic, type Store, tables } from "../src/store/mod.ts";
import { PurserError } from "../src/kernel/errors.ts";
import { migrations } from "../src/store/migrations/migrations.ts";
import { USER_TABLES } from "../src/store/dialect.ts";
import { migrate } from "../src/store/schema/migrate.ts";
import { getTableConfig } from "drizzle-orm/sqlite-core";
import { eagerClock } from "./harness/eager_clock.ts";
import type { DatabaseKind } from "./harness/databases.ts";
import { modelCall } from "./harness/model_calls.ts";
import { one, testOver } from "./harness/store_tests.ts";

const clock = eagerClock();

/** The contract of every database: its tables, its triggers and views, and migrations. */
export function testSchema(kind: DatabaseKind): void {
  const { name, ignore } = kind;
  const test = testOver(kind);

  test("the tables that queries are built from are the tables of the migrated database", async (store) => {
    if (store.engine === "postgres") return; // they are compared with those of SQLite: tests/postgres/schema_test.ts
    for (const table of Object.values(tables)) {
      const { name: tableName, columns } = getTableConfig(table);
      const { rows } = await store.read({
        sql: 'SELECT name, lower(type), "notnull", pk > 0 FROM pragma_table_info(?)',
        args: [tableName],
      });
      const inDatabase = rows.map(([column, type, isNotNull, isKey]) => ({
        column,
        type,
        // An INTEGER PRIMARY KEY is the rowid: never NULL, even if its declaration allows it.
        isNotNull: isNotNull === 1n || (isKey === 1n && type === "integer"),
      }));
      const inCode = columns.map((column) => ({
        column: column.name,
        type: column.getSQLType(),
        isNotNull: column.notNull || column.primary,
      }));
      assert.deepEqual(inCode, inDatabase, tableName);
      const keys = columns.filter((column) => column.primary).map((column) => column.name);
      const inPrimaryKey = rows.filter((row) => row[3] === 1n).map((row) => row[0]);
      if (keys.length > 0) assert.deepEqual(keys, inPrimaryKey, tableName);
    }
  });

  const LOGIC: (Logic & { sql: string })[] = [
    { name: "logic_view", sql: "CREATE VIEW logic_view AS SELECT 1 AS a" },
    {
      name: "logic_trigger",
      engine: "sqlite",
      sql:
        "CREATE TRIGGER logic_trigger INSTEAD OF INSERT ON logic_view BEGIN SELECT RAISE(ABORT, 'one'); END",
    },
    {
      name: "logic_trigger",
      engine: "postgres",
      sql: `DO $do$ BEGIN
        CREATE FUNCTION logic_trigger() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN RAISE EXCEPTION USING MESSAGE = 'one', ERRCODE = 'integrity_constraint_violation'; END $$;
        CREATE TRIGGER logic_trigger INSTEAD OF INSERT ON logic_view FOR EACH ROW EXECUTE FUNCTION logic_trigger();
      END $do$`,
    },
  ];
  const namesOf = async (store: Store) =>
    (await store.read({
      sql: store.engine === "sqlite"
        ? "SELECT name FROM sqlite_schema WHERE name LIKE 'logic\\_%' ESCAPE '\\' ORDER BY name"
        : `SELECT relname FROM pg_class WHERE relname LIKE 'logic\\_%' UNION ALL
          SELECT proname FROM pg_proc WHERE proname LIKE 'logic\\_%' ORDER BY 1`,
    })).rows.flat();

  test(
    "logic is installed once, again when its text has changed, and dropped when it is removed",
    async (_, open) => {
      let commits = 0;
      const store = await open({ onCommit: () => void commits++ });
      const installing = async (logic: readonly Logic[]) => {
        const before = commits;
        await installLogic(store, logic);
        return commits - before;
      };
      assert.equal(await installing(LOGIC), 1);
      assert.equal(await installing(LOGIC), 0);
      assert.deepEqual(await namesOf(store), ["logic_trigger", "logic_view"]);
      await assert.rejects(store.write([{ sql: "INSERT INTO logic_view VALUES (1)" }]), /one/);

      const changed = LOGIC.map((each) => ({ ...each, sql: String(each.sql).replace("'one'", "'two'") }));
      assert.equal(await installing(changed), 1);
      assert.equal(await installing(changed), 0);
      await assert.rejects(store.write([{ sql: "INSERT INTO logic_view VALUES (1)" }]), /two/);

      assert.equal(await installing(LOGIC.slice(0, 1)), 1);
      assert.deepEqual(await namesOf(store), ["logic_view"]);
      assert.equal(await installing(LOGIC.slice(0, 1)), 0);

      // A view with a trigger's old name, and logic for another kind of database.
      const other = store.kind === "remote" ? "file" : "remote";
      const kinds: Logic[] = [
        { ...LOGIC[0]!, sql: "CREATE VIEW logic_view AS SELECT 2 AS a" },
        { name: "logic_own", only: store.kind, sql: "CREATE VIEW logic_own AS SELECT 1" },
        { name: "logic_other", only: other, sql: "CREATE VIEW logic_other AS SELECT 1" },
      ];
      assert.equal(await installing(kinds), 1);
      assert.equal(await installing(kinds), 0);
      assert.deepEqual(await namesOf(store), ["logic_own", "logic_view"]);
      assert.equal(await installing([]), 1);
      assert.deepEqual(await namesOf(store), []);
    },
  );

  test("invalid logic leaves what was installed before", async (store) => {
    await installLogic(store, LOGIC);
    const wrong = [LOGIC[0]!, { name: "logic_trigger", sql: "CREATE TRIGGER logic_trigger nonsense" }];
    await assert.rejects(installLogic(store, wrong));
    await assert.rejects(store.write([{ sql: "INSERT INTO logic_view VALUES (1)" }]), /one/);
    await installLogic(store, LOGIC);
  });

  test("the event log refuses UPDATE, DELETE and REPLACE", async (store) => {
    const event = {
      sql:
        "INSERT INTO events (event_id, session_id, seq, agent_id, type, at) VALUES (1, 's', 1, 'a', 'run.started', 1)",
    };
    await store.write([event]);
    const attempts = [
      "UPDATE events SET type = 'x'",
      "UPDATE events SET payload = NULL WHERE event_id = 1",
      "DELETE FROM events",
      "DELETE FROM events WHERE event_id = 1",
    ];
    if (store.engine === "postgres") attempts.push("TRUNCATE events");
    else {attempts.push(
        "INSERT OR REPLACE INTO events (event_id, session_id, seq, agent_id, type, at) VALUES (1, 's', 2, 'b', 'x', 2)",
        "INSERT OR REPLACE INTO events (session_id, seq, agent_id, type, at) VALUES ('s', 1, 'b', 'x', 2)",
        "UPDATE OR REPLACE events SET event_id = 2 WHERE event_id = 1",
      );}
    for (const sql of attempts) await assert.rejects(store.write([{ sql }]), ConstraintError, sql);
    await assert.rejects(store.write([event]), ConstraintError);
    assert.deepEqual((await store.read({ sql: "SELECT event_id, session_id, seq, type FROM events" })).rows, [
      [1n, "s", 1n, "run.started"],
    ]);
  });

  test("the ledger refuses UPDATE, DELETE and REPLACE", async (store) => {
    const [insert] = recordCalls([modelCall({ callId: "a" }), modelCall({ callId: "b" })]);
    await store.write([insert!]);
    const before = (await store.read({ sql: "SELECT * FROM calls ORDER BY position" })).rows;
    assert.deepEqual(before.map(([position, callId]) => [position, callId]), [[1n, "a"], [2n, "b"]]);
    const replace = (columns: string) =>
      `INSERT OR REPLACE INTO calls SELECT ${columns}, adjusts, at, agent_id, session_id, run_id, step, key_id, source,
        tools, provider, model, service_tier, response_id, input_tokens, output_tokens, cache_read_tokens,
        cache_write_tokens, cache_write_1h_tokens, reasoning_tokens, total_tokens, 7, unpriced, partly_priced,
        unpriced_parts, price_source, price_id, duration_ms, is_estimated, details, tags, stated_nano_usd, stands, plan_nano_usd, request_id, root_session_id, upstream_id
        FROM calls WHERE call_id = 'a'`;
    const attempts = [
      "UPDATE calls SET cost_nano_usd = 1",
      "UPDATE calls SET tools = '[]' WHERE position = 1",
      "DELETE FROM calls",
      "DELETE FROM calls WHERE call_id = 'a'",
    ];
    if (store.engine === "postgres") attempts.push("TRUNCATE calls");
    else {attempts.push(
        "UPDATE OR REPLACE calls SET position = 2 WHERE position = 1",
        replace("position, call_id"),
        replace("NULL, call_id"),
        replace("2, 'c'"),
      );}
    for (const sql of attempts) await assert.rejects(store.write([{ sql }]), ConstraintError, sql);
    await assert.rejects(store.write([insert!]), ConstraintError);
    assert.deepEqual((await store.read({ sql: "SELECT * FROM calls ORDER BY position" })).rows, before);
  });

  test("migrating a database that is up to date changes nothing", async (store) => {
    const history = { sql: "SELECT * FROM purser_migrations" };
    const before = await store.read(history);
    assert.equal(before.rows.length, migrations.length);
    clock.advance(1_000);
    await migrate(store, clock);
    assert.deepEqual(await store.read(history), before);
  });

  test("migrations are applied in order, each once", async (store) => {
    const two = [
      {
        version: 1,
        name: "first",
        since: "1.0.0",
        statements: ["CREATE TABLE steps (n BIGINT)", "INSERT INTO steps VALUES (1)"],
      },
      { version: 2, name: "second", since: "1.0.0", statements: ["INSERT INTO steps VALUES (2)"] },
    ];
    await migrate(store, clock, two.slice(0, 1));
    await migrate(store, clock, two);
    await migrate(store, clock, two);
    assert.deepEqual((await store.read({ sql: "SELECT n FROM steps ORDER BY n" })).rows, [[1n], [2n]]);
    assert.deepEqual(
      (await store.read({ sql: "SELECT version, name FROM purser_migrations ORDER BY 1" })).rows,
      [
        [1n, "first"],
        [2n, "second"],
      ],
    );
  }, { isMigrated: false });

  test("a database that is newer than the program is refused, and stays as it is", async (store) => {
    await store.write([{ sql: "INSERT INTO purser_migrations VALUES (99, 'future', 'x', 1)" }]);
    await assert.rejects(migrate(store, clock), (error) => {
      assert.ok(error instanceof PurserError);
      assert.equal(error.code, "conflict");
      assert.match(
        error.message,
        new RegExp(`version 99.*knows up to ${migrations.at(-1)!.version}; upgrade Purser`),
      );
      return true;
    });
    assert.equal(await one(store, "SELECT count(*) FROM purser_migrations"), BigInt(migrations.length + 1));
  });

  test("a migration that was changed after it was applied is refused", async (store) => {
    const changed = migrations.map((step) => ({
      ...step,
      statements: [...step.statements, "CREATE TABLE more (a)"],
    }));
    await assert.rejects(
      migrate(store, clock, changed),
      (error) =>
        error instanceof PurserError && error.code === "conflict" &&
        /migration 22 \(release_0_1_0\)/.test(error.message),
    );
    await assert.rejects(store.read({ sql: "SELECT * FROM more" }), /no such table/);
  });

  test("a migration that fails leaves nothing behind, and can be retried", async (store) => {
    const { rows: empty } = await store.read({ sql: USER_TABLES }); // a server has its own
    const good = { version: 1, name: "good", since: "1.0.0", statements: ["CREATE TABLE first (a BIGINT)"] };
    const bad = {
      version: 2,
      name: "bad",
      since: "1.0.0",
      statements: [
        "CREATE TABLE second (a BIGINT PRIMARY KEY)",
        "INSERT INTO second VALUES (1)",
        "INSERT INTO nowhere VALUES (1)",
      ],
    };
    const refused = { ...bad, statements: [...bad.statements.slice(0, 2), "INSERT INTO second VALUES (1)"] };
    // A new database is there as a whole, or not at all; another one step by step.
    await assert.rejects(migrate(store, clock, [good, bad]), /no such table: nowhere/);
    await assert.rejects(migrate(store, clock, [good, refused]), ConstraintError);
    assert.deepEqual((await store.read({ sql: USER_TABLES })).rows, empty);
    await migrate(store, clock, [good]);
    await assert.rejects(migrate(store, clock, [good, bad]), /no such table: nowhere/);
    await assert.rejects(migrate(store, clock, [good, refused]), ConstraintError);
    assert.deepEqual((await store.read({ sql: "SELECT version FROM purser_migrations" })).rows, [[1n]]);
    await assert.rejects(store.read({ sql: "SELECT * FROM second" }), /no such table/);
    await migrate(store, clock, [good, { ...bad, statements: bad.statements.slice(0, 2) }]);
    assert.equal(await one(store, "SELECT count(*) FROM second"), 1n);
  }, { isMigrated: false });

  Deno.test({
    name: `${name}: stores that open a new database at once migrate it once`,
    ignore: ignore || name === "memory",
    async fn() {
      await using database = await kind.create();
      const stores = await Promise.all(Array.from({ length: 6 }, () => database.open()));
      for (const store of stores) {
        assert.equal(await one(store, "SELECT count(*) FROM purser_migrations"), BigInt(migrations.length));
      }
    },
  });

  Deno.test({
    name: `${name}: of several logics installed at once, one is installed completely`,
    ignore: ignore || name === "memory",
    async fn() {
      await using database = await kind.create();
      const stores = await Promise.all(Array.from({ length: 4 }, () => database.open()));
      for (let round = 0; round < 5; round++) {
        const versions = stores.map((_, i) =>
          LOGIC.map(({ sql, ...logic }) => ({
            ...logic,
            sql: sql.replace("'one'", `'round ${round} of ${i % 2}'`),
          }))
        );
        await Promise.all(stores.map((store, i) => installLogic(store, versions[i]!)));
        const { rows } = await stores[0]!.read({
          sql: "SELECT count(*), count(DISTINCT hash) FROM installed_logic WHERE name LIKE 'logic%'",
        });
        assert.deepEqual(rows, [[2n, 1n]]);
        assert.deepEqual(await namesOf(stores[0]!), ["logic_trigger", "logic_view"]);
        const refusals = await Promise.all(
          stores.map((store) =>
            store.write([{ sql: "INSERT INTO logic_view VALUES (1)" }]).then(
              () => "",
              (error) => error.message,
            )
          ),
        );
        assert.match(refusals[0]!, new RegExp(`round ${round} of [01]`));
        assert.equal(new Set(refusals.map((text) => /round \d of \d/.exec(text)?.[0])).size, 1);
      }
    },
  });
}
