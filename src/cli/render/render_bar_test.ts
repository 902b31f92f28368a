import assert from "node:assert/strict";
import { renderBar } from "./render_bar.ts";

Deno.test("renderBar() draws eighths of a column, and something for what is more than nothing", () => {
  const cases: [number, string, string][] = [
    [1, "████", "####"],
    [0.5, "██", "##"],
    [0.6, "██▍", "##"],
    [0.001, "▏", "#"],
    [0, "", ""],
    [NaN, "", ""],
    [2, "████", "####"],
  ];
  for (const [part, unicode, ascii] of cases) {
    assert.equal(renderBar(part, 4, true), unicode);
    assert.equal(renderBar(part, 4, false), ascii);
  }
});
