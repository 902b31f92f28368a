/** Truncates a text; the result has no half of a character. */
export function shorten(text: string, length: number): string {
  return (text.length > length ? `${text.slice(0, length)}…` : text).toWellFormed();
}

/** Letters, and marks on them, of scripts that are written with joiners. */
const JOINING = String
  .raw`[\p{scx=Arab}\p{scx=Syrc}\p{scx=Mong}\p{scx=Deva}\p{scx=Beng}\p{scx=Guru}\p{scx=Gujr}\p{scx=Orya}\p{scx=Taml}\p{scx=Telu}\p{scx=Knda}\p{scx=Mlym}\p{scx=Sinh}\p{scx=Khmr}\p{scx=Mymr}\p{scx=Tibt}]`;

/**
 * Characters that make a terminal or a viewer show something that isn't there, or hide what is: control characters (C0, DEL,
 * C1), line and paragraph separators, bidirectional marks, and invisible ones, such as the zero-width space, tags, fillers and
 * variation selectors without a glyph. Joiners stay where a script or an emoji needs them: between letters that join, and
 * between pictures.
 */
const UNSAFE = new RegExp(
  [
    String.raw`(?![\u0600-\u0605\u06dd\u070f\u08e2\u200c\u200d])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]`,
    String.raw`[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\uffa0\u{e0100}-\u{e01ef}]`,
    String.raw`(?<![\p{Extended_Pictographic}\p{EMod}\ufe0f])(?<!${JOINING})[\u200c\u200d]`,
    String.raw`[\u200c\u200d](?!\p{Extended_Pictographic}|${JOINING})`,
  ].join("|"),
  "gu",
);

/** Replaces each unsafe character of a text for people or machines; most texts have none. */
export function replaceUnsafe(text: string, replace: (character: string) => string): string {
  return PRINTABLE.test(text) ? text : text.replace(UNSAFE, replace);
}

/** The common case, for which no property of a character is looked up. */
const PRINTABLE = /^[\x20-\x7e\u00a1-\u00ac\u00ae-\u02ff]*$/;

const SHORT: Record<string, string> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };

/** Escapes an untrusted text to one line: control characters are written as `\x1b`. */
export function escapeText(text: string): string {
  return replaceUnsafe(text, escapeCharacter);
}

/** Escapes an untrusted text of several lines: line ends and tabs stay. */
export function escapeLines(text: string): string {
  return replaceUnsafe(
    text.replaceAll("\r\n", "\n"),
    (character) => (character === "\n" || character === "\t" ? character : escapeCharacter(character)),
  );
}

function escapeCharacter(character: string): string {
  const code = character.codePointAt(0)!;
  return SHORT[character] ??
    (code < 256
      ? `\\x${code.toString(16).padStart(2, "0")}`
      : code > 0xffff
      ? `\\u{${code.toString(16)}}`
      : `\\u${code.toString(16).padStart(4, "0")}`);
}

/** Escapes JSON text: its value is the same, and it has no unsafe characters. */
export function escapeJson(json: string): string {
  return replaceUnsafe(
    json,
    (character) =>
      /[\n\r\t]/.test(character) ? character : Array.from(
        { length: character.length },
        (_, index) => `\\u${character.charCodeAt(index).toString(16).padStart(4, "0")}`,
      ).join(""),
  );
}

/** The type of a name in snake_case as a name in camelCase. */
export type CamelCase<Name extends string> = Name extends `${infer Head}_${infer Rest}`
  ? `${Head}${Capitalize<CamelCase<Rest>>}`
  : Name;

/** Returns a name in snake_case as a name in camelCase. */
export const toCamelCase = <Name extends string>(name: Name) =>
  name.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase()) as CamelCase<Name>;

/** Returns a name in camelCase as a name in snake_case. */
export const toSnakeCase = (name: string): string =>
  name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
