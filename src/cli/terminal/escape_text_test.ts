import assert from "node:assert/strict";
import { escapeLines, escapeText } from "./escape_text.ts";

Deno.test("escapeText() escapes control characters", () => {
  const cases: [string, string][] = [
    ["plain äß 日本 👍", "plain äß 日本 👍"],
    ["\x1b[31mred\x1b[0m", "\\x1b[31mred\\x1b[0m"],
    ["a\nb\rc\td", "a\\nb\\rc\\td"],
    ["\x07\x00\x7f", "\\x07\\x00\\x7f"],
    ["\x9b31m", "\\x9b31m"],
    ["abc\u202edef", "abc\\u202edef"],
    ["a\u2028b", "a\\u2028b"],
  ];
  for (const [text, expected] of cases) assert.equal(escapeText(text), expected);
});

Deno.test("escapeLines() keeps line ends and tabs", () => {
  assert.equal(escapeLines("a\r\nb\n\tc\rd\x1b]0;x\x07"), "a\nb\n\tc\\rd\\x1b]0;x\\x07");
});
