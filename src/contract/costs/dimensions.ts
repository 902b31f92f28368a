/*
 * The dimensions of spending: what a call is counted, grouped, filtered and budgeted by. The ledger's queries, the counters of
 * budgets and rules, the parameters of routes, the options of commands and the filters of the dashboard are made from this table.
 * The recipe "A dimension of spending" in docs/architecture.md lists the other files that a new one needs.
 */

/** A dimension of spending. */
interface DimensionRow {
  /** The field of the wire format that names one, which is also the column of the ledger. */
  field: string;
  /** The property of a call that has it. */
  property: string;
  /** A value of it, for forms and documents. */
  example: string;
  /** The field with its name, for a dimension whose values are made with an id and a name before they are used. */
  nameField?: string;
  /** True if calls without a value are a group of reports too (null; '' in rollups). Other dimensions leave such calls out. */
  isOptional?: true;
  /** The columns that identify its groups; default: its own. */
  groups?: readonly string[];
  /** It has few enough values to split groups of another dimension by, and to be a filter on the dashboard. */
  isSplit?: true;
  /** Cost reports can be filtered by it. */
  isFilter?: true;
  /** Commands have an option that filters by it. */
  isOption?: true;
  /**
   * Its spending is counted, for budgets and rules: in `windows` (by minute, day and lifetime), or as a `whole`, since it ends
   * by itself.
   */
  counter?: "windows" | "whole";
  /** Its rank among the counters of a call, from the narrowest. */
  width?: number;
  /** A budget can name one, or have a counter for each. */
  isBudgeted?: true;
  /** An alert rule can name one. */
  isRuled?: true;
}

export const DIMENSIONS = {
  agent: {
    field: "agent_id",
    property: "agentId",
    example: "researcher",
    isSplit: true,
    isFilter: true,
    isOption: true,
    counter: "windows",
    width: 3,
    isBudgeted: true,
    isRuled: true,
  },
  session: {
    field: "session_id",
    property: "sessionId",
    example: "ses_demo",
    isFilter: true,
    isOption: true,
    counter: "whole",
    width: 1,
    isBudgeted: true,
  },
  run: { field: "run_id", property: "runId", example: "run_demo", counter: "whole", width: 0 },
  model: {
    field: "model",
    property: "model",
    example: "openai:gpt-6-luna",
    groups: ["provider", "model"],
    isSplit: true,
    isFilter: true,
    isOption: true,
  },
  provider: { field: "provider", property: "provider", example: "openai", isSplit: true, isFilter: true },
  key: {
    field: "key_id",
    property: "keyId",
    example: "laptop",
    nameField: "key_name",
    isOptional: true,
    isSplit: true,
    isFilter: true,
    isOption: true,
    counter: "windows",
    width: 2,
    isBudgeted: true,
  },
} as const satisfies Record<string, DimensionRow>;

type Table = typeof DIMENSIONS;
export type Dimension = keyof Table;

/** The dimensions whose row has a property. */
export type DimensionWith<Property extends keyof DimensionRow> = {
  [Name in Dimension]: Table[Name] extends Record<Property, unknown> ? Name : never;
}[Dimension];

/** The union of the fields of some dimensions. */
export type FieldOf<Name extends Dimension> = Table[Name]["field"];

/**
 * The fields with the names of values, as answers have them; null for a value whose name is not known. And the person of an API key,
 * by its tag `user`.
 */
export type NameFields =
  & { [Name in DimensionWith<"nameField"> as Table[Name]["nameField"]]?: string | null }
  & { key_user?: string | undefined };

/** Returns a row of the table, with every property that a row may have. */
export const dimension = (name: Dimension): DimensionRow => DIMENSIONS[name];

/** Returns the dimensions whose row has a property, in the order of the table. */
function dimensionsWith<Property extends keyof DimensionRow>(property: Property) {
  return GROUPED.filter((name): name is DimensionWith<Property> => dimension(name)[property] !== undefined);
}

const isSplit = (name: Dimension) => dimension(name).isSplit === true;

/** The dimensions by which cost reports are grouped, split and filtered. */
export const GROUPED = Object.keys(DIMENSIONS) as Dimension[];
export const SPLIT = /* @__PURE__ */ dimensionsWith("isSplit");
export const FILTERED = /* @__PURE__ */ dimensionsWith("isFilter").sort((a, b) =>
  Number(isSplit(b)) - Number(isSplit(a))
);

/** The dimensions with counters of their spending. */
export const COUNTED = /* @__PURE__ */ dimensionsWith("counter");
/** The dimensions of which a budget can name one value, or have a counter for each. */
export const BUDGETED = /* @__PURE__ */ dimensionsWith("isBudgeted");
/** The dimensions that alert rules name. */
export const RULED = /* @__PURE__ */ dimensionsWith("isRuled");
/** The dimensions whose values have names. */
export const NAMED = /* @__PURE__ */ dimensionsWith("nameField");

/** Returns a field, and after it the one with the name of its value, if its values have names. */
export function withNameField<Field extends string>(field: Field): (Field | "key_name")[] {
  const kind = NAMED.find((name) => DIMENSIONS[name].field === field);
  return kind === undefined ? [field] : [field, DIMENSIONS[kind].nameField];
}

/** An object of the wire format with fields that name values of dimensions. */
export type WithFields =
  & { readonly [Name in Dimension as FieldOf<Name>]?: string | null | undefined }
  & NameFields;

/** Returns the value of a dimension by which people know it: its name, or else its id; undefined where there is none. */
export function nameIn(row: WithFields, name: Dimension): string | undefined {
  if (name === "model") return `${row.provider}:${row.model}`;
  const id = row[DIMENSIONS[name].field];
  return id == null ? undefined : nameOfValue({ kind: name, id }, row);
}

/** Returns the field with the name of a value; undefined for a kind of values without names, also for one that is no dimension. */
export const nameFieldOf = (kind: string): keyof NameFields | undefined =>
  NAMED.filter((name) => name === kind).map((name) => DIMENSIONS[name].nameField)[0];

/** Returns the name of a value, which an answer has beside it; its id where it has none. Of a key also its person: `laptop (anna)`. */
export function nameOfValue({ kind, id }: { kind: string; id: string }, names: NameFields): string {
  const nameField = nameFieldOf(kind);
  const name = (nameField && names[nameField]) ?? id;
  const user = kind === "key" ? names.key_user : undefined;
  return user === undefined || user === name ? name : `${name} (${user})`;
}
