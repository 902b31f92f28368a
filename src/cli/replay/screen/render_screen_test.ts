import assert from "node:assert/strict";
import { createStyle } from "../../terminal/style.ts";
import { textWidth } from "../../terminal/text_width.ts";
import { renderScreen, type ScreenInput } from "./render_screen.ts";
import { event, lastStepOf, STORY } from "../_test_events.ts";

const screen = async (input: Partial<ScreenInput> = {}) =>
  renderScreen({
    step: await lastStepOf(...STORY.slice(0, 6)),
    body: Array.from({ length: 30 }, (_, index) => `body ${index + 1}`),
    position: { index: 4, scroll: 0 },
    count: 7,
    sessionId: "s1",
    notes: [],
    rows: 12,
    columns: 80,
    style: createStyle(false),
    hasUnicode: true,
    ...input,
  });

Deno.test("renderScreen() draws a header, the body and a footer", async () => {
  assert.deepEqual((await screen()).lines, [
    "Step 5 of 7 · #6 · 2026-11-21 09:30:01.403 UTC · +3 ms",
    "So far $0.1 · 10 + 2 tokens · 1 call",
    "Session s1 · agent helper · run run_1",
    "─".repeat(80),
    ...[1, 2, 3, 4, 5, 6, 7].map((number) => `body ${number}`),
    "→ next  ← back  ↑↓ scroll  g first  G last  q quit" + "lines 1-7 of 30".padStart(30),
  ]);
});

Deno.test("renderScreen() scrolls the body, and not past its end", async () => {
  const { lines, bodyRows, maxScroll } = await screen({ position: { index: 4, scroll: 99 } });
  assert.deepEqual([bodyRows, maxScroll], [7, 23]);
  assert.equal(lines[10], "body 30");
  assert.match(lines[11]!, / lines 24-30 of 30$/);
  const short = await screen({ body: ["one"] });
  assert.equal(short.maxScroll, 0);
  assert.deepEqual(short.lines.slice(4), [
    "one",
    "",
    "",
    "",
    "",
    "",
    "",
    "→ next  ← back  ↑↓ scroll  g first  G last  q quit",
  ]);
});

Deno.test("renderScreen() gives way where there is little room: as many lines as rows, none too wide", async () => {
  const body = ["x"];
  for (let rows = 1; rows < 30; rows++) {
    for (const columns of [1, 5, 20, 40, 100]) {
      const { lines } = await screen({ rows, columns, body, notes: ["A note that has more words than fit"] });
      assert.equal(lines.length, rows);
      for (const line of lines) assert.ok(textWidth(line) <= columns, `${line} in ${columns}`);
      assert.ok(lines.includes("x"), "the body is there");
    }
  }
});

Deno.test("renderScreen() shows notes, keeps to ASCII where it must, and writes escapes out", async () => {
  const step = await lastStepOf(event(1, "a", {}, { agent_id: "evil\x1b[2J", at: null }));
  const { lines } = await screen({ step, notes: ["Mind\x1b[2J"], hasUnicode: false, rows: 18 });
  assert.deepEqual(lines.slice(0, 5), [
    "Step 5 of 7, #1",
    "So far $0, 0 + 0 tokens, 0 calls",
    "Session s1, agent evil\\x1b[2J, run run_1",
    "Mind\\x1b[2J",
    "-".repeat(80),
  ]);
  assert.match(lines.at(-1)!, /^l next {2}h back .* lines 1-12 of 30$/);
});
