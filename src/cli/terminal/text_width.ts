/**
 * Text of single-column characters that don't combine: Latin, dashes, dots, quotes, arrows, boxes and blocks. It needs no
 * segmenter, whose loading takes half the time of an empty program.
 */
const SIMPLE = /^[\x20-\x7e\u00a0-\u02ff\u2010-\u2027\u2190-\u21ff\u2500-\u259f]*$/;

/** The wide characters of Unicode's East Asian Width: CJK, kana, Hangul, full-width forms and others. */
const WIDE =
  /^[\u1100-\u115f\u2e80-\u303e\u3041-\u33ff\u3400-\u4dbf\u4e00-\u9fff\ua000-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{16fe0}-\u{18aff}\u{1b000}-\u{1b2ff}\u{1f200}-\u{1f2ff}\u{20000}-\u{3fffd}]/u;
const EMOJI = /^\p{Emoji_Presentation}|\ufe0f/u;
const INVISIBLE = /^[\p{Mark}\u200b-\u200d\u2060]+$/u;

let segmenter: Intl.Segmenter | undefined;

/** Returns the width of a text in terminal columns. */
export function textWidth(text: string): number {
  if (SIMPLE.test(text)) return text.length;
  let width = 0;
  for (const grapheme of graphemes(text)) width += graphemeWidth(grapheme);
  return width;
}

/** Cuts a text to a width and ends it with an ellipsis. */
export function cutText(text: string, width: number, ellipsis = "…"): string {
  if (textWidth(text) <= width) return text;
  const room = width - ellipsis.length;
  if (SIMPLE.test(text)) return room < 0 ? "" : text.slice(0, room) + ellipsis;
  let kept = "";
  let used = 0;
  for (const grapheme of graphemes(text)) {
    used += graphemeWidth(grapheme);
    if (used > room) break;
    kept += grapheme;
  }
  return width < ellipsis.length ? "" : kept + ellipsis;
}

function* graphemes(text: string): Generator<string> {
  segmenter ??= new Intl.Segmenter(undefined, { granularity: "grapheme" });
  for (const { segment } of segmenter.segment(text)) yield segment;
}

function graphemeWidth(grapheme: string): number {
  if (INVISIBLE.test(grapheme)) return 0;
  return WIDE.test(grapheme) || EMOJI.test(grapheme) ? 2 : 1;
}

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
