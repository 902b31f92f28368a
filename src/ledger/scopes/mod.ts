/** The scopes of spending, and the viewers that may see them. */
export * from "./scopes.ts";
export * from "./scope_sql.ts";
export * from "./viewer.ts";
