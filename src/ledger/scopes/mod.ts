/** The scopes of spending, and the viewers that may see them. */
export {
  ALL_CALLS,
  type Counted,
  counterIn,
  entityOf,
  scopeIn,
  scopeOf,
  type Scopes,
  scopesOf,
  scopeText,
  widthOf,
} from "./scopes.ts";
export * from "./scope_sql.ts";
export * from "./subjects.ts";
export * from "./viewer.ts";
export { nameAfter, toName } from "./scopes.ts";
