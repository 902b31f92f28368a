/**
 * A process that sends one request to the API over a file, and kills itself once a statement of SQLite was executed for the given
 * number of times, in the middle of its transaction. It prints the status if it lives on.
 *
 * Arguments: the database, the path and body of the request, a part of the statement, and the number.
 */
import { createApp } from "../../src/http/mod.ts";
import { fixedClock } from "../../src/kernel/clock.ts";
import { openCore } from "../../src/service/mod.ts";
import { loadSqlite } from "../../src/store/sqlite/sqlite_driver.ts";

/** The time at which these tests open a database. */
export const NOW = "2026-11-21T09:30:00.000Z";

/** Opens the API over a file. */
export async function openApi(dbUrl: string) {
  const core = await openCore({
    config: {
      dbUrl,
      durability: "full",
      remoteTimeoutMs: 1_000,
      maxBodyBytes: 1_000_000,
      environment: "test",
    },
    clock: fixedClock(NOW),
  });
  return { core, app: await createApp(core) };
}

/** Calls `then` once statements with a part in them were executed so many times. */
async function countStatements(part: string, turns: number, then: () => void): Promise<void> {
  const driver = await loadSqlite();
  const { connect } = driver;
  let left = turns;
  driver.connect = (...args) => {
    const connection = connect(...args);
    const { prepare } = connection;
    connection.prepare = (sql) => {
      const statement = prepare(sql);
      const counted = <T>(execute: () => T): T => {
        const result = execute();
        if (sql.includes(part) && --left === 0) then();
        return result;
      };
      return {
        columns: () => statement.columns(),
        iterate: (...values) => statement.iterate(...values),
        all: (...values) => counted(() => statement.all(...values)),
        run: (...values) => counted(() => statement.run(...values)),
      };
    };
    return connection;
  };
}

if (import.meta.main) {
  const [db, path, body, part, turn] = Deno.args as [string, string, string, string, string];
  await countStatements(part, Number(turn), () => Deno.kill(Deno.pid, "SIGKILL"));
  const { core, app } = await openApi(db);
  const headers = { "content-type": "application/json" };
  const { status } = await app.request(path, { method: "POST", body, headers });
  console.log(status);
  await core.close({ graceMs: 0 });
}
