import { escapeLines } from "./escape_text.ts";
import type { Style } from "./style.ts";

/** Names and values below each other. A value of several lines is indented; undefined leaves a row out. */
export function renderFields(fields: Record<string, string | undefined>, style: Style): string {
  const rows = Object.entries(fields).filter((row): row is [string, string] => row[1] !== undefined);
  const width = Math.max(...rows.map(([name]) => name.length)) + 2;
  return rows.map(([name, value]) => {
    const text = escapeLines(value).replaceAll("\n", "\n" + " ".repeat(width));
    return style.dim(name) + " ".repeat(width - name.length) + text;
  }).join("\n");
}
