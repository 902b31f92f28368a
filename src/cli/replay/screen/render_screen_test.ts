import assert from "node:assert/strict";
import { createStyle } from "../../terminal/style.ts";
import { textWidth } from "../../terminal/text_width.ts";
import { renderBody, renderScreen, type ScreenInput } from "./view_steps.ts";
import { called, event, lastStepOf, STORY } from "../_test_events.ts";
import type { ReplayEvent } from "../steps/replay_event.ts";

const screen = async (input: Partial<ScreenInput> = {}) =>
  renderScreen({
    step: await lastStepOf(...STORY.slice(0, 6)),
    body: Array.from({ length: 30 }, (_, index) => `body ${index + 1}`),
    position: { index: 4, scroll: 0 },
    count: 7,
    sessionId: "s1",
    hints: [],
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

Deno.test("renderScreen() shrinks to the terminal: as many lines as rows, none too wide", async () => {
  const body = ["x"];
  for (let rows = 1; rows < 30; rows++) {
    for (const columns of [1, 5, 20, 40, 100]) {
      const { lines } = await screen({ rows, columns, body, hints: ["A hint that has more words than fit"] });
      assert.equal(lines.length, rows);
      for (const line of lines) assert.ok(textWidth(line) <= columns, `${line} in ${columns}`);
      assert.ok(lines.includes("x"), "the body is there");
    }
  }
});

Deno.test("renderScreen() shows hints, keeps to ASCII without Unicode, and escapes control characters", async () => {
  const step = await lastStepOf(event(1, "a", {}, { agent_id: "evil\x1b[2J", at: null }));
  const { lines } = await screen({ step, hints: ["Mind\x1b[2J"], hasUnicode: false, rows: 18 });
  assert.deepEqual(lines.slice(0, 5), [
    "Step 5 of 7, #1",
    "So far $0, 0 + 0 tokens, 0 calls",
    "Session s1, agent evil\\x1b[2J, run run_1",
    "Mind\\x1b[2J",
    "-".repeat(80),
  ]);
  assert.match(lines.at(-1)!, /^l next {2}h back .* lines 1-12 of 30$/);
});

const render = async (columns: number, events: readonly ReplayEvent[], hasUnicode = true) =>
  renderBody(await lastStepOf(...events), { columns, style: createStyle(false), hasUnicode });

Deno.test("renderBody() shows the inputs and the answer of a call", async () => {
  assert.deepEqual(await render(80, STORY.slice(0, 4)), [
    "model.called",
    "step 1 · acme:gpt-x · 10 + 2 tokens · $0.1 · took 5 ms · tool-calls",
    "",
    "Sent",
    "  What is 2 + 3?",
    "",
    "Reasoning",
    "  It is a sum.",
    "",
    "Call of calculator",
    "  {",
    '    "expression": "2 + 3"',
    "  }",
  ]);
  assert.deepEqual((await render(80, STORY.slice(0, 8))).slice(2), [
    "",
    "Sent: result of calculator",
    "  {",
    '    "result": 5',
    "  }",
    "",
    "Answer",
    "  It is 5.",
  ]);
});

Deno.test("renderBody() fits narrow screens", async () => {
  assert.deepEqual(await render(16, STORY.slice(0, 6), false), [
    "tool.returned",
    "calculator, took",
    "3 ms",
    "",
    "Output",
    "  {",
    '    "result": 5',
    "  }",
  ]);
  const long = event(1, "run.started", {
    input: "日本語 text ".repeat(9),
    definition: { a: ["b".repeat(50)] },
  });
  for (const columns of [1, 2, 3, 7, 20]) {
    for (const line of await render(columns, [long])) {
      assert.ok(textWidth(line) <= Math.max(columns, 4), `${line} in ${columns}`);
    }
  }
});

Deno.test("renderBody() escapes control characters", async () => {
  const evil = "\x1b[2J\r\x07";
  const [call] = called(1, "c1", 0, { text: `one\n\ttwo${evil}`, model: evil, reasoning: evil });
  const text = (await render(60, [{ ...call, imported_from: evil }])).join("\n");
  // deno-lint-ignore no-control-regex -- what must not be there
  assert.doesNotMatch(text, /[\x00-\x09\x0b-\x1f]/);
  assert.match(text, /\n {2}one\n {6}two\\x1b\[2J\\r\\x07/);
});

Deno.test("renderBody() truncates huge texts, and reports the length of the rest", async () => {
  const lines = await render(80, [event(1, "tool.returned", { output: "x".repeat(300_000) })]);
  assert.equal(lines.at(-1), "... and 100,000 more characters, with --json");
});
