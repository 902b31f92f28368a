import { databaseLogic } from "../../src/service/parts.ts";
import { systemClock } from "../../src/kernel/clock.ts";
import { createIds } from "../../src/kernel/ids.ts";
import { openStore, type Store } from "../../src/store/mod.ts";
import {
  loadSqlite,
  type SqliteConnection,
  type SqliteDriver,
} from "../../src/store/sqlite/sqlite_driver.ts";
import { type SqliteOptions, SqliteStore } from "../../src/store/sqlite/sqlite_store.ts";

export const CREATE = { sql: "CREATE TABLE t (a)" };
export const INSERT = { sql: "INSERT INTO t VALUES (?)", args: [1] };
export const COUNT = { sql: "SELECT count(*) FROM t" };
export const sqlite = await loadSqlite();

export function open(options: Partial<SqliteOptions> & { path: string }): Promise<SqliteStore> {
  return SqliteStore.open({ durability: "normal", busyTimeoutMs: 100, ...options });
}

export function openMigrated(path: string): Promise<Store> {
  return openStore({
    logic: databaseLogic,
    location: { kind: "file", path },
    durability: "full",
    remoteTimeoutMs: 1_000,
    clock: systemClock,
    ids: createIds(systemClock),
  });
}

/** SQLite, but `interfere` is called with every statement before it is executed and may throw. */
export function fault(interfere: (sql: string, connection: SqliteConnection) => void): SqliteDriver {
  return {
    version: sqlite.version,
    connect(path, options) {
      const connection = sqlite.connect(path, options);
      return {
        get isTransaction() {
          return connection.isTransaction;
        },
        exec(sql) {
          interfere(sql, connection);
          connection.exec(sql);
        },
        prepare(sql) {
          const statement = connection.prepare(sql);
          return {
            columns: () => statement.columns(),
            all(...values) {
              interfere(sql, connection);
              return statement.all(...values);
            },
            run(...values) {
              interfere(sql, connection);
              return statement.run(...values);
            },
            iterate: (...values) => statement.iterate(...values),
          };
        },
        close: () => connection.close(),
      };
    },
  };
}

export function sqliteError(message: string, errcode?: number): Error {
  return Object.assign(new Error(message), { code: "ERR_SQLITE_ERROR", errcode });
}
