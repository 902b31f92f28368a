import { getTableColumns } from "drizzle-orm";
import type { RuleInput } from "../../contract/alerts/alert_rules.ts";
import { DEFAULT_COOLDOWN_SECONDS } from "../../contract/limits.ts";
import { parseUsd, toUsd } from "../../kernel/money.ts";
import { withoutUndefined } from "../../kernel/without_undefined.ts";
import { ALL_CALLS } from "../../ledger/mod.ts";
import { type SqlValue, tables } from "../../store/mod.ts";

/*
 * The fields of a rule that its author sets, on the wire and in the table. A column holds the field of its name, as it
 * is; the exceptions are here.
 */

export type RuleRow = typeof tables.alertRules.$inferSelect;

type Column = keyof RuleRow;

/** The columns that no author sets. */
const STATE = new Set(
  [
    ...["ruleId", "createdAt", "updatedAt"] as const,
    ...["isArmed", "isOver", "lastFiredAt", "cooldownFrom", "restsUntil"] as const,
  ] satisfies Column[],
);

/** The conversion of a field that has another name, or another value, in the table. */
interface Conversion {
  column: Column;
  toWire(stored: never): unknown;
  toStored(wire: never): unknown;
}

const CONVERTED = {
  threshold_usd: {
    column: "thresholdNanoUsd",
    toWire: toUsd,
    toStored: (usd: number) => parseUsd(usd, "threshold_usd"),
  },
  cooldown_seconds: {
    column: "cooldownMs",
    toWire: (ms: number) => ms / 1000,
    toStored: (seconds: number) => seconds * 1000,
  },
  agent_id: {
    column: "scope",
    toWire: (scope: string) => scope === ALL_CALLS ? null : scope,
    toStored: (agentId: string | null) => agentId ?? ALL_CALLS,
  },
} as const satisfies Partial<Record<keyof RuleInput, Conversion>>;

type StateColumn = typeof STATE extends Set<infer Key> ? Key : never;
type PlainColumn = Exclude<Column, StateColumn | (typeof CONVERTED)[keyof typeof CONVERTED]["column"]>;
type FieldName = keyof typeof CONVERTED | (typeof tables.alertRules)[PlainColumn]["_"]["name"];

type OptionalField = {
  [Name in keyof RuleInput]-?: Partial<Pick<RuleInput, Name>> extends Pick<RuleInput, Name> ? Name : never;
}[keyof RuleInput];
type NullableField = {
  [Key in PlainColumn]: null extends RuleRow[Key] ? (typeof tables.alertRules)[Key]["_"]["name"] : never;
}[PlainColumn];

/** The values of fields that are not given; null of others, whose columns have to be nullable. */
const DEFAULTS = {
  cooldown_seconds: DEFAULT_COOLDOWN_SECONDS,
  repeat: "cooldown",
  agent_id: null,
  enabled: true,
} as const satisfies Required<Pick<RuleInput, Exclude<OptionalField, NullableField>>> & Partial<RuleInput>;

/** Fails the check of types where a field of the contract has no column, or a column no field. */
const _isComplete: [Exclude<keyof RuleInput, FieldName>, Exclude<FieldName, keyof RuleInput>] extends
  [never, never] ? true
  : [
    "without a column or a field",
    Exclude<keyof RuleInput, FieldName> | Exclude<FieldName, keyof RuleInput>,
  ] = true;

/** A field of a rule. */
interface RuleField {
  /** On the wire. */
  name: keyof RuleInput;
  /** In a row. */
  key: Column;
  /** In SQL. */
  column: string;
  toWire(stored: unknown): unknown;
  toStored(wire: unknown): unknown;
  toSql(stored: unknown): SqlValue;
}

const same = (value: unknown) => value;

const conversions = new Map(
  Object.entries<Conversion>(CONVERTED).map((
    [name, { column, ...convert }],
  ) => [column, { name, ...convert }]),
);

/** The fields in the order of the table. */
const FIELDS: readonly RuleField[] = Object.entries(getTableColumns(tables.alertRules))
  .filter(([key]) => !STATE.has(key as StateColumn))
  .map(([key, column]) => ({
    ...{ name: column.name, toWire: same, toStored: same, ...conversions.get(key as Column) } as RuleField,
    key: key as Column,
    column: column.name,
    toSql: (stored) => stored === null ? null : column.mapToDriverValue(stored) as SqlValue,
  }));

/** Returns the fields of a row in wire form. */
export function fieldsOf(row: RuleRow): Required<RuleInput> & { agent_id: string | null } {
  return Object.fromEntries(FIELDS.map(({ name, key, toWire }) => [name, toWire(row[key])])) as never;
}

/** Returns all fields; those that are not given have their defaults. */
export function withDefaults(input: RuleInput): RuleInput {
  const given: Partial<RuleInput> = { ...DEFAULTS, ...withoutUndefined(input) };
  return Object.fromEntries(FIELDS.map(({ name }) => [name, given[name] ?? null])) as never;
}

/** A field with the value that its column gets. */
export interface StoredField {
  name: keyof RuleInput;
  column: string;
  value: SqlValue;
}

/** Returns the given fields as they are stored. */
export function toStored(given: Partial<RuleInput>): StoredField[] {
  return FIELDS.filter(({ name }) => given[name] !== undefined).map(({ name, column, toStored, toSql }) => ({
    name,
    column,
    value: toSql(toStored(given[name])),
  }));
}
