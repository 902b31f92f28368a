/**
 * Control characters (C0, DEL, C1), line separators and bidirectional marks: each can make a terminal show something
 * that isn't there.
 */
const UNSAFE = /[\p{Cc}\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]/gu;

const SHORT: Record<string, string> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };

/** Escapes an untrusted text to one line: control characters are written as `\x1b`. */
export function escapeText(text: string): string {
  return text.replace(UNSAFE, escapeCharacter);
}

/** Escapes an untrusted text of several lines: line ends and tabs stay. */
export function escapeLines(text: string): string {
  return text.replaceAll("\r\n", "\n")
    .replace(
      UNSAFE,
      (character) => (character === "\n" || character === "\t" ? character : escapeCharacter(character)),
    );
}

/** Escapes JSON text: the value is the same, without control characters. */
export function escapeJson(json: string): string {
  return json.replace(
    UNSAFE,
    (character) =>
      /\s/.test(character) && character < "\x80"
        ? character
        : `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

function escapeCharacter(character: string): string {
  const code = character.charCodeAt(0);
  return SHORT[character] ??
    (code < 256 ? `\\x${code.toString(16).padStart(2, "0")}` : `\\u${code.toString(16).padStart(4, "0")}`);
}
