import { drizzle, type SqliteRemoteDatabase } from "drizzle-orm/sqlite-proxy";
import type { SqlValue, Store } from "./store.ts";

/** A typed query builder that only reads. Writes go through `Store.write`, in units. */
export type Query = Pick<SqliteRemoteDatabase, "select" | "selectDistinct" | "$with" | "with">;

/** Builds queries over any store. */
export function createQuery(store: Pick<Store, "read">): Query {
  return drizzle(async (sql, params, method) => {
    const { rows } = await store.read({ sql, args: params as SqlValue[] });
    return { rows: method === "get" ? rows[0] ?? [] : rows };
  });
}
