/** Formats a path into a JSON value: `prices[0].model`, `[3].at`. */
export function formatPath(path: readonly PropertyKey[]): string {
  return path.map((key, index) =>
    typeof key === "number" ? `[${key}]` : (index === 0 ? "" : ".") + String(key)
  ).join("");
}
