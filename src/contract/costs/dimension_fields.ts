import { z } from "@hono/zod-openapi";
import { AgentId, Label, name, RunId, SessionId } from "../parts.ts";
import {
  BUDGETED,
  COUNTED,
  type Dimension,
  DIMENSIONS,
  type DimensionWith,
  type FieldOf,
  FILTERED,
  GROUPED,
  NAMED,
  type NameFields,
} from "./dimensions.ts";

/* The wire schemas of the fields that name a value of a dimension, by the table in dimensions.ts. */

const KEY = "key_01k9qv3v8c7e9g1j3m5p7r9t1w";

/** A value of each dimension, as answers have it. */
const VALUES: Readonly<Record<Dimension, z.ZodString>> = {
  agent: AgentId,
  session: SessionId,
  run: RunId,
  model: z.string(),
  provider: z.string(),
  key: z.string(),
};

/** A parameter that selects the calls of a value, where it differs from a plain value. */
const FILTERS: { readonly [Name in Dimension]?: z.ZodString } = {
  provider: z.string().openapi({ example: "openai" }),
  model: z.string().openapi({ description: "The model, or `provider:model`", example: "gpt-6-luna" }),
  key: z.string().openapi({
    description: "Only calls that were requested with this API key: its id, or its name",
    example: KEY,
  }),
  session: SessionId.openapi({ description: "Only calls of this session" }),
};

/** A value of the dimensions that a call may have none of, as sums have it. */
const OF_NO_VALUE: { readonly [Name in Dimension]?: z.ZodString } = {
  key: z.string().openapi({
    description: "The API key that requested the calls; null for the calls without one",
    example: KEY,
  }),
};

/** A field by which the author of a budget names the calls that it counts. */
const AUTHORED: Readonly<Record<DimensionWith<"isBudgeted">, z.ZodString>> = {
  agent: name("researcher").openapi({ description: "Counts only this agent's calls" }),
  session: name("ses_demo").openapi({ description: "Counts only this session's calls" }),
  key: Label.openapi({
    example: KEY,
    description: "Counts only calls that were requested with this API key: its id, or its name",
  }),
};

/** Returns the fields of some dimensions, each with its schema. */
function fieldsOf<Name extends Dimension, Schema>(
  names: readonly Name[],
  schemaOf: (name: Name) => Schema,
) {
  return Object.fromEntries(names.map((name) => [DIMENSIONS[name].field, schemaOf(name)])) as {
    [Each in Name as FieldOf<Each>]: Schema;
  };
}

/** The parameters that select calls. */
export const filterFields = fieldsOf(FILTERED, (name) => (FILTERS[name] ?? VALUES[name]).optional());

/** The fields of a sum that identify its group; null for the calls that are of none. */
export const groupFields = fieldsOf(
  GROUPED,
  (name) => (name in OF_NO_VALUE ? OF_NO_VALUE[name]!.nullable() : VALUES[name]).optional(),
) as { [Each in Dimension as FieldOf<Each>]: z.ZodOptional<GroupValue<Each>> };

type GroupValue<Name extends Dimension> = Name extends DimensionWith<"isOptional">
  ? z.ZodNullable<z.ZodString>
  : z.ZodString;

/** The fields by which a budget names the calls that it counts: as its author sends them, and as answers have them. */
export const namedFields = fieldsOf(BUDGETED, (name) => AUTHORED[name].nullish());
export const namedValues = fieldsOf(BUDGETED, (name) => VALUES[name].nullable());

/** The person of an API key. */
export const keyUser = z.string().optional().openapi({
  description: "The tag `user` of the API key: its person; absent without one",
  example: "anna",
});

/** The fields of an API key and of its name. */
export const keyFields = (description: string) => ({
  key_id: z.string().nullable().openapi({ description }),
  ...nameFields((kind) => ({ description: `The name of that ${kind}` })),
});

/** A parameter that names an API key. */
export const keyParameter = {
  key_id: Label.optional().openapi({ description: "The id of an API key, or its name", example: "laptop" }),
};

/** The fields with the names of values. */
export const nameFields = (describe: (kind: Dimension) => { description?: string; example?: string }) => ({
  ...Object.fromEntries(
    NAMED.map((name) => [DIMENSIONS[name].nameField, z.string().nullish().openapi(describe(name))]),
  ) as { [Field in Exclude<keyof NameFields, "key_user">]-?: z.ZodOptional<z.ZodNullable<z.ZodString>> },
  key_user: keyUser,
});

/** The values of a call, or of a counter, in every dimension that is counted; null for none. */
export const countedValues = fieldsOf(COUNTED, (name) => VALUES[name].nullable());
