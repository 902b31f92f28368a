import { textWidth } from "../../terminal/text_width.ts";

const ASCII = /^[\x20-\x7e]*$/;

/** No terminal shows that much of a tab; the body of a step has little to align. */
const TAB = "    ";

let segmenter: Intl.Segmenter | undefined;

/**
 * Breaks a text into lines that fit a number of columns: at a space where there is a near one, else anywhere
 * between characters. Ends of lines and indents stay. Takes text that is escaped.
 */
export function wrapColumns(text: string, columns: number): string[] {
  return text.replaceAll("\t", TAB).split("\n").flatMap((line) => wrapLine(line, columns));
}

function wrapLine(line: string, columns: number): string[] {
  const isAscii = ASCII.test(line);
  if ((isAscii ? line.length : textWidth(line)) <= columns) return [line];
  const lines: string[] = [];
  let current = "";
  let used = 0;
  for (const character of isAscii ? line : charactersOf(line)) {
    const width = isAscii ? 1 : textWidth(character);
    if (used + width > columns && current !== "") {
      const space = character === " " ? current.length : current.lastIndexOf(" ");
      const isNear = space > current.length / 2;
      lines.push(isNear ? current.slice(0, space) : current);
      current = isNear ? current.slice(space + 1) : "";
      used = textWidth(current);
      if (character === " ") continue;
    }
    current += character;
    used += width;
  }
  return [...lines, current];
}

function* charactersOf(line: string): Generator<string> {
  segmenter ??= new Intl.Segmenter(undefined, { granularity: "grapheme" });
  for (const { segment } of segmenter.segment(line)) yield segment;
}
