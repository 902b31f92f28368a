/** The store: one port, three drivers, embedded migrations, and the tables. */
export {
  checkpointsOnCommit,
  checkWritable,
  type CommitDurability,
  ConstraintError,
  flushCommits,
  readDurability,
  replaceState,
  requireThat,
  type ResultSet,
  type SqlValue,
  type Statement,
  type Store,
  toObjects,
} from "./store.ts";
export {
  auditEntry,
  type Author,
  changesOf,
  type Check,
  defineAuthored,
  deriveId,
  type Edit,
  readInCode,
} from "./authored.ts";
export type { EachRow } from "./each_row.ts";
export type { InstanceLocks } from "./instance_locks.ts";
export {
  byBytes,
  DATABASE_NOW,
  IN_ROW_ORDER,
  indexedBy,
  isAfter,
  matchesPattern,
  mergeJson,
  NOT_INDEXED,
  ORDERED_JOIN,
  wide,
  withoutFields,
} from "./dialect.ts";
export { leaseNow, leaseTime } from "./lease_clock.ts";
export {
  createInstanceLocks,
  createQuery,
  newSharedStore,
  openStore,
  type Query,
  readDatabaseFile,
  type SharedStore,
} from "./open_store.ts";
export type { StoreReads } from "./sqlite/read_file.ts";
export * as tables from "./schema/tables.ts";
export { appendOnlyLogic, installLogic, type Logic } from "./schema/migrate.ts";
export type { SqliteDriver } from "./sqlite/sqlite_driver.ts";
export { rowTrigger, SKIP_ROW } from "./schema/row_trigger.ts";
export { newestFirst, oldestFirst, type TimePosition } from "./time_pages.ts";
export type { SetWriter } from "./write_unit.ts";
