/**
 * `deno run -RWENS --allow-run --lock=tests/deno.lock tests/postgres/prepare_statements.ts FILE…`: prepares the recorded statements (see
 * record_statements.ts) on a PostgreSQL server of its own, with the schema of this checkout, and prints those that it refuses,
 * by the line of code that executes them. A folder or file name as `--only=TEXT` limits them.
 */
import pg from "pg";
import { databaseLogic } from "../../src/service/parts.ts";
import { bindStatement } from "../../src/store/postgres/statement_text.ts";
import { postgresLogic, postgresMigrations } from "../../src/store/postgres/postgres_schema.ts";
import { toPostgres } from "../../src/store/dialect.ts";
import type { SqlValue, Statement } from "../../src/store/store.ts";
import { startPostgres } from "../harness/postgres.ts";
import type { RecordedStatement } from "./record_statements.ts";

const only = Deno.args.find((arg) => arg.startsWith("--only="))?.slice("--only=".length) ?? "";
const files = Deno.args.filter((arg) => !arg.startsWith("--"));

interface Failure {
  where: string;
  message: string;
  near: string;
  sql: string;
  types: string;
}

await using server = await startPostgres();
const client = new pg.Client({ connectionString: server.urlOf("postgres") });
await client.connect();

async function attempt(sql: string): Promise<{ message: string; position?: number } | undefined> {
  try {
    await client.query("SAVEPOINT attempt");
    await client.query(sql);
    await client.query("RELEASE attempt");
  } catch (error) {
    await client.query("ROLLBACK TO attempt");
    const { message, position, internalPosition } = error as Record<string, string>;
    return { message: message!, position: Number(position ?? internalPosition ?? 0) };
  }
}

const failures: Failure[] = [];
const report = (failure: Omit<Failure, "near">, sent: string, position = 0) =>
  failures.push({
    ...failure,
    near: position ? sent.slice(Math.max(0, position - 1), position + 50).replace(/\s+/g, " ") : "",
  });

await client.query("BEGIN");
for (const step of postgresMigrations) {
  for (const sql of step.statements) await client.query(sql);
}
await client.query(
  "CREATE TABLE purser_migrations (version BIGINT PRIMARY KEY, name TEXT, checksum TEXT, applied_at BIGINT)",
);
for (const { name, sql, engine } of [...postgresLogic, ...databaseLogic]) {
  if (engine === "sqlite") continue;
  const sent = toPostgres([sql].flat().join(";\n"));
  const error = await attempt(sent);
  if (error) {
    report({ where: `logic ${name}`, message: error.message, sql: sent, types: "" }, sent, error.position);
  }
}

const lines = (await Promise.all(files.map((file) => Deno.readTextFile(file)))).flatMap((text) =>
  text.trim().split("\n")
);
const SAMPLES: Record<string, SqlValue> = { i: 1n, r: 1.5, t: "x", b: new Uint8Array(1), n: null };
const done = new Set<string>();
let count = 0;
for (const line of lines) {
  if (line === "") continue;
  const { sql, args, each, integers, where = "query builder" } = JSON.parse(line) as RecordedStatement;
  if (
    /^tests\/|_test\.ts|^bench\/|migrate\.ts/.test(where) ||
    /^\s*(CREATE|DROP|ALTER|PRAGMA|EXPLAIN)\b/i.test(sql)
  ) continue;
  if (!where.includes(only)) continue;
  const statement: Statement = { sql, args: [...args].map((letter) => SAMPLES[letter]!) };
  if (each) {
    const columns = Object.keys(each);
    const known = integers ?? columns.filter((column) => each[column]!.includes("i"));
    statement.each = { columns, integers: known, rows: [columns.map(() => null)] };
  }
  const { text, values } = bindStatement(statement);
  const types = each ? JSON.stringify(each) : args;
  if (done.has(text)) continue;
  done.add(text);
  count++;
  const error = await attempt(`PREPARE p AS ${text}`);
  if (error) {
    report({ where, message: error.message, sql: text, types }, `PREPARE p AS ${text}`, error.position);
    continue;
  }
  const parameters = values.length === 0 ? "" : `(${values.map(() => "NULL").join(", ")})`;
  const unplanned = await attempt(`EXPLAIN EXECUTE p${parameters}`);
  if (unplanned) report({ where, message: unplanned.message, sql: text, types }, "", 0);
  await client.query("DEALLOCATE p");
}
await client.end();

const isLong = Deno.args.includes("--long");
const byPlace = Map.groupBy(failures, ({ where }) => where);
for (const [where, list] of [...byPlace].sort(([a], [b]) => a < b ? -1 : 1)) {
  console.log(`\n${where}`);
  for (const [key, same] of Map.groupBy(list, ({ message, near }) => `${message}   at: ${near}`)) {
    console.log(`  ${key}${same.length > 1 ? `   (${same.length} statements)` : ""}`);
    if (isLong || where === "query builder") {
      console.log(`    ${same[0]!.sql.replace(/\s+/g, " ")}\n    [${same[0]!.types}]`);
    }
  }
}
console.log(`\n${failures.length} of ${count} statements are refused`);
