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

/** The end of a text that has been cut within an amount or another number. */
const CUT_NUMBER = /(?<![\w.,-])(?:[+-]|<)?\$?(?:\d[\d.,]*)?$/;

/** Cuts a text to a width and ends it with an ellipsis. A number is left out where it doesn't fit: `$12` is not `$1…`. */
export function cutText(text: string, width: number, ellipsis = "…"): string {
  if (textWidth(text) <= width) return text;
  const room = width - ellipsis.length;
  if (room < 0) return "";
  const length = SIMPLE.test(text) ? room : lengthWithin(text, room);
  const kept = text.slice(0, length);
  return (/^[.,]?\d/.test(text.slice(length)) ? kept.replace(CUT_NUMBER, "") : kept) + ellipsis;
}

/** Returns the part of a text that fits in some columns, in whole characters. */
function lengthWithin(text: string, columns: number): number {
  let length = 0;
  let used = 0;
  for (const grapheme of graphemes(text)) {
    used += graphemeWidth(grapheme);
    if (used > columns) break;
    length += grapheme.length;
  }
  return length;
}

export function* graphemes(text: string): Generator<string> {
  segmenter ??= new Intl.Segmenter(undefined, { granularity: "grapheme" });
  for (const { segment } of segmenter.segment(text)) yield segment;
}

function graphemeWidth(grapheme: string): number {
  if (INVISIBLE.test(grapheme)) return 0;
  return WIDE.test(grapheme) || EMOJI.test(grapheme) ? 2 : 1;
}
