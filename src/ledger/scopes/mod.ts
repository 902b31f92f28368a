/** The scopes of spending, and the viewers that may see them. */
export {
  ALL_CALLS,
  type Counted,
  counterIn,
  entityOf,
  scopeFields,
  scopeIn,
  scopeOf,
  type Scopes,
  scopesOf,
  scopeText,
  treeOf,
  widthOf,
} from "./scopes.ts";
export * from "./scope_sql.ts";
export {
  amountIn,
  BY,
  callPartsOf,
  isOfPlan,
  isScopeBy,
  partsBy,
  rangeOf,
  scopeBy,
  SHAPE_COLUMNS,
  shapedAmountOf,
  shapedScopeOf,
  shapeIn,
  shapeOf,
  shapeRow,
  subjectsIn,
} from "./subjects.ts";
export * from "./viewer.ts";
export { nameAfter, toName } from "./scopes.ts";
