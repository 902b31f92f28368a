import assert from "node:assert/strict";
import { cutText, textWidth } from "./text_width.ts";
import { wrapColumns } from "./wrap_text.ts";

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

Deno.test("cutText() never shows a part of an amount or another number", () => {
  const cases: [string, number, string][] = [
    ["Over $1000 a day", 10, "Over …"],
    ["Over $1000 a day", 11, "Over $1000…"],
    ["$12,480", 5, "…"],
    ["-$0.0005", 6, "…"],
    ["+12.5% more", 5, "…"],
    ["日本 <$0.01", 9, "日本 …"],
    ["It costs $5. More", 14, "It costs $5. …"],
    // Digits of a name or an id are no number.
    ["claude-opus-5-55", 15, "claude-opus-5-…"],
    ["run_01m5zwwy002f", 10, "run_01m5z…"],
  ];
  for (const [text, width, expected] of cases) assert.equal(cutText(text, width), expected);
});

Deno.test("wrapColumns() breaks at a near space, else between characters", () => {
  const cases: [string, number, string[]][] = [
    ["", 10, [""]],
    ["one two", 7, ["one two"]],
    ["one two three", 7, ["one two", "three"]],
    ["one two three", 9, ["one two", "three"]],
    ["a bcdefghijklm", 6, ["a bcde", "fghijk", "lm"]],
    ["  indented text", 10, ["  indented", "text"]],
    ["one\n\ntwo", 3, ["one", "", "two"]],
    ["\ta", 10, ["    a"]],
    ["日本語の文", 5, ["日本", "語の", "文"]],
    ["日本 語", 5, ["日本", "語"]],
    ["👨‍👩‍👧👨‍👩‍👧", 3, ["👨‍👩‍👧", "👨‍👩‍👧"]],
    ["日本", 1, ["日", "本"]],
    ["abc   def", 4, ["abc ", " def"]],
  ];
  for (const [text, columns, lines] of cases) {
    assert.deepEqual(wrapColumns(text, columns), lines, `${JSON.stringify(text)} in ${columns}`);
  }
});

Deno.test("wrapColumns() loses nothing but spaces, and keeps to the width", () => {
  const text = "Lorem ipsum 日本語 dolor sit amet, " + "consectetur".repeat(9) + " äöü e\u0301 👍 end";
  for (let columns = 2; columns < 60; columns++) {
    const lines = wrapColumns(text, columns);
    assert.equal(lines.join("").replaceAll(" ", ""), text.replaceAll(" ", ""));
    for (const line of lines) assert.ok(textWidth(line) <= columns, `${line} in ${columns}`);
  }
});
