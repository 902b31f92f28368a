/*
 * The dimensions of spending: what a call is counted, grouped, filtered and budgeted by. The ledger's queries, the counters of
 * budgets and rules, the parameters of routes, the options of commands and the filters of the dashboard are made from this table.
 * docs/architecture.md, "Where would I add a dimension of spending", lists what a new one needs besides its row.
 */

/** A dimension of spending. */
interface DimensionRow {
  /** The field of the wire format that names one, which is also the column of the ledger. */
  field: string;
  /** The property of a call that has it. */
  property: string;
  /** Its name on the screen. */
  label: string;
  /** A value of it, for forms and documents. */
  example: string;
  /** The field with the name that people know it by, where that isn't its id. */
  nameField?: string;
  /** True if a call may be of none; a rollup has '' for it then. */
  isOptional?: true;
  /** Cost reports can be grouped by it, by these columns. */
  groups?: readonly string[];
  /** It has few enough values to split groups of another dimension by, and to be a filter on the dashboard. */
  isSplit?: true;
  /** Cost reports can be filtered by it. */
  isFilter?: true;
  /** The option of commands that filters by it: the word for its value, and how it is described. */
  option?: { value: string; ofOne: string; ofThis: string };
  /**
   * Its spending is counted, for budgets and rules: in `windows` (by minute, day and lifetime), or as a `whole`, since it ends
   * by itself.
   */
  counter?: "windows" | "whole";
  /** Among the counters of a call, the narrowest first. */
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
    label: "Agent",
    example: "researcher",
    groups: ["agent_id"],
    isSplit: true,
    isFilter: true,
    option: { value: "AGENT", ofOne: "of an agent", ofThis: "of this agent" },
    counter: "windows",
    width: 3,
    isBudgeted: true,
    isRuled: true,
  },
  session: {
    field: "session_id",
    property: "sessionId",
    label: "Session",
    example: "ses_demo",
    groups: ["session_id"],
    isFilter: true,
    option: { value: "ID", ofOne: "of a session", ofThis: "of this session" },
    counter: "whole",
    width: 1,
    isBudgeted: true,
  },
  run: {
    field: "run_id",
    property: "runId",
    label: "Run",
    example: "run_demo",
    groups: ["run_id"],
    counter: "whole",
    width: 0,
  },
  model: {
    field: "model",
    property: "model",
    label: "Model",
    example: "openai:gpt-6-luna",
    groups: ["provider", "model"],
    isSplit: true,
    isFilter: true,
    option: { value: "MODEL", ofOne: "of a model", ofThis: "of this model" },
  },
  provider: {
    field: "provider",
    property: "provider",
    label: "Provider",
    example: "openai",
    groups: ["provider"],
    isSplit: true,
    isFilter: true,
  },
  key: {
    field: "key_id",
    property: "keyId",
    label: "Key",
    example: "laptop",
    nameField: "key_name",
    isOptional: true,
    groups: ["key_id"],
    isSplit: true,
    isFilter: true,
    option: { value: "KEY", ofOne: "with an API key", ofThis: "with this API key" },
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

/** The field of some dimensions. */
export type FieldOf<Name extends Dimension> = Table[Name]["field"];

/** Returns a row of the table, with every property that a row may have. */
export const dimension = (name: Dimension): DimensionRow => DIMENSIONS[name];

/** Returns the dimensions whose row has a property, in the order of the table. */
function dimensionsWith<Property extends keyof DimensionRow>(property: Property) {
  return (Object.keys(DIMENSIONS) as Dimension[])
    .filter((name): name is DimensionWith<Property> => dimension(name)[property] !== undefined);
}

const isSplit = (name: Dimension) => dimension(name).isSplit === true;

/** The dimensions by which cost reports are grouped, split and filtered. */
export const GROUPED = dimensionsWith("groups");
export const SPLIT = dimensionsWith("isSplit");
export const FILTERED = dimensionsWith("isFilter").sort((a, b) => Number(isSplit(b)) - Number(isSplit(a)));

/** The dimensions with counters of their spending; and those that budgets name, or count one by one. */
export const COUNTED = dimensionsWith("counter");
export const BUDGETED = dimensionsWith("isBudgeted");
/** The dimensions that alert rules name. */
export const RULED = dimensionsWith("isRuled");
