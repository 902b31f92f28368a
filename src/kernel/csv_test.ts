import assert from "node:assert/strict";
import { cellOf } from "./csv.ts";

/** Characters that spreadsheets skip before a formula: blanks, controls, byte order marks, marks of direction. */
const SKIPPED = [
  ..."\t\r\n \v\f\0\x1b\x7f\x85\u00a0\u1680\u2000\u2003\u2009\u2028\u2029\u202f\u205f\u3000",
  ..."\ufeff\ufffe\u200b\u200c\u200d\u200e\u200f\u202a\u202e\u2060\u2066\u00ad\u061c\u115f\u3164\ufe0f\u{e0001}",
];

/** The signs of formulas: ASCII, full-width, small, raised and lowered ones, and the minus sign. */
const SIGNS = [..."=+-@＝＋－＠﹦﹢﹣﹫⁼⁺₊₋⁻\u2212"];

Deno.test("a cell gets an apostrophe before any sign of a formula, whatever a spreadsheet skips before it", () => {
  for (const sign of SIGNS) {
    for (const before of ["", ...SKIPPED, ...SKIPPED.map((one) => ` ${one}${one} `)]) {
      const cell = cellOf("name", `${before}${sign}cmd|' /C calc'!A0`);
      const shown = JSON.stringify(before + sign);
      assert.equal(cell.replace(/^"/, "")[0], "'", shown);
      assert.ok(cell.includes(`'${before}${sign}cmd`), shown);
    }
  }
});

Deno.test("a cell that begins like no formula stays as it is, and so does a number", () => {
  const texts = ["a=b", " a", "\ufeffa", "é", "–", "—x", "'=1", "1-2", "-5", "+1.5", "-0.000000001", "", " "];
  for (const text of texts) assert.equal(cellOf("name", text), text);
  assert.equal(cellOf("name", '="a","b"'), `"'=""a"",""b"""`);
  assert.equal(cellOf("tags", { a: "=1" }), '"{""a"":""=1""}"');
});
