import { escapeLines } from "../terminal/escape_text.ts";
import type { Style } from "../terminal/style.ts";
import { textWidth } from "../terminal/text_width.ts";
import { wrapText } from "../terminal/wrap_text.ts";

/** The minimum width of a wrapped value. */
const MIN_WIDTH = 16;

/**
 * Renders names and values, one field a line. A value of several lines, or one wider than the terminal, is indented.
 * Undefined values are left out.
 */
export function renderFields(
  fields: Record<string, string | undefined>,
  { style, columns = Infinity }: { style: Style; columns: number | undefined },
): string {
  const rows = Object.entries(fields).filter((row): row is [string, string] => row[1] !== undefined);
  const width = Math.max(...rows.map(([name]) => name.length)) + 2;
  const room = Math.max(MIN_WIDTH, columns - width);
  return rows.map(([name, value]) => {
    const lines = wrapText(escapeLines(value), room);
    // A value that can't be wrapped, such as an id, goes below its name.
    const isBelow = lines.some((line) => textWidth(line) > room);
    const indent = " ".repeat(isBelow ? 2 : width);
    const gap = isBelow ? "\n" + indent : " ".repeat(width - name.length);
    return style.dim(name) + gap +
      (isBelow ? wrapText(escapeLines(value), columns - 2) : lines).join("\n" + indent);
  }).join("\n");
}
