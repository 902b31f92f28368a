/** The part of JSON Schema that tools' inputs are made of. */
export interface InputSchema {
  type?: string | string[];
  const?: unknown;
  enum?: unknown[];
  default?: unknown;
  anyOf?: InputSchemaOrBoolean[];
  oneOf?: InputSchemaOrBoolean[];
  properties?: Record<string, InputSchemaOrBoolean>;
  required?: string[];
  items?: InputSchemaOrBoolean | InputSchemaOrBoolean[];
  minItems?: number;
  minimum?: number;
  maximum?: number;
}

type InputSchemaOrBoolean = InputSchema | boolean;

/** A small input that fits a tool's JSON schema and changes with the step: required properties only. */
export function sampleInput(schema: InputSchemaOrBoolean | undefined, step: number): unknown {
  if (schema === undefined || typeof schema === "boolean") return {};
  if (schema.const !== undefined) return schema.const;
  if (schema.enum) return schema.enum[(step - 1) % schema.enum.length];
  if (schema.default !== undefined) return schema.default;
  const alternative = schema.anyOf?.[0] ?? schema.oneOf?.[0];
  if (alternative !== undefined) return sampleInput(alternative, step);
  switch (Array.isArray(schema.type) ? schema.type[0] : schema.type) {
    case "string":
      return `step ${step}`;
    case "number":
    case "integer":
      return sampleNumber(schema, step);
    case "boolean":
      return step % 2 === 1;
    case "null":
      return null;
    case "array":
      return Array.from({ length: schema.minItems ?? 0 }, () => sampleInput(itemOf(schema), step));
    default:
      return Object.fromEntries(
        (schema.required ?? []).map((name) => [name, sampleInput(schema.properties?.[name], step)]),
      );
  }
}

function sampleNumber({ minimum = 1, maximum = Infinity }: InputSchema, step: number): number {
  const range = maximum - minimum + 1;
  return minimum + (Number.isFinite(range) && range >= 1 ? (step - 1) % range : step - 1);
}

function itemOf({ items }: InputSchema): InputSchemaOrBoolean | undefined {
  return Array.isArray(items) ? items[0] : items;
}
