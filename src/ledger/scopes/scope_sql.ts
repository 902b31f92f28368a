import {
  COUNTED,
  type Dimension,
  dimension,
  DIMENSIONS,
  type DimensionWith,
} from "../../contract/costs/dimensions.ts";
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

/** The columns of `calls` for the dimensions with counters. */
export const COUNTED_COLUMNS = COUNTED.map((kind) => DIMENSIONS[kind].field);

/** The columns of `calls` for the scopes of a call: those, and the root of its tree. */
export const SCOPE_COLUMNS = [...COUNTED_COLUMNS, "root_session_id"];

/** Returns their values. */
export const scopeValuesOf = (call: Scopes): (string | null)[] => [
  ...COUNTED.map((kind) => call[DIMENSIONS[kind].property] ?? null),
  call.rootSessionId ?? null,
];

/** The dimensions whose spending is counted by minute, day and lifetime; and those that are counted as a whole. */
export const IN_WINDOWS = COUNTED.filter((kind): kind is WindowDimension =>
  dimension(kind).counter === "windows"
);
export const AS_WHOLE = COUNTED.filter((kind) => dimension(kind).counter === "whole");

type WindowDimension = {
  [Name in DimensionWith<"counter">]: (typeof DIMENSIONS)[Name]["counter"] extends "windows" ? Name : never;
}[DimensionWith<"counter">];
