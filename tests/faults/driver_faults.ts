import { loadSqlite, type SqliteStatement } from "../../src/store/sqlite/sqlite_driver.ts";

/**
 * The moment of an error of SQLite: as a write transaction begins, in one of its statements, before or after its commit has
 * taken effect (as a failed fsync may leave it), or in a query.
 */
export const DRIVER_MOMENTS = ["begin", "statement", "commit", "committed", "query"] as const;
export type DriverMoment = typeof DRIVER_MOMENTS[number];

/** An order to fail. */
export interface DriverFault {
  moment: DriverMoment;
  /** The number of the occasion from now on, from 1. */
  turn: number;
}

/** Makes the SQLite of this process fail on order. `onHit` is called with each error that it reports. */
export async function interceptSqlite(onHit: (moment: DriverMoment) => void) {
  const driver = await loadSqlite();
  const { connect } = driver;
  let fault: DriverFault | undefined;
  const reach = (moment: DriverMoment | undefined) => {
    if (moment === undefined || fault?.moment !== moment || --fault.turn > 0) return;
    fault = undefined;
    onHit(moment);
    throw Object.assign(new Error("disk I/O error"), { code: "ERR_SQLITE_ERROR", errcode: 10 });
  };
  driver.connect = (...args) => {
    const connection = connect(...args);
    const { prepare } = connection;
    let isWriting = false;
    connection.prepare = (sql) => {
      const statement = prepare(sql);
      const execute = <T>(run: () => T): T => {
        const moment = momentOf(sql, isWriting);
        reach(moment);
        const result = run();
        if (sql === "BEGIN IMMEDIATE") isWriting = true;
        if (sql === "COMMIT" || sql === "ROLLBACK") isWriting = false;
        if (moment === "commit") reach("committed");
        return result;
      };
      const { all, run } = statement;
      return {
        columns: () => statement.columns(),
        all: (...values) => execute(() => all.apply(statement, values)),
        run: (...values) => execute(() => run.apply(statement, values)),
        iterate: (...values) => statement.iterate(...values),
      } satisfies SqliteStatement;
    };
    return connection;
  };
  return { order: (next: DriverFault | undefined) => void (fault = next) };
}

function momentOf(sql: string, isWriting: boolean): DriverMoment | undefined {
  if (sql === "BEGIN IMMEDIATE") return "begin";
  if (sql === "COMMIT") return isWriting ? "commit" : undefined;
  if (/^\s*(INSERT|UPDATE|DELETE)\b/i.test(sql)) return "statement";
  return /^\s*SELECT\b/i.test(sql) && !isWriting ? "query" : undefined;
}
