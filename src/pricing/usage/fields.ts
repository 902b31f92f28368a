/** An object of a provider's answer. */
export type Fields = Record<string, unknown>;

export function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Returns the number at a path, if there is one. */
export function count(fields: Fields, ...path: string[]): number | undefined {
  let value: unknown = fields;
  for (const key of path) value = isFields(value) ? value[key] : undefined;
  return typeof value === "number" ? value : undefined;
}
