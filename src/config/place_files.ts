import { resolve } from "node:path";

/** Makes the path in every `{"file": "…"}` within a value absolute from `folder`. */
export function placeFiles<T>(value: T, folder: string): T {
  if (Array.isArray(value)) return value.map((item) => placeFiles(item, folder)) as T;
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value);
  const [[key, path] = []] = entries;
  if (entries.length === 1 && key === "file" && typeof path === "string" && path !== "") {
    return { file: resolve(folder, path) } as T;
  }
  return Object.fromEntries(entries.map(([key, item]) => [key, placeFiles(item, folder)])) as T;
}
