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
  /** The option of reports that filters by it: the word for its value, and the calls that it selects. */
  option?: { value: string; calls: string };
  /**
   * Its spending is counted, for budgets and rules: in `windows` (by minute, day and lifetime), or as a `whole`, since it ends
   * by itself.
   */
  counter?: "windows" | "whole";
  /** Among the counters of a call, the narrowest first. */
  width?: number;
  /** A budget can name one, or have a counter for each: the option that names one, and what is counted then. */
  budget?: { value: string; only: string };
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
    option: { value: "AGENT", calls: "of an agent" },
    counter: "windows",
    width: 3,
    budget: { value: "NAME", only: "this agent" },
    isRuled: true,
  },
  session: {
    field: "session_id",
    property: "sessionId",
    label: "Session",
    example: "ses_demo",
    groups: ["session_id"],
    isFilter: true,
    option: { value: "ID", calls: "of a session" },
    counter: "whole",
    width: 1,
    budget: { value: "ID", only: "this session" },
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
    option: { value: "MODEL", calls: "of a model, such as gpt-6-luna or openai:gpt-6-luna" },
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
    option: { value: "KEY", calls: "with an API key, by its name or id" },
    counter: "windows",
    width: 2,
    budget: { value: "KEY", only: "requests with this API key, by its name or id" },
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
export const BUDGETED = dimensionsWith("budget");
/** The dimensions that alert rules name. */
export const RULED = dimensionsWith("isRuled");

/** An object of the wire format with fields that name values of dimensions. */
type WithFields = { readonly [Name in Dimension as FieldOf<Name>]?: string | null | undefined } & {
  readonly key_name?: string | null | undefined;
};

/** Returns the value of a dimension by which people know it: its name, or else its id; undefined where there is none. */
export function nameIn(row: WithFields, name: Dimension): string | undefined {
  if (name === "model") return `${row.provider}:${row.model}`;
  const { nameField, field } = dimension(name) as { nameField?: "key_name"; field: FieldOf<Dimension> };
  return (nameField && row[nameField]) ?? row[field] ?? undefined;
}

/** Returns the dimension of which a budget names a value, and that value; undefined where it counts all calls. */
export function namedBy(budget: WithFields): { kind: DimensionWith<"budget">; id: string } | undefined {
  for (const kind of BUDGETED) {
    const id = budget[DIMENSIONS[kind].field];
    if (id != null) return { kind, id };
  }
  return undefined;
}
