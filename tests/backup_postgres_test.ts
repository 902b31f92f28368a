import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { systemClock, toIso } from "../src/kernel/clock.ts";
import { createIds } from "../src/kernel/ids.ts";
import { makeLarge, readBooks, succeed } from "./harness/backups.ts";
import { newPlace, type Place, purser, start, startServer } from "./harness/cli_process.ts";
import { inProcess } from "./harness/in_process.ts";
import { type Postgres, queryPostgres, skipPostgres, startPostgres } from "./harness/postgres.ts";
import { skipSqld, startSqld } from "./harness/sqld.ts";
import { openTestPurser } from "./harness/test_purser.ts";
import { isThorough } from "./harness/thorough.ts";

/** `purser backup` and `purser restore` over PostgreSQL, as far as they differ from those over a libSQL server. */

let server: Postgres;
let count = 0;

if (!skipPostgres) {
  Deno.test.beforeAll(async () => void (server = await startPostgres()));
  Deno.test.afterAll(async () => await server?.[Symbol.asyncDispose]()); // undefined where it could not start
}

/** Declares a test with an empty database, and the place of a file with one call. */
function test(
  name: string,
  fn: (url: string, place: Place & { db: string }) => Promise<void>,
  ignore = false,
) {
  Deno.test({
    name,
    ignore: skipPostgres || ignore,
    async fn() {
      await using place = await newPlace();
      for (const line of [["agents", "set", "echo", "--model", "demo:echo"], ["run", "echo", "Hello"]]) {
        const { code, err } = await inProcess(place, line);
        assert.equal(code, 0, err);
      }
      await using database = await server.createDatabase(`d${++count}`);
      await fn(database.url, { ...place, db: place.env.PURSER_DB! });
    },
  });
}

/** All rows of all tables of a file, but of what each engine makes for itself. */
function rowsOf(path: string): Map<string, string[]> {
  const database = new DatabaseSync(path, { readOnly: true });
  const all = (sql: string) => {
    const statement = database.prepare(sql);
    statement.setReturnArrays(true);
    return statement.all() as unknown as string[][];
  };
  const rows = new Map<string, string[]>();
  for (const [name] of all("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")) {
    if (name === "installed_logic") continue;
    const columns = all(`SELECT name FROM pragma_table_info('${name}') ORDER BY name`).map((row) =>
      `quote("${row[0]}")`
    );
    rows.set(name!, all(`SELECT concat_ws(' | ', ${columns.join(", ")}) FROM "${name}"`).flat().sort());
  }
  database.close();
  return rows;
}

/** Texts that a format of PostgreSQL or JSON could misread. */
const TEXTS = [
  "",
  "NULL",
  `{"a": [1, null]}`,
  `'"\\\\N\\\\{},\t\r\n$1 $$ ?1 /*!`,
  "Grüße 🛳️ \u{10ffff}",
  " ",
];

/** Adds rows to every table of a file: the smallest and largest integers, those that a double rounds, odd texts and NULL. */
function addOddRows(path: string): void {
  const database = new DatabaseSync(path);
  const tables = database.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all() as {
    name: string;
  }[];
  const triggers = database.prepare("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'").all() as {
    name: string;
    sql: string;
  }[];
  for (const { name } of triggers) database.exec(`DROP TRIGGER ${name}`);
  let n = 0n;
  for (const { name } of tables) {
    if (["purser_migrations", "installed_logic"].includes(name)) continue;
    const columns = database.prepare(
      `SELECT name, type, "notnull" OR pk > 0 AS needed FROM pragma_table_info('${name}')`,
    )
      .all() as { name: string; type: string; needed: number }[];
    const insert = database.prepare(`INSERT INTO "${name}" VALUES (${columns.map(() => "?").join(", ")})`);
    TEXTS.forEach((text, row) => {
      insert.run(...columns.map(({ name: column, type, needed }) => {
        n++;
        if (needed === 0 && (Number(n) + row) % 3 === 0) return null;
        if (type !== "INTEGER") return row === 0 && needed === 1 ? `${n}` : `${text}${needed === 1 ? n : ""}`;
        if (column === "unpriced") return n % 2n;
        if (column === "position" || column === "at") return n; // up to which the ledger is summed, and its newest call
        return [n, 2n ** 53n + n, 2n ** 63n - n, -(2n ** 63n) + n][row % 4]!;
      }));
    });
  }
  for (const { sql } of triggers) database.exec(sql);
  database.close();
}

test(
  "every row of every table comes back from PostgreSQL as it was in the file, and the guards are in place",
  async (url, place) => {
    const [odd, back] = [`${place.folder}/odd.db`, `${place.folder}/back.db`];
    await succeed(place, ["backup", "--to", odd]);
    addOddRows(odd);
    await succeed(place, ["restore", "--from", odd, "--db", url]);
    await succeed(place, ["backup", "--to", back, "--db", url]);
    const [expected, actual] = [rowsOf(odd), rowsOf(back)];
    assert.deepEqual([...actual.keys()], [...expected.keys()]);
    for (const [name, rows] of expected) {
      assert.ok(rows.length >= (name === "purser_migrations" ? 1 : TEXTS.length), name);
      assert.deepEqual(actual.get(name), rows, name);
    }
    for (
      const sql of ["UPDATE calls SET at = 1", "DELETE FROM events", "TRUNCATE calls", "DELETE FROM api_keys"]
    ) {
      await assert.rejects(queryPostgres(url, sql), /append-only|never deleted/);
    }
    const triggers = "SELECT count(*) FROM pg_trigger WHERE NOT tgisinternal AND tgenabled <> 'O'";
    assert.deepEqual(await queryPostgres(url, triggers), [{ count: "0" }]);
  },
);

test(
  "a file becomes a database in PostgreSQL that goes on where the file ended, and one in PostgreSQL a file",
  async (url, place) => {
    const backup = `${place.folder}/backup.db`;
    const said = await succeed(place, ["backup", "--to", backup]);
    const { database, kept_as, ...restored } = await succeed(place, [
      ...["restore", "--from", backup, "--db", `${url}?schema=tenant`],
    ]);
    const { file: _file, bytes: _bytes, ...sums } = said;
    assert.deepEqual([database, kept_as, restored], [
      `127.0.0.1:${server.port}/d${count}?schema=tenant`,
      null,
      sums,
    ]);
    place.env.PURSER_DB = `${url}?schema=tenant`;
    assert.equal((await inProcess(place, ["run", "echo", "And on"])).code, 0);
    assert.equal((await readBooks(place.env.PURSER_DB)).calls, 2);
    assert.deepEqual(await queryPostgres(url, "SELECT position::int FROM tenant.calls ORDER BY position"), [
      { position: 1 },
      { position: 2 },
    ]);
    const { file } = await succeed(place, ["backup", "--to", place.folder]);
    assert.match(file, new RegExp(`^${place.folder}/d${count}-tenant-\\d{8}T\\d{6}Z\\.db$`));
    await succeed(place, ["restore", "--from", file, "--db", place.db, "--replace"]);
    assert.deepEqual(await readBooks(place.db), await readBooks(place.env.PURSER_DB));
    assert.equal(
      (await inProcess({ env: { ...place.env, PURSER_DB: place.db } }, ["run", "echo", "Back"])).code,
      0,
    );
    assert.equal((await readBooks(place.db)).calls, 3);
  },
);

// A backup is a file, whatever it is of: the gate has files of each kind of database in other tests.
test(
  "a backup of a libSQL server becomes a database in PostgreSQL with the same books",
  async (url, place) => {
    await using sqld = await startSqld({ durability: "strong" });
    await succeed(place, ["backup", "--to", `${place.folder}/file.db`]);
    await succeed(place, ["restore", "--from", `${place.folder}/file.db`, "--db", sqld.url]);
    await succeed(place, ["backup", "--to", `${place.folder}/sqld.db`, "--db", sqld.url]);
    await succeed(place, ["restore", "--from", `${place.folder}/sqld.db`, "--db", url]);
    assert.deepEqual(await readBooks(url), await readBooks(place.db));
  },
  skipSqld || !isThorough,
);

test(
  "backups that are made while several processes book and roll up have whole calls, and the totals of exactly these",
  async (url, place) => {
    const backup = `${place.folder}/backup.db`;
    makeLarge(place.db, 500);
    await succeed(place, ["backup", "--to", backup]);
    await succeed(place, ["restore", "--from", backup, "--db", url]);
    const open = () => openTestPurser({ config: { dbUrl: url }, ids: createIds(systemClock) });
    await using one = await open();
    await using other = await open();
    let isDone = false;
    let booked = 1;
    const booking = [one, other].map(async ({ api, clock }, i) => {
      for (let n = 0; !isDone; n++) {
        const calls = Array.from({ length: 7 }, (_, k) => ({
          ...{ call_id: `call_${i}_${n}_${k}`, at: toIso(clock.now()), agent_id: `a${k}` },
          ...{ provider: "local", model: "m", input_tokens: 1, output_tokens: 1, cost_usd: 0.001 },
        }));
        const { status, body } = await api("POST", "/costs/events", calls);
        assert.equal(status, 201, JSON.stringify(body));
        booked += 7;
      }
    });
    for (let n = 0; n < (isThorough ? 2 : 1); n++) {
      const before = booked;
      const file = `${place.folder}/backup${n}.db`;
      const { calls } = await succeed(place, ["backup", "--to", file, "--db", url]);
      assert.ok(booked > before, "calls were booked meanwhile");
      assert.ok(calls >= before && (calls - 1) % 7 === 0, `${before} ${calls}`);
      assert.equal((await readBooks(file)).calls, calls);
    }
    isDone = true;
    await Promise.all(booking);
    assert.equal((await readBooks(url)).calls, booked);
  },
);

/** Rows of which a restore inserts for long enough to be stopped. */
const MANY = 10_000;

/** Asks one connection of the server until a condition on its sessions holds. */
async function untilSessions(count: string): Promise<void> {
  const ask = `DO $$ BEGIN
  WHILE NOT (SELECT ${count}) LOOP PERFORM pg_stat_clear_snapshot(), pg_sleep(0.002); END LOOP; END $$`;
  await queryPostgres(server.urlOf("postgres"), ask);
}

/** Waits until a restore inserts rows. */
const untilItInserts = () =>
  untilSessions(
    `count(*) > 0 FROM pg_stat_activity WHERE query LIKE 'INSERT INTO "imported_events"%' AND pid <> pg_backend_pid()`,
  );

/** Waits until the server has ended all sessions of a database. */
const untilFree = (url: string) =>
  untilSessions(`count(*) = 0 FROM pg_stat_activity WHERE datname = '${new URL(url).pathname.slice(1)}'`);

test("a restore to PostgreSQL that is killed or interrupted has changed nothing", async (url, place) => {
  const [small, large] = [`${place.folder}/small.db`, `${place.folder}/large.db`];
  await succeed(place, ["backup", "--to", small]);
  await Deno.copyFile(small, large);
  makeLarge(large, MANY);
  await succeed(place, ["restore", "--from", small, "--db", url]);
  assert.equal(
    (await inProcess({ env: { ...place.env, PURSER_DB: url } }, ["run", "echo", "Second"])).code,
    0,
  );
  const before = await readBooks(url);
  assert.equal(before.calls, 2);
  const empty = `${url}?schema=empty`;
  const stops = [[url, "SIGKILL", 137], [empty, "SIGKILL", 137], [url, "SIGINT", 130], [
    empty,
    "SIGINT",
    130,
  ]] as const;
  for (const [db, signal, expected] of isThorough ? stops : [stops[0], stops[3]]) {
    await untilFree(url);
    const child = start(place, ["restore", "--from", large, "--db", db, "--replace"]);
    await untilItInserts();
    child.kill(signal);
    assert.equal((await child.output()).code, expected);
    await untilFree(url);
    assert.deepEqual(await readBooks(url), before);
    assert.deepEqual(await queryPostgres(url, "SELECT 1 FROM pg_namespace WHERE nspname = 'empty'"), []);
  }
  await untilFree(url);
  await succeed(place, ["restore", "--from", small, "--db", url, "--replace"]);
  assert.equal((await readBooks(url)).calls, 1);
});

test(
  "a database in use is not replaced, and one that is being restored is not opened",
  async (url, place) => {
    const backup = `${place.folder}/backup.db`;
    await succeed(place, ["backup", "--to", backup]);
    await succeed(place, ["restore", "--from", backup, "--db", url]);
    const there = { ...place, env: { ...place.env, PURSER_DB: url } };
    {
      await using _server = await startServer(there);
      const { code, out, err } = await purser(there, ["restore", "--from", backup, "--replace"]);
      assert.deepEqual([code, out], [1, ""]);
      assert.equal(
        err,
        `error: Cannot restore the database at 127.0.0.1:${server.port}: another process has it open; ` +
          "end every process that uses it first\n",
      );
      // Another schema is another database.
      await succeed(place, ["restore", "--from", backup, "--db", `${url}?schema=other`]);
    }
    makeLarge(backup, MANY);
    await untilFree(url);
    const child = start(there, ["restore", "--from", backup, "--replace"]);
    await untilItInserts();
    child.kill("SIGSTOP");
    const hasty = { env: { ...there.env, PURSER_CONFIG_JSON: '{"remote_timeout_ms": 3000}' } };
    const { code, err } = await inProcess(hasty, ["cost"]);
    assert.equal(code, 1);
    assert.match(
      err,
      /^error: Cannot read the database at \S+: it is being restored from a backup; wait until that has ended\n/,
    );
    const patient = inProcess(there, ["cost"]);
    child.kill("SIGCONT");
    assert.equal((await child.output()).code, 0);
    assert.equal((await patient).code, 0);
  },
);
