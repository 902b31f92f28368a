/** Paints a text for the terminal. */
export type Paint = (text: string) => string;

/** The styles of text. */
export interface Style {
  bold: Paint;
  dim: Paint;
  red: Paint;
  green: Paint;
  yellow: Paint;
  cyan: Paint;
}

/** Returns styles by ANSI codes, or styles that change nothing. */
export function createStyle(hasColour: boolean): Style {
  const code = (start: number, end: number): Paint => (text) =>
    hasColour && text !== "" ? `\x1b[${start}m${text}\x1b[${end}m` : text;
  return {
    bold: code(1, 22),
    dim: code(2, 22),
    red: code(31, 39),
    green: code(32, 39),
    yellow: code(33, 39),
    cyan: code(36, 39),
  };
}
