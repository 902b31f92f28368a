import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { seededRandom } from "../../../tests/harness/random.ts";
import { DumpReader } from "./dump_reader.ts";

/** A dump as sqld writes it: the rows of each table after it, and then indexes, views and triggers. */
const DUMP = `PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE IF NOT EXISTS notes (id INTEGER PRIMARY KEY, text TEXT, about TEXT);
INSERT INTO notes VALUES(1,'It''s;
INSERT INTO notes VALUES(9,''x'');
CREATE TRIGGER t','ATTACH');
INSERT INTO notes VALUES(2,'zero \0 in it','');
INSERT INTO notes VALUES(3,replace('a\\nb;','\\n',char(10)),NULL);
CREATE TABLE IF NOT EXISTS counts (n INTEGER);
INSERT INTO counts VALUES(3);
CREATE INDEX notes_by_text ON notes (text);
CREATE TRIGGER count_notes AFTER INSERT ON notes
BEGIN
  UPDATE counts SET n = n + 1;
INSERT INTO counts SELECT 1 WHERE 0;
END;
CREATE VIEW texts AS SELECT text FROM notes;
COMMIT;
`;

function load(dump: string, cut: (rest: number) => number) {
  const database = new DatabaseSync(":memory:");
  let longest = 0;
  const reader = new DumpReader((sql) => {
    longest = Math.max(longest, sql.length);
    database.exec(sql);
  });
  for (let start = 0; start < dump.length;) {
    const end = start + cut(dump.length - start);
    reader.push(dump.slice(start, end));
    start = end;
  }
  reader.end();
  const rows = database.prepare("SELECT id, hex(text) AS text, about FROM notes ORDER BY id").all();
  const schema = database.prepare("SELECT name FROM sqlite_schema ORDER BY name").all();
  const counts = database.prepare("SELECT n FROM counts").all();
  database.close();
  return { content: JSON.stringify([rows, schema, counts]), longest };
}

Deno.test("a dump is loaded the same however its text arrives, and its rows by and by", () => {
  const random = seededRandom(7);
  const whole = load(DUMP, (rest) => rest);
  assert.match(whole.content, /notes_by_text.*texts/);
  assert.match(whole.content, /"n":3/);
  for (let i = 0; i < 50; i++) {
    assert.equal(load(DUMP, () => 1 + Math.floor(random() * 40)).content, whole.content);
  }
  assert.equal(load(DUMP, () => 1).content, whole.content);
  const rows = "INSERT INTO notes VALUES(NULL,'row','');\n".repeat(10_000);
  const large = DUMP.replace("CREATE TABLE IF NOT EXISTS counts", `${rows}$&`);
  assert.ok(load(large, () => 4_096).longest < 10_000);
});

Deno.test("a dump that is not complete, or that would reach other files, is refused", () => {
  const refused = (dump: string) => () => load(dump, () => 64);
  for (const dump of ["", DUMP.slice(0, -2), DUMP.slice(0, 300), DUMP.replace("COMMIT", "ROLLBACK")]) {
    assert.throws(refused(dump), { code: "unavailable", message: /dump of it is not complete; try again/ });
  }
  const [statement, inSchema] = ["attach 'x' AS x;", "SELECT 1; VACUUM INTO 'y';"];
  for (
    const dump of [
      DUMP.replace("INSERT", `${statement}\nINSERT`),
      DUMP.replace("COMMIT", `${inSchema}\nCOMMIT`),
    ]
  ) {
    assert.throws(refused(dump), { code: "invalid", message: /the server's dump has (attach|VACUUM) in it/ });
  }
});
