import { parseLibsqlUrl } from "@libsql/hrana-client";
import { messageOf, PurserError } from "../../kernel/errors.ts";
import { withoutRedirects } from "../../kernel/single_send.ts";
import { createIds } from "../../kernel/ids.ts";
import { hostOf } from "../libsql/libsql_client.ts";
import { within } from "../within.ts";
import { RemoteStore } from "../libsql/libsql_store.ts";
import { USER_TABLES } from "../dialect.ts";
import { UNFINISHED } from "../schema/migrate.ts";
import type { ResultSet, Statement } from "../store.ts";
import type { Copyable, Filling, ServerCopyOptions } from "./copyable.ts";
import { DumpReader } from "./dump_reader.ts";
import { hasContent, type SqliteCopy, writeFile } from "./sqlite_copy.ts";
import { readContent } from "./verify.ts";

/** A database on a libSQL server. */
export class LibsqlCopy implements Copyable {
  readonly name: string;
  #store: RemoteStore;

  constructor(private readonly options: ServerCopyOptions) {
    this.name = `the database at ${hostOf(options.url)}`;
    const ids = createIds(options.clock);
    this.#store = new RemoteStore({ ...options, newToken: () => ids.next("req") });
  }

  async read(statement: Statement): Promise<ResultSet> {
    this.options.signal.throwIfAborted();
    return await this.#store.read(statement);
  }

  /**
   * By the server's dump, which reads the database in one transaction. A fork is no copy: past `--max-active-namespaces`, sqld
   * has lost acknowledged commits in one.
   */
  async copyTo(file: string): Promise<void> {
    await writeFile(file, async (connection) => {
      const reader = new DumpReader((sql) => connection.exec(sql));
      for await (const text of this.#dump()) reader.push(text);
      reader.end();
      connection.exec("DROP TABLE IF EXISTS write_tokens");
    });
  }

  /** Reads the dump, with a time-out for each part of it: all of it may take long. */
  async *#dump(): AsyncGenerator<string> {
    const { url, authToken, timeoutMs, fetch = globalThis.fetch, signal } = this.options;
    const refuse = (reason: string, cause?: unknown) =>
      new PurserError("unavailable", `Cannot back up ${this.name}: ${reason}`, { cause });
    const { hranaHttpUrl = url, authToken: inUrl } = parseLibsqlUrl(url);
    const token = authToken ?? inUrl;
    const send = withoutRedirects(fetch, (reason) => refuse(`${reason}; give the address that answers`));
    try {
      const request = new Request(`${hranaHttpUrl.replace(/\/$/, "")}/dump`, {
        headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
      });
      const response = await within(timeoutMs, send(request, { signal }));
      if (!response.ok || !response.body) {
        await response.body?.cancel();
        throw refuse(`it answered the request for its dump with ${response.status}`);
      }
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
      try {
        for (;;) {
          const { done, value } = await within(timeoutMs, reader.read());
          signal.throwIfAborted();
          if (done) return;
          yield value;
        }
      } finally {
        await reader.cancel().catch(() => {});
      }
    } catch (error) {
      if (error instanceof PurserError || signal.aborted) throw error;
      throw refuse(`its dump broke off (${messageOf(error)}); try again`, error);
    }
  }

  /**
   * In many commits, since a server takes requests of limited size and time: the first one marks the database as unfinished, which
   * no process opens, and the last one makes it a database of Purser.
   */
  async fillFrom(backup: SqliteCopy, { mayReplace, verify }: Filling): Promise<undefined> {
    const store = this.#store;
    const { used } = await readContent(this, `Cannot restore ${this.name}`);
    if (used !== undefined && !mayReplace) throw hasContent(this.name);
    const schema = (await backup.read({ sql: SCHEMA })).rows as SchemaRow[];
    await requireSmallRows(backup, schema, this.name);
    const isLast = ([type, name]: SchemaRow) => type === "trigger" || type === "view" || name === HISTORY;
    await store.write([
      ...await this.#dropAll(),
      { sql: `CREATE TABLE IF NOT EXISTS ${UNFINISHED} (since INTEGER)` },
      ...schema.filter((each) => !isLast(each)).map(([, , sql]) => ({ sql })),
    ]);
    const tables = schema.filter(([type]) => type === "table").map(([, name]) => name);
    for (const table of tables) {
      if (table !== HISTORY) {
        for await (const insert of insertsOf(backup, table)) await this.#write([insert]);
      }
    }
    await verify(this);
    const history = [];
    for await (const insert of insertsOf(backup, HISTORY)) history.push(insert);
    await this.#write([
      ...schema.filter(isLast).map(([, , sql]) => ({ sql })),
      ...history,
      { sql: `DROP TABLE ${UNFINISHED}` },
    ]);
    return undefined;
  }

  async #write(statements: readonly Statement[]): Promise<void> {
    this.options.signal.throwIfAborted();
    await this.#store.write(statements);
  }

  /** Views first, then tables, whose indexes and triggers are dropped with them. */
  async #dropAll(): Promise<Statement[]> {
    const { rows } = await this.read({
      sql:
        `SELECT type, name FROM sqlite_schema WHERE type = 'view' OR name IN (${USER_TABLES}) ORDER BY type DESC`,
    });
    return rows.map(([type, name]) => ({ sql: `DROP ${type} "${name}"` }));
  }

  async close(): Promise<void> {
    await this.#store.close();
  }
}

const HISTORY = "purser_migrations";

/** The statements of a backup's schema, in an order in which they can be run. */
const SCHEMA =
  `SELECT type, name, sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'
ORDER BY instr('table index view trigger', type), rowid`;

type SchemaRow = [type: string, name: string, sql: string];

/** The longest value that a libSQL server takes, in bytes; each row is sent as a part of one. */
const MAX_VALUE_BYTES = 5 * 1024 * 1024;

/** Refuses rows that the server would refuse, before anything is written. */
async function requireSmallRows(
  backup: SqliteCopy,
  schema: readonly SchemaRow[],
  target: string,
): Promise<void> {
  for (const [type, table] of schema) {
    if (type !== "table") continue;
    const { rows } = await backup.read({
      sql: `SELECT max(octet_length(json_array(${await columnsOf(backup, table)}))) FROM "${table}"`,
    });
    if (Number(rows[0]![0]) <= MAX_VALUE_BYTES) continue;
    throw new PurserError(
      "too_large",
      `Cannot restore ${target}: a row of ${table} in ${backup.name} is larger than the 5 MB that the server takes`,
    );
  }
}

async function columnsOf(backup: SqliteCopy, table: string): Promise<string> {
  return (await backup.columnsOf(table)).map(({ name }) => `"${name}"`).join(", ");
}

/**
 * Yields the statements that insert all rows of a table, in parts of bounded size. SQLite itself writes the rows as JSON: Deno
 * would end a text at a zero character.
 */
async function* insertsOf(backup: SqliteCopy, table: string): AsyncGenerator<Statement> {
  const names = await columnsOf(backup, table);
  const values = names.split(", ").map((_, index) => `value ->> ${index}`).join(", ");
  const sql = `INSERT INTO "${table}" (${names}) SELECT ${values} FROM json_each(?)`;
  for (const rows of backup.partsOf(`SELECT json_array(${names}) FROM "${table}"`)) {
    yield { sql, args: [`[${rows.join(",")}]`] };
  }
}
