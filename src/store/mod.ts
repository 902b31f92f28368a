/** The store: one port, two drivers, embedded migrations and the tables. */
export type { ResultSet, SqlValue, Statement, Store } from "./store.ts";
export { ConstraintError, toObjects } from "./store.ts";
export { newSharedStore, openStore, type OpenStoreOptions, type SharedStore } from "./open_store.ts";
export { createQuery, type Query } from "./query.ts";
export * as tables from "./tables.ts";
export type { AgentStatus, ThresholdType } from "./tables.ts";
