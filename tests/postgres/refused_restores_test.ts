import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import version21 from "../fixtures/databases/version_21.json" with { type: "json" };
import { readBooks, succeed } from "../harness/backups.ts";
import { newPlace } from "../harness/cli_process.ts";
import { inProcess } from "../harness/in_process.ts";
import { ASKED_FOR_PASSWORD, queryPostgres, skipPostgres, startPostgres } from "../harness/postgres.ts";

function change(path: string, sql: string): void {
  const database = new DatabaseSync(path);
  database.exec(sql);
  database.close();
}

Deno.test({
  name: "what can't be restored to PostgreSQL is refused in a sentence, and nothing is written",
  ignore: skipPostgres,
  async fn() {
    await using place = await newPlace();
    await using server = await startPostgres();
    const { url } = await server.createDatabase("books");
    for (const line of [["agents", "set", "echo", "--model", "demo:echo"], ["run", "echo", "Hello"]]) {
      assert.equal((await inProcess(place, line)).code, 0);
    }
    const at = (name: string) => `${place.folder}/${name}`;
    await succeed(place, ["backup", "--to", at("good.db")]);
    const good = await Deno.readFile(at("good.db"));
    await Deno.writeFile(
      at("garbled.db"),
      good.slice().fill(0x55, good.length / 2, good.length / 2 + 40_000),
    );
    await Deno.writeFile(at("newer.db"), good);
    change(at("newer.db"), "INSERT INTO purser_migrations VALUES (99, 'later', 'x', 1)");
    change(at("older.db"), version21.statements.join(";\n"));
    await queryPostgres(
      url,
      `REVOKE ALL ON SCHEMA public FROM PUBLIC; CREATE ROLE ${ASKED_FOR_PASSWORD};
CREATE ROLE guest LOGIN; CREATE ROLE careful LOGIN PASSWORD 'right-password' IN ROLE ${ASKED_FOR_PASSWORD};
CREATE SCHEMA foreign_one; CREATE TABLE foreign_one.notes (text TEXT); INSERT INTO foreign_one.notes VALUES ('mine');
CREATE SCHEMA twins; CREATE TABLE twins.calls (position INTEGER); INSERT INTO twins.calls VALUES (1)`,
    );
    for (const schema of ["used", "newer", "viewed"]) {
      await succeed(place, ["restore", "--from", at("good.db"), "--db", `${url}?schema=${schema}`]);
    }
    await queryPostgres(
      url,
      `CREATE TABLE newer.later (a BIGINT); INSERT INTO newer.purser_migrations VALUES (99, 'later', 'x', 1);
CREATE VIEW viewed.mine AS SELECT position FROM viewed.calls`,
    );
    const as = (user: string) => url.replace("purser@", `${user}@`);
    const cases: [from: string, db: string, message: RegExp][] = [
      ["newer.db", url, /Cannot restore from \S+newer\.db: its schema is version 99 .*; upgrade Purser/],
      ["garbled.db", url, /garbled\.db.* damaged/],
      ["older.db", url, /is of a Purser before 0\.1\.0; restore it to a file, open that once by purser cost/],
      ["good.db", `${url}?schema=used`, /it has content; name another database, or replace it by --replace/],
      ["good.db --replace", `${url}?schema=foreign_one`, /database of another program, it has a table notes/],
      ["good.db --replace", `${url}?schema=twins`, /database of another program, it has a table calls/],
      [
        "good.db --replace",
        `${url}?schema=newer`,
        /it has a table later of a newer Purser or another program; drop it/,
      ],
      [
        "good.db --replace",
        `${url}?schema=viewed`,
        /cannot drop table calls because other objects depend on it \(view mine depends on table calls\); drop those first/,
      ],
      [
        "good.db",
        as("guest"),
        /permission denied to use the schema; grant the user the right, or name another/,
      ],
      [
        "good.db",
        `${as("guest")}?schema=none`,
        /permission denied for database books; grant the user the right/,
      ],
      ["good.db", as("careful"), /it refused the user or the password; check the URL and PURSER_DB_TOKEN/],
      [
        "good.db",
        url.replace(/books$/, "none"),
        /database "none" does not exist; create it, or correct the URL/,
      ],
      ["good.db", url.replace(/:\d+\//, ":1/"), /ECONNREFUSED/],
    ];
    const state =
      `SELECT relnamespace::regnamespace::text AS schema, relname, (SELECT count(*) FROM used.calls) AS calls
FROM pg_class WHERE relkind IN ('r', 'v') ORDER BY relnamespace, relname`;
    const before = await queryPostgres(url, state);
    place.env.PURSER_DB_TOKEN = "wrong-password";
    for (const [from, db, message] of cases) {
      const args = `restore --from ${place.folder}/${from} --db ${db}`.split(" ");
      const { code, out, err } = await inProcess(place, args);
      assert.deepEqual([code, out], [1, ""], `${args.join(" ")}: ${err}`);
      assert.match(err, /^error: Cannot /);
      assert.match(err, message);
      assert.equal(err.trim().split("\n").length, 1, err);
      assert.doesNotMatch(err, /wrong-password/);
    }
    assert.deepEqual(await queryPostgres(url, state), before);
    place.env.PURSER_DB_TOKEN = "right-password";
    await queryPostgres(url, "GRANT ALL ON SCHEMA public TO careful");
    await succeed(place, ["restore", "--from", at("good.db"), "--db", as("careful")]);
    // A backup from before 0.1.0, by the remedy.
    for (
      const args of [
        ["restore", "--from", at("older.db"), "--db", at("upgraded.db")],
        ["cost", "--db", at("upgraded.db")],
        ["backup", "--db", at("upgraded.db"), "--to", at("again.db")],
        ["restore", "--from", at("again.db"), "--db", `${url}?schema=upgraded`],
      ]
    ) assert.equal((await inProcess(place, args)).code, 0, args.join(" "));
    assert.deepEqual(await readBooks(`${url}?schema=upgraded`), await readBooks(at("upgraded.db")));
  },
});
