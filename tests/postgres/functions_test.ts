import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import type pg from "pg";
import fc from "#dev/fast_check.ts";
import { skipPostgres } from "../harness/postgres.ts";
import { withFunctions } from "./with_functions.ts";

/** Tests a database of PostgreSQL that has the functions of SQLite. */
function test(name: string, body: (client: pg.Client) => Promise<void>): void {
  Deno.test({ name, ignore: skipPostgres, fn: () => withFunctions(body) });
}

const JSON_TEXT = `'{"a":1,"b":"x \\"y\\" \\\\ 水","c":null,"d":[1,"2"],"e":{"f":"g"},"f":-1.5}'`;

const EXPRESSIONS = [
  ...["iif(1 < 2, 'a', 'b')", "iif(2 < 1, 'a', 'b')", "iif(NULL = 1, 3, 4)"],
  ...["max(1, 2)", "max(2, 1)", "max(9223372036854775807, 1)", "max(CAST(NULL AS BIGINT), 1)"],
  ...["min(1, 2)", "min(2, 1)", "min(-9223372036854775807, 1)", "min(1, CAST(NULL AS BIGINT))"],
  ...["instr('水ab', 'b')", "instr('ab', 'c')", "instr('', 'c')"],
  ...["substr('水abc', 2)", "substr('水abc', 2, 2)", "substr('abc', 4)", "substr('abc', 2, 100)"],
  ...["hex('水a')", "length(hex(randomblob(8)))"],
  ..."abcdefg".split("").map((label) => `${JSON_TEXT} ->> '${label}'`),
  ...[0, 1, 2].map((index) => `'["a", 2]' ->> ${index}`),
  `(SELECT string_agg(CAST(key AS TEXT) || '=' || coalesce(CAST(value AS TEXT), 'NULL'), '; ') FROM json_each(${JSON_TEXT}))`,
  `(SELECT string_agg(CAST(key AS TEXT) || '=' || coalesce(CAST(value AS TEXT), 'NULL'), '; ')
    FROM json_each('["a", 2, null, "水", [3], {"b":4}, "\\u6c34\\ud83d\\ude00"]'))`,
  "(SELECT count(*) FROM json_each('[]'))",
];

test("the functions of SQLite give the same in PostgreSQL", async (client) => {
  const sqlite = new DatabaseSync(":memory:");
  for (const expression of EXPRESSIONS) {
    const sql = `SELECT CAST(${expression} AS TEXT) AS result`;
    const { rows } = await client.query(sql);
    assert.deepEqual(
      rows[0].result,
      (sqlite.prepare(sql).get() as { result: string | null }).result,
      expression,
    );
  }
  sqlite.close();
});

/** Texts with the escapes of JSON, also those of characters that PostgreSQL has in no text. */
const anyText = fc.array(
  fc.oneof(fc.string(), fc.constantFrom("\0", "\ud800", "\udc00", "\ud83d\ude00", "\\", "\\u0000", '"')),
).map((parts) => parts.join(""));

/** Writes JSON with every character beyond ASCII as an escape. */
const escaped = (value: unknown) =>
  JSON.stringify(value).replace(
    /[\u0080-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );

test("texts in JSON are read from among any others, with U+FFFD for what PostgreSQL has in no text", async (client) => {
  const samples = fc.sample(fc.tuple(anyText, anyText), 2_000);
  const readable = (text: string) => text.toWellFormed().replaceAll("\0", "\ufffd");
  for (const write of [JSON.stringify, escaped]) {
    const { rows } = await client.query({
      text: `SELECT v.object ->> 'b', v.list ->> 1, (SELECT array_agg(value) FROM json_each(v.list))
FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS v (object, list, n) ORDER BY v.n`,
      values: [samples.map(([a, b]) => write({ a, b })), samples.map((texts) => write(texts))],
      rowMode: "array",
    });
    for (const [index, texts] of samples.entries()) {
      const [a, b] = texts.map(readable);
      assert.deepEqual(rows[index], [b, b, [a, b]], write(texts));
    }
  }
});
