import { messageOf, PurserError } from "../../kernel/errors.ts";
import { createIds } from "../../kernel/ids.ts";
import { USER_TABLES } from "../dialect.ts";
import { type Migration, migrations } from "../migrations/migrations.ts";
import { parsePostgresUrl, type PostgresAddress } from "../postgres/postgres_address.ts";
import type { Role } from "../postgres/postgres_session.ts";
import { PostgresConnection } from "../postgres/postgres_connection.ts";
import { explain, refusalOf } from "../postgres/postgres_errors.ts";
import { postgresMigrations } from "../postgres/postgres_schema.ts";
import { createTables, PostgresStore } from "../postgres/postgres_store.ts";
import { bindStatement } from "../postgres/statement_text.ts";
import { CREATE_HISTORY, installLogic, toUnit } from "../schema/migrate.ts";
import type { SqliteConnection } from "../sqlite/sqlite_driver.ts";
import type { ResultSet, SqlValue, Statement } from "../store.ts";
import type { Copyable, Filling, ServerCopyOptions } from "./copyable.ts";
import { hasContent, type SqliteCopy, writeFile } from "./sqlite_copy.ts";
import { readContent } from "./verify.ts";

/** Runs statements at once, in the transaction of the session if one has begun. */
type Run = (statements: readonly Statement[]) => Promise<ResultSet[]>;

/** The steps of a database, and when each was applied. */
type History = [version: bigint, appliedAt: bigint][];

const READ_HISTORY = "SELECT version, applied_at FROM purser_migrations ORDER BY version";

/** The tables that are made for the new database: the first process that opens it installs the logic of its engine. */
const MADE_ANEW = ["purser_migrations", "installed_logic"];

/** A page of rows is of about so many characters, but for its first rows. */
const CHARACTERS_OF_PAGE = 512 * 1024;
const FIRST_ROWS = 50;
const MOST_ROWS = 2_000;

/**
 * A schema of a PostgreSQL database. The tables and columns of both engines have the same names and steps, so the rows are copied
 * as they are; indexes, triggers and views are of the engine to which they are copied.
 */
export class PostgresCopy implements Copyable {
  readonly name: string;
  readonly schema = { migrations: postgresMigrations, logic: [] };
  readonly #address: PostgresAddress;
  readonly #store: PostgresStore;

  constructor(private readonly options: ServerCopyOptions) {
    const { url, authToken: password, clock } = options;
    this.#address = parsePostgresUrl(url);
    const { servers: [{ host, port } = {}], database, schema } = this.#address;
    this.name = `the schema ${schema} of the database ${database} at ${host}:${port}`;
    const ids = createIds(clock);
    this.#store = new PostgresStore({ ...options, password, newToken: () => ids.next("req") });
  }

  async read(statement: Statement): Promise<ResultSet> {
    this.options.signal.throwIfAborted();
    return await this.#store.read(statement);
  }

  async copyTo(file: string): Promise<void> {
    await writeFile(file, async (connection) => {
      connection.exec("BEGIN");
      await this.#inSession("read", "back up", (run) => copyRows(run, connection));
      connection.exec("COMMIT");
    });
  }

  /** In one transaction, while no other process has the schema open: until its end nothing has changed. */
  async fillFrom(backup: SqliteCopy, { mayReplace, verify }: Filling): Promise<undefined> {
    const history = (await backup.read({ sql: READ_HISTORY })).rows as History;
    const [oldest] = postgresMigrations;
    if (history[0]![0] < oldest!.version) {
      throw new PurserError(
        "conflict",
        `Cannot restore ${this.name}: ${backup.name} is of a Purser before ${
          oldest!.since
        }; restore it to a file, open that once by purser cost, and restore a backup of that`,
      );
    }
    await this.#inSession("restore", "restore", async (run) => {
      const reads = { read: async (statement: Statement) => (await run([statement]))[0]! };
      await run([{ sql: "BEGIN" }, ...createTables(this.#address.schema)]);
      const { tables, used } = await readContent(reads, `Cannot restore ${this.name}`);
      if (used !== undefined && !mayReplace) throw hasContent(this.name);
      if (tables.length > 0) await this.#empty(run, reads);
      await run(await createSchema(postgresMigrations, history));
      await fillTables(run, backup);
      await verify(reads);
      await run([{ sql: "COMMIT" }]).catch((error) => {
        throw new PurserError(
          "unavailable",
          `${messageOf(error)}; that was its commit, so the database is restored, or as before: look at it`,
          { cause: error },
        );
      });
    });
    return undefined;
  }

  /** Removes what Purser has made, and nothing else. */
  async #empty(run: Run, reads: Pick<PostgresStore, "read">): Promise<void> {
    const { kind, engine } = this.#store;
    await installLogic({ kind, engine, write: run, ...reads }, []); // only drops what is there
    await run([{ sql: "DROP TABLE purser_migrations" }, ...DROP_ALL.map((sql) => ({ sql }))]);
    const { rows: [other] } = await reads.read({ sql: USER_TABLES });
    if (!other) return;
    throw new PurserError(
      "conflict",
      `Cannot restore ${this.name}: it has a table ${
        other[0]
      } of a newer Purser or another program; drop it, or name another schema by ?schema=`,
    );
  }

  /** Runs a task with a connection of its own: what the task hasn't committed is undone at the end. */
  async #inSession(role: Role, action: string, task: (run: Run) => Promise<void>): Promise<void> {
    const { authToken: password, timeoutMs, signal } = this.options;
    const explained = async <T>(answer: Promise<T>) => {
      try {
        return await answer;
      } catch (error) {
        throw refusalOf(error) ??
          new PurserError("unavailable", `Cannot ${action} ${this.name}: ${explain(error)}`, {
            cause: error,
          });
      }
    };
    const options = { address: this.#address, password, timeoutMs };
    const connection = await explained(PostgresConnection.open(options, role, timeoutMs));
    const abort = () => connection.destroy(new Error("it was interrupted"));
    signal.addEventListener("abort", abort);
    try {
      await task(async (statements) => {
        signal.throwIfAborted();
        const results = await explained(connection.run(statements.map(bindStatement), timeoutMs));
        if (!connection.isUnreplicated) return results;
        throw new PurserError(
          "unavailable",
          `Cannot ${action} ${this.name}: it stopped to wait for its synchronous standby`,
        );
      });
    } finally {
      signal.removeEventListener("abort", abort);
      await connection.close();
    }
  }

  async close(): Promise<void> {
    await this.#store.close();
  }
}

/** The functions are those of triggers, which go with their tables. */
const DROP_ALL = postgresMigrations.flatMap(({ statements }) => statements).flatMap((sql) => {
  const [, kind, name] = /^CREATE (TABLE|FUNCTION) (\w+)/.exec(sql) ?? [];
  return kind === undefined ? [] : [`DROP ${kind} IF EXISTS ${name}${kind === "FUNCTION" ? "()" : ""}`];
});

/** Returns the statements that make the tables of an empty database, as of a history. */
async function createSchema(steps: readonly Migration[], history: History): Promise<Statement[]> {
  const applied = history.map(([version, at]) =>
    toUnit(steps.find((step) => step.version === Number(version))!, at)
  );
  return [{ sql: CREATE_HISTORY }, ...(await Promise.all(applied)).flat()];
}

/** Reads all tables in one view, and writes them to an empty file. Its indexes and triggers are made last. */
async function copyRows(run: Run, connection: SqliteConnection): Promise<void> {
  const [, { rows: history } = { rows: [] }] = await run([
    { sql: "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY" },
    { sql: READ_HISTORY },
  ]);
  for (const { sql, args = [] } of await createSchema(migrations, history as History)) {
    connection.prepare(sql).run(...args);
  }
  const schemaOf = (types: string) =>
    connection.prepare(
      `SELECT type, name, sql FROM sqlite_schema WHERE type IN (${types}) AND sql IS NOT NULL ORDER BY rowid`,
    ).all();
  const later = schemaOf("'index', 'trigger'");
  for (const [type, name] of later) connection.exec(`DROP ${type} "${name}"`);
  for (const [, table] of schemaOf("'table'")) {
    if (MADE_ANEW.includes(table as string)) continue;
    connection.exec(`DELETE FROM "${table}"`); // its first rows
    const names = connection.prepare(`SELECT * FROM "${table}"`).columns().map(({ name }) => `"${name}"`);
    const insert = connection.prepare(
      `INSERT INTO "${table}" (${names.join(", ")}) VALUES (${names.map(() => "?").join(", ")})`,
    );
    for await (const rows of pagesOf(run, `SELECT ${names.join(", ")} FROM "${table}"`)) {
      for (const row of rows) insert.run(...row);
    }
  }
  for (const [, , sql] of later) connection.exec(sql as string);
}

async function* pagesOf(run: Run, query: string): AsyncGenerator<SqlValue[][]> {
  await run([{ sql: `DECLARE rows_to_copy NO SCROLL CURSOR FOR ${query}` }]);
  for (let count = FIRST_ROWS;;) {
    const [{ rows } = { rows: [] }] = await run([{ sql: `FETCH ${count} FROM rows_to_copy` }]);
    yield rows;
    if (rows.length < count) break;
    let characters = 1;
    for (const value of rows.flat()) if (typeof value === "string") characters += value.length;
    count = Math.min(Math.max(Math.round(CHARACTERS_OF_PAGE / characters * count), 1), MOST_ROWS);
  }
  await run([{ sql: "CLOSE rows_to_copy" }]);
}

/**
 * Fills the tables of a new database, while their triggers are disabled, which would number rows. SQLite writes the rows as JSON:
 * Deno would end a text at a zero character. In that an integer is a text, since a number would be rounded.
 */
async function fillTables(run: Run, backup: SqliteCopy): Promise<void> {
  const [{ rows: made } = { rows: [] }] = await run([{ sql: USER_TABLES }]);
  const kept = (await backup.read({ sql: USER_TABLES })).rows.flat();
  const tables = made.flat().filter((name) => kept.includes(name) && !MADE_ANEW.includes(name as string));
  const forEach = (sql: string) => tables.map((table) => ({ sql: sql.replace("NAME", () => `"${table}"`) }));
  await run([...forEach("ALTER TABLE NAME DISABLE TRIGGER USER"), ...forEach("DELETE FROM NAME")]);
  for (const table of tables) {
    const columns = await backup.columnsOf(table as string);
    const names = columns.map(({ name }) => `"${name}"`).join(", ");
    const values = columns.map(({ name, isInteger }) => isInteger ? `CAST("${name}" AS TEXT)` : `"${name}"`);
    for (const texts of backup.partsOf(`SELECT json_array(${values.join(", ")}) FROM "${table}"`)) {
      await run([{
        sql: `INSERT INTO "${table}" (${names}) SELECT ${names} FROM each_row v`,
        each: {
          columns: columns.map(({ name }) => name),
          integers: columns.filter(({ isInteger }) => isInteger).map(({ name }) => name),
          rows: texts.map((text) => JSON.parse(text)),
        },
      }]);
    }
  }
  await run(forEach("ALTER TABLE NAME ENABLE TRIGGER USER"));
  for (const statement of forEach("ANALYZE NAME")) await run([statement]); // one takes its time
}
