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

/** Returns the largest of the numbers that some fields have under some names; undefined without any. */
export function largest(homes: readonly unknown[], names: readonly string[]): number | undefined {
  let most: number | undefined;
  for (const home of homes) {
    if (!isFields(home)) continue;
    for (const name of names) {
      const value = home[name];
      if (typeof value === "number" && (most === undefined || value > most)) most = value;
    }
  }
  return most;
}
