import assert from "node:assert/strict";
import { cutText, textWidth } from "./text_width.ts";

Deno.test("textWidth() counts columns of a terminal", () => {
  const cases: [string, number][] = [
    ["", 0],
    ["abc", 3],
    ["é", 1],
    ["e\u0301", 1],
    ["日本", 4],
    ["한국어", 6],
    ["ＡＢ", 4],
    ["👍", 2],
    ["👨‍👩‍👧", 2],
    ["❤️", 2],
    ["a\u200bb", 2],
    ["█▏", 2],
    ["→ …", 3],
    ["Zoë–“x”", 7],
  ];
  for (const [text, width] of cases) assert.equal(textWidth(text), width, JSON.stringify(text));
});

Deno.test("cutText() keeps what fits, and never half of a character", () => {
  const cases: [string, number, string][] = [
    ["abcdef", 6, "abcdef"],
    ["abcdef", 5, "abcd…"],
    ["日本語", 5, "日本…"],
    ["日本語", 4, "日…"],
    ["abc", 1, "…"],
    ["abc", 0, ""],
    ["→→→→", 3, "→→…"],
  ];
  for (const [text, width, expected] of cases) assert.equal(cutText(text, width), expected);
});
