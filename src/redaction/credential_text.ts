/** Matches a sticky pattern at an index. */
export function matchAt(pattern: RegExp, text: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at;
  return pattern.exec(text);
}

/** Returns up to `length` characters before an index. */
export function tailBefore(text: string, at: number, length: number): string {
  return text.slice(Math.max(0, at - length), at);
}

/** Splits a list of words that is written as one text. */
export function wordsOf(text: string): string[] {
  return text.split(" ");
}

/** Returns the words of a text as a group of alternatives. */
export function oneOf(text: string): string {
  return `(?:${wordsOf(text).join("|")})`;
}

/** Encodes letters as a number, regardless of their case. */
export function lettersAt(text: string, at: number, count: number): number {
  let letters = 0;
  for (let i = at; i < at + count; i++) letters = letters << 5 | text.charCodeAt(i) & 31;
  return letters;
}

/** The classes of letters and digits together, see `classAt()`. */
export const ALPHANUMERIC = 1 | 2 | 4;
/** The classes of token characters: lower case 1, upper case 2, digit 4, joiner 8; 0 for all others. */
const CLASS = Uint8Array.from({ length: 128 }, (_, code) => {
  const character = String.fromCharCode(code);
  return [/[a-z]/, /[A-Z]/, /\d/, /[-_+/]/].reduce((sum, one, i) => one.test(character) ? 1 << i : sum, 0);
});

/** Returns the class of the character at an index: lower case 1, upper case 2, digit 4, joiner 8, else 0. */
export function classAt(text: string, at: number): number {
  const code = text.charCodeAt(at);
  return code < 128 ? CLASS[code]! : 0;
}

/** Returns how much of a run belongs to an escape: the `n` of `\n`, the `u0026` of `\u0026`, the `3D` of `%3D`. */
export function escapeLength(text: string, at: number): number {
  const before = text.charCodeAt(at - 1);
  if (before !== 92 && before !== 37) return 0; // a backslash, a percent sign
  const escape = before === 37 ? /^[0-9a-f]{2}/i : /^(?:u[0-9a-f]{4}|[bfnrt])/i;
  return escape.exec(text.slice(at, at + 5))?.[0].length ?? 0;
}
