/** What a sticky pattern matches at a place. */
export function matchAt(pattern: RegExp, text: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at;
  return pattern.exec(text);
}

/** The end of a text before a place. */
export function tailBefore(text: string, at: number, length: number): string {
  return text.slice(Math.max(0, at - length), at);
}

/** The words of a list that is written as a text. */
export function wordsOf(text: string): string[] {
  return text.split(" ");
}

/** The words of a text as a group of a pattern. */
export function oneOf(text: string): string {
  return `(?:${wordsOf(text).join("|")})`;
}

/** Letters as a number, regardless of their case. */
export function lettersAt(text: string, at: number, count: number): number {
  let letters = 0;
  for (let i = at; i < at + count; i++) letters = letters << 5 | text.charCodeAt(i) & 31;
  return letters;
}

/** The classes of letters and digits together, see `classAt()`. */
export const ALPHANUMERIC = 1 | 2 | 4;
/** What the characters of tokens are: lower case 1, upper case 2, digit 4, joiner 8; 0 for all others. */
const CLASS = Uint8Array.from({ length: 128 }, (_, code) => {
  const character = String.fromCharCode(code);
  return [/[a-z]/, /[A-Z]/, /\d/, /[-_+/]/].reduce((sum, one, i) => one.test(character) ? 1 << i : sum, 0);
});

/** The class of the character at a place: lower case 1, upper case 2, digit 4, joiner 8; 0 for what is of no token. */
export function classAt(text: string, at: number): number {
  const code = text.charCodeAt(at);
  return code < 128 ? CLASS[code]! : 0;
}

/** How much of a run ends an escape: the `n` of `\n`, the `u0026` of `\u0026`, the `3D` of `%3D`. */
export function escapeLength(text: string, at: number): number {
  const before = text.charCodeAt(at - 1);
  if (before !== 92 && before !== 37) return 0; // a backslash, a percent sign
  const escape = before === 37 ? /^[0-9a-f]{2}/i : /^(?:u[0-9a-f]{4}|[bfnrt])/i;
  return escape.exec(text.slice(at, at + 5))?.[0].length ?? 0;
}
