import pg from "pg";
import { postgresLogic } from "../../src/store/postgres/postgres_schema.ts";
import { startPostgres } from "../harness/postgres.ts";

/** Runs a task with a client of a new PostgreSQL server whose database has the functions of SQLite. */
export async function withFunctions(task: (client: pg.Client) => Promise<void>): Promise<void> {
  await using server = await startPostgres();
  const client = new pg.Client({ connectionString: server.urlOf("postgres") });
  await client.connect();
  try {
    const { sql } = postgresLogic.find(({ name }) => name === "functions")!;
    for (const statement of [sql].flat()) await client.query(statement);
    await task(client);
  } finally {
    await client.end();
  }
}
