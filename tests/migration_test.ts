import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { bookLooseCalls } from "../src/calls/mod.ts";
import { systemClock } from "../src/kernel/clock.ts";
import { countingIds } from "../src/kernel/ids.ts";
import { databaseLogic } from "../src/service/parts.ts";
import { migrations } from "../src/store/migrations/migrations.ts";
import { EARLIER_SCHEMAS } from "../src/store/migrations/before_0_1_0.ts";
import { installLogic, type Store, toObjects } from "../src/store/mod.ts";
import { checksumOf, migrate } from "../src/store/schema/migrate.ts";
import version21 from "./fixtures/databases/version_21.json" with { type: "json" };
import release010 from "./fixtures/databases/release_0_1_0.json" with { type: "json" };
import commitC62bf31d from "./fixtures/databases/c62bf31d.json" with { type: "json" };
import {
  CHANNELS,
  PRICES,
  readAnswers,
  type RecordedDatabase,
} from "./fixtures/databases/record_database.ts";
import { createBooking } from "./harness/booking.ts";
import { checkTotals } from "./harness/check_books.ts";
import { databaseKinds, type TestDatabase } from "./harness/databases.ts";
import { openHttpClient } from "./harness/http_client.ts";
import { inDirectory } from "./harness/in_directory.ts";
import { modelCall } from "./harness/model_calls.ts";
import { openTestPurser } from "./harness/test_purser.ts";

/** Each release has a row, recorded by its own checkout: tests/fixtures/databases/record_database.ts. */
const RECORDED: Record<string, RecordedDatabase> = {
  "0.1.0": release010,
  "the commit c62bf31d (2026-11-26)": commitC62bf31d,
  "the last commit before 0.1.0 (2026-11-26)": version21,
};

const open = (database: TestDatabase) => database.open({ isMigrated: false });

/** Makes a recorded database again, as far as the statements go. */
const restore = (store: Store, { statements }: RecordedDatabase) =>
  store.write(statements.map((sql) => ({ sql })));

/** The schema without white space that means nothing: SQLite adds columns without line breaks. */
async function schemaOf(store: Store): Promise<Record<string, string>> {
  const { rows } = await store.read({
    sql: `SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL AND name <> 'write_tokens'
  AND name NOT LIKE 'libsql\\_%' ESCAPE '\\' ORDER BY name`,
  });
  return Object.fromEntries(
    rows.map(([name, sql]) => [name, String(sql).replaceAll(/\s*([(),])\s*|\s+/g, "$1 ")]),
  );
}

/** Every row of every table but Purser's own, as text, with the columns that a table had when it was recorded. */
async function rowsOf(store: Store, columns?: Record<string, string[]>): Promise<Record<string, unknown[]>> {
  const { rows: tables } = await store.read({
    sql: `SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'
  AND name NOT LIKE 'libsql\\_%' ESCAPE '\\'
  AND name NOT IN ('purser_migrations', 'installed_logic', 'write_tokens') ORDER BY name`,
  });
  const all: Record<string, unknown[]> = {};
  for (const [name] of tables) {
    const table = String(name);
    if (columns && !columns[table]) continue;
    const result = await store.read({ sql: `SELECT ${columns?.[table]?.join(", ") ?? "*"} FROM ${table}` });
    if (result.rows.length > 0) all[table] = toObjects(result);
  }
  return all;
}

const columnsOf = (rows: Record<string, unknown[]>) =>
  Object.fromEntries(
    Object.entries(rows).flatMap(([table, [row]]) => row ? [[table, Object.keys(row as object)]] : []),
  );

/** Simulates a process that is killed before its nth commit from now on. */
function killedAfter(store: Store, commits: number): Store {
  return new Proxy(store, {
    get(target, name) {
      if (name === "write") {
        return (...args: Parameters<Store["write"]>) =>
          commits-- > 0 ? target.write(...args) : Promise.reject(new Error("killed"));
      }
      const value = Reflect.get(target, name, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

const historyOf = async (store: Store) =>
  (await store.read({
    sql: "SELECT version, name, checksum, applied_at FROM purser_migrations ORDER BY version",
  }))
    .rows;

// No earlier program has made a database in PostgreSQL; tests/schema_conformance.ts has what is common to all.
for (const kind of databaseKinds().filter(({ name }) => name !== "postgres")) {
  const { name, ignore } = kind;

  const test = (sentence: string, body: (database: TestDatabase) => Promise<void>): void => {
    Deno.test({
      name: `${name}: ${sentence}`,
      ignore,
      async fn() {
        await using database = await kind.create();
        await body(database);
      },
    });
  };

  test("a new database is made in one commit for each migration, by one of several processes that start at once", async (database) => {
    const store = await open(database);
    await assert.rejects(migrate(killedAfter(store, 0), systemClock), /killed/);
    assert.deepEqual(Object.keys(await schemaOf(store)), []);
    const others = name === "memory" ? [] : [await open(database), await open(database)];
    await Promise.all(
      [killedAfter(store, migrations.length), ...others].map((each) => migrate(each, systemClock)),
    );
    assert.deepEqual(
      (await historyOf(store)).map(([version]) => Number(version)),
      migrations.map((one) => one.version),
    );
  });

  for (const [what, recorded] of Object.entries(RECORDED)) {
    test(`a database of ${what} has every row and a new one's schema when it is upgraded`, async (database) => {
      const store = await open(database);
      await restore(store, recorded);
      const before = await rowsOf(store);
      assert.equal(before.calls!.length > 30 && before.alerts!.length > 5, true);
      const firstAt = (await historyOf(store))[0]![3];
      // Killed before its first commit, then by several processes at once; each migration is one commit.
      await assert.rejects(migrate(killedAfter(store, 0), systemClock), /killed/);
      const others = name === "memory" ? [] : [await open(database), await open(database)];
      await Promise.all(
        [killedAfter(store, migrations.length), ...others].map((each) => migrate(each, systemClock)),
      );
      await installLogic(store, databaseLogic);

      assert.deepEqual(await rowsOf(store, columnsOf(before)), before);
      await checkTotals(store);
      const history = await historyOf(store);
      const expected = migrations.map(async (one) => [BigInt(one.version), one.name, await checksumOf(one)]);
      assert.deepEqual(history.map((row) => row.slice(0, 3)), await Promise.all(expected));
      // The time of its first migration stays: by it, spooled calls find their ledger.
      assert.equal(history[0]![3], firstAt);
      await using fresh = await kind.create();
      assert.deepEqual(await schemaOf(store), await schemaOf(await fresh.open()));

      await bookLooseCalls(await createBooking(store, { clock: systemClock }), [
        modelCall({ callId: "new" }),
      ]);
      await checkTotals(store);
    });
  }

  test("a database that is older than those is refused, with the commit that upgrades it", async (database) => {
    const store = await open(database);
    await restore(store, commitC62bf31d);
    await store.write([{ sql: "DELETE FROM purser_migrations WHERE version > 16" }]);
    const before = await schemaOf(store);
    await assert.rejects(migrate(store, systemClock), {
      name: "PurserError",
      code: "conflict",
      message:
        "Cannot open the database: its schema is version 16, and this program upgrades from version 17 on; open it once with Purser of commit c62bf31d",
    });
    await store.write([{ sql: "INSERT INTO purser_migrations VALUES (17, 'x', 'x', 1)" }]);
    await assert.rejects(migrate(store, systemClock), /its migrations up to 17 differ/);
    assert.deepEqual(await schemaOf(store), before);
  });
}

for (const [what, recorded] of Object.entries(RECORDED)) {
  Deno.test(`every cost, limit, run, alert and export of a database of ${what} is unchanged`, () =>
    inDirectory(async (directory) => {
      const dbUrl = `${directory}/purser.db`;
      {
        using database = new DatabaseSync(dbUrl);
        database.exec(recorded.statements.join(";\n"));
      }
      await using purser = await openTestPurser({
        config: { dbUrl, prices: PRICES, channels: CHANNELS },
        ids: laterIds(),
      });
      purser.clock.advance(Date.parse(recorded.at) - purser.clock.now());
      const { key } = recorded;
      assert.equal(
        (await openHttpClient(purser).send("GET", "/keys", { key })).status,
        200,
        "its key is valid",
      );
      const answers = await readAnswers(purser, Object.keys(recorded.answers));
      for (const [path, before] of Object.entries(recorded.answers)) assertKept(answers[path], before, path);
    }));
}

function laterIds() {
  const ids = countingIds();
  for (let i = 0; i < 5_000; i++) ids.next("call");
  return ids;
}

/** Checks that an answer has all that it had; later versions have added fields. */
function assertKept(now: unknown, before: unknown, path: string): void {
  if (typeof before === "string" && path.startsWith("/metrics")) return assertMetrics(String(now), before);
  if (typeof before !== "object" || before === null) return assert.deepEqual(now, before, path);
  if (Array.isArray(before)) assert.equal((now as unknown[]).length, before.length, path);
  for (const [name, value] of Object.entries(before)) {
    assertKept((now as Record<string, unknown>)?.[name], value, `${path} ${name}`);
  }
}

/** Counts of the process are not those of the database. */
function assertMetrics(now: string, before: string): void {
  const lines = (text: string) =>
    text.split("\n").filter((line) => /^purser_(?!build_info|database|queue|event)\w+_total\b/.test(line))
      .sort();
  const kept = new Set(lines(now));
  assert.deepEqual(lines(before).filter((line) => !kept.has(line)), []);
}

Deno.test("schemas from before 0.1.0 are in order, and lead to the first released migration", () => {
  const versions = EARLIER_SCHEMAS.map(({ version }) => version);
  assert.deepEqual(versions, [17, 18, 19, 20, 21]);
  assert.equal(migrations[0]!.version, versions.at(-1)! + 1);
});
