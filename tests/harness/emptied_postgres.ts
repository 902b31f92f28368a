import pg from "pg";
import type { PostgresDatabase, PostgresDatabases } from "./postgres.ts";

/**
 * Databases that have been migrated. One that a test has ended with is emptied for the next: the server copies and removes
 * some three hundred files for a database of its own.
 */
export interface MigratedDatabases {
  /** Returns a database as a migration leaves it. Disposed, it is emptied and given to a later test. */
  take(): Promise<PostgresDatabase>;
}

/**
 * @param migrate creates a database, and returns its name; its connections are closed. Called once
 * @param newName returns a name that no database of the server has
 */
export function emptiedDatabases(
  server: PostgresDatabases,
  migrate: () => Promise<string>,
  newName: () => string,
): MigratedDatabases {
  const free: PostgresDatabase[] = [];
  let model: Promise<InitialState> | undefined;
  const createModel = async () => {
    const name = await migrate();
    return await withClient(server.urlOf(name), (client) => readState(client, name));
  };
  return {
    async take() {
      const initial = await (model ??= createModel());
      const database = free.pop() ?? await server.createDatabase(newName(), initial.name);
      return {
        ...database,
        async [Symbol.asyncDispose]() {
          const isEmpty = await withClient(database.url, (client) => restoreState(client, initial))
            .catch(() => false);
          if (isEmpty) free.push(database);
          else await database[Symbol.asyncDispose]();
        },
      };
    },
  };
}

/** The content of a database after its migration. */
interface InitialState {
  /** Of the database. */
  name: string;
  /** Counts of what a test may have added or removed: such a database isn't used again. */
  shape: string;
  /** The rows of each table, in JSON. */
  rows: Record<string, string>;
  /** The next number of each sequence. */
  sequences: { name: string; next: string }[];
}

const SHAPE = `
  SELECT concat_ws(' ',
    (SELECT count(*) FROM pg_class), (SELECT count(*) FROM pg_attribute), (SELECT count(*) FROM pg_trigger),
    (SELECT count(*) FROM pg_proc), (SELECT count(*) FROM pg_namespace), (SELECT count(*) FROM pg_constraint),
    (SELECT md5(string_agg(prosrc, '' ORDER BY oid)) FROM pg_proc WHERE pronamespace = 'public'::regnamespace),
    (SELECT count(*) FROM pg_db_role_setting)) AS shape`;

async function readState(client: pg.Client, name: string): Promise<InitialState> {
  const rows: Record<string, string> = {};
  for (const table of await tablesOf(client)) {
    const found = await client.query(
      `SELECT json_agg(t)::text AS rows FROM "${table}" t HAVING count(*) > 0`,
    );
    if (found.rows.length > 0) rows[table] = found.rows[0].rows;
  }
  const { rows: sequences } = await client.query(
    `SELECT sequencename AS name, coalesce(last_value + 1, start_value)::text AS next FROM pg_sequences`,
  );
  return { name, shape: await readShape(client), rows, sequences };
}

async function readShape(client: pg.Client): Promise<string> {
  return (await client.query(SHAPE)).rows[0].shape;
}

async function tablesOf(client: pg.Client): Promise<string[]> {
  const { rows } = await client.query("SELECT tablename FROM pg_tables WHERE schemaname = 'public'");
  return rows.map(({ tablename }: { tablename: string }) => tablename);
}

/** Returns false if the database can't be made what a migration leaves: it has another shape, or is still in use. */
async function restoreState(client: pg.Client, { shape, rows, sequences }: InitialState): Promise<boolean> {
  const { rows: others } = await client.query(
    "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()",
  );
  if (others.length > 0 || await readShape(client) !== shape) return false;
  // Without the guard of what is only appended to, and without foreign keys.
  const statements = ["BEGIN", "SET LOCAL session_replication_role = replica"];
  for (const table of await tablesOf(client)) statements.push(`DELETE FROM "${table}"`);
  for (const [table, text] of Object.entries(rows)) {
    const literal = client.escapeLiteral(text);
    statements.push(
      `INSERT INTO "${table}" SELECT * FROM json_populate_recordset(NULL::"${table}", ${literal})`,
    );
  }
  for (const { name, next } of sequences) statements.push(`SELECT setval('"${name}"', ${next}, false)`);
  await client.query([...statements, "COMMIT"].join(";\n"));
  return true;
}

async function withClient<T>(url: string, use: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url });
  client.on("error", () => {}); // the server was killed
  await client.connect();
  try {
    return await use(client);
  } finally {
    await client.end();
  }
}
