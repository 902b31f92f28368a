/** Makes the path in every `{"file": "…"}` within a value absolute. */
export function placeFiles<T>(value: T, place: (path: string) => string): T {
  if (Array.isArray(value)) return value.map((item) => placeFiles(item, place)) as T;
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value);
  const [[key, path] = []] = entries;
  if (entries.length === 1 && key === "file" && typeof path === "string" && path !== "") {
    return { file: place(path) } as T;
  }
  return Object.fromEntries(entries.map(([key, item]) => [key, placeFiles(item, place)])) as T;
}
