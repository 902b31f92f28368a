import { graphemes, textWidth } from "./text_width.ts";

/** Wraps ASCII text at spaces into lines of at most `width` columns. Existing line ends stay. */
export function wrapText(text: string, width: number): string[] {
  return text.split("\n").flatMap((paragraph) => {
    const lines: string[] = [];
    let line = "";
    for (const word of paragraph.split(" ")) {
      if (line !== "" && line.length + 1 + word.length > width) {
        lines.push(line);
        line = word;
      } else {
        line = line === "" ? word : `${line} ${word}`;
      }
    }
    return [...lines, line];
  });
}

const ASCII = /^[\x20-\x7e]*$/;

/** A tab, which is narrower than on a terminal: there is little to align. */
const TAB = "    ";

/**
 * Wraps escaped text into lines of at most `columns`: at a nearby space, else between characters. Line ends and indents
 * stay.
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
  for (const character of isAscii ? line : graphemes(line)) {
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
