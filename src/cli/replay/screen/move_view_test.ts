import assert from "node:assert/strict";
import { moveView } from "./view_steps.ts";

const EXTENT = { count: 3, bodyRows: 10, maxScroll: 25 };

Deno.test("moveView() goes from step to step, to the top of each, and stays at the ends", () => {
  const at = { index: 1, scroll: 5 };
  const cases: [string[], number][] = [
    [["right", "l", "n", " "], 2],
    [["left", "h", "p"], 0],
    [["home", "g"], 0],
    [["end", "G"], 2],
  ];
  for (const [keys, index] of cases) {
    for (const key of keys) assert.deepEqual(moveView(at, key, EXTENT), { index, scroll: 0 }, key);
  }
  const last = { index: 2, scroll: 5 };
  assert.deepEqual(moveView(last, "right", EXTENT), last);
  assert.deepEqual(moveView({ index: 0, scroll: 5 }, "g", EXTENT), { index: 0, scroll: 5 });
});

Deno.test("moveView() scrolls by lines and pages within the body", () => {
  const cases: [string, number, number][] = [
    ["down", 0, 1],
    ["j", 25, 25],
    ["up", 5, 4],
    ["k", 0, 0],
    ["page_down", 0, 9],
    ["page_down", 20, 25],
    ["page_up", 20, 11],
    ["page_up", 3, 0],
  ];
  for (const [key, from, to] of cases) {
    assert.deepEqual(
      moveView({ index: 1, scroll: from }, key, EXTENT),
      { index: 1, scroll: to },
      `${key} from ${from}`,
    );
  }
});

Deno.test("moveView() distinguishes quitting from Ctrl-C, and ignores other keys", () => {
  const at = { index: 1, scroll: 5 };
  assert.deepEqual(["q", "escape", "ctrl-c"].map((key) => moveView(at, key, EXTENT)), [
    "quit",
    "quit",
    "interrupt",
  ]);
  for (const key of ["x", "enter", "alt-l", "constructor"]) assert.deepEqual(moveView(at, key, EXTENT), at);
});
