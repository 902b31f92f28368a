/** The store: one port, two drivers, embedded migrations, and the tables. */
export type { InstanceLocks, ResultSet, SqlValue, Statement, Store } from "./store.ts";
export { ConstraintError, toObjects } from "./store.ts";
export {
  checkpointsOnCommit,
  checkWritable,
  type CommitDurability,
  readDurability,
} from "./health_checks.ts";
export { DATABASE_NOW, leaseNow, leaseTime } from "./lease_clock.ts";
export {
  createQuery,
  newSharedStore,
  openStore,
  type OpenStoreOptions,
  type Query,
  type SharedStore,
} from "./open_store.ts";
export * as tables from "./schema/tables.ts";
export { appendOnlyLogic, installLogic, type Logic } from "./schema/migrate.ts";
export type { EachRow } from "./each_row.ts";
export type { SetWriter } from "./write_queue.ts";
