import { replaceUnsafe } from "../../kernel/text.ts";

export { escapeJson } from "../../kernel/text.ts";

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
