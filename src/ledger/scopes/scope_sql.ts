import { COUNTED, type Dimension, dimension, DIMENSIONS } from "../../contract/costs/dimensions.ts";
import { type Counted, PREFIXES, type Scopes } from "./scopes.ts";

/* The SQL of scopes: see scopes.ts. */

/** SQL for the scope of an id; NULL for NULL. */
export const scopeSql = (kind: Counted, id: string) => kind === "agent" ? id : `'${PREFIXES[kind]}' || ${id}`;

/** SQL for the id in a scope of a dimension. */
export const idInScope = (kind: Counted, scope: string) =>
  kind === "agent" ? scope : `substr(${scope}, ${PREFIXES[kind].length + 1})`;

/** SQL for whether a scope is one of a dimension; written so that an index on scopes is used. */
export const isScopeOf = (kind: Counted, scope: string) =>
  kind === "agent"
    ? `${scope} <> '' AND instr(${scope}, ' ') = 0`
    : `${scope} >= '${kind} ' AND ${scope} < '${kind}!'`;

/** SQL for the dimension of a scope; '' for all calls. */
export const kindOfScope = (scope: string) =>
  `CASE WHEN ${scope} = '' THEN '' WHEN instr(${scope}, ' ') = 0 THEN 'agent' ELSE substr(${scope}, 1, instr(${scope}, ' ') - 1) END`;

/** SQL for the id of a scope of any dimension. */
export const idOfScope = (scope: string) => `substr(${scope}, instr(${scope}, ' ') + 1)`;

/** SQL for the value of a dimension of a call, by the alias of its row. */
export const columnOf = (name: Dimension, alias = "c") => `${alias}.${DIMENSIONS[name].field}`;

/** The dimensions with counters that have a column, in `calls` and where else a row keeps the scopes of a call; and these columns. */
export const STORED: readonly Counted[] = COUNTED;
export const COUNTED_COLUMNS = STORED.map((kind) => DIMENSIONS[kind].field);

/** The columns of `calls` for the scopes of a call: those, and the root of its tree. */
export const SCOPE_COLUMNS = [...COUNTED_COLUMNS, "root_session_id"];

/** Returns the values of `COUNTED_COLUMNS`, and of `SCOPE_COLUMNS`. */
export const countedValuesOf = (call: Partial<Scopes>): (string | null)[] =>
  STORED.map((kind) => call[DIMENSIONS[kind].property] ?? null);
export const scopeValuesOf = (call: Scopes): (string | null)[] => [
  ...countedValuesOf(call),
  call.rootSessionId ?? null,
];

/** SQL for these columns, by the alias of the row. */
export const countedOf = (alias: string): string =>
  COUNTED_COLUMNS.map((column) => `${alias}.${column}`).join(", ");

/** The dimensions whose spending is counted by minute, day and lifetime; and those that are counted as a whole. */
export const [IN_WINDOWS, AS_WHOLE] = (["windows", "whole"] as const).map((how) =>
  COUNTED.filter((kind) => dimension(kind).counter === how)
) as [Counted[], Counted[]];
