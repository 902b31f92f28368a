import { drizzle, type SqliteRemoteDatabase } from "drizzle-orm/sqlite-proxy";
import type { SqlValue, Store } from "./store.ts";

/** A read-only typed query builder. Writes use `Store.write`, in units. */
export type Query = Pick<SqliteRemoteDatabase, "select" | "selectDistinct" | "$with" | "with">;

/** Creates a query builder on a store. */
export function createQuery(store: Pick<Store, "read">): Query {
  return drizzle(async (sql, params, method) => {
    const { rows } = await store.read({ sql, args: params as SqlValue[] });
    return { rows: method === "get" ? rows[0] ?? [] : rows };
  });
}
