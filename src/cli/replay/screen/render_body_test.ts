import assert from "node:assert/strict";
import { createStyle } from "../../terminal/style.ts";
import { textWidth } from "../../terminal/text_width.ts";
import { renderBody } from "./render_body.ts";
import type { ReplayEvent } from "../steps/replay_event.ts";
import { called, event, lastStepOf, STORY } from "../_test_events.ts";

const render = async (columns: number, events: readonly ReplayEvent[], hasUnicode = true) =>
  renderBody(await lastStepOf(...events), { columns, style: createStyle(false), hasUnicode });

Deno.test("renderBody() tells what a call was sent and what came back", async () => {
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

Deno.test("renderBody() writes out what a terminal would obey", async () => {
  const evil = "\x1b[2J\r\x07";
  const [call] = called(1, "c1", 0, { text: `one\n\ttwo${evil}`, model: evil, reasoning: evil });
  const text = (await render(60, [{ ...call, imported_from: evil }])).join("\n");
  // deno-lint-ignore no-control-regex -- what must not be there
  assert.doesNotMatch(text, /[\x00-\x09\x0b-\x1f]/);
  assert.match(text, /\n {2}one\n {6}two\\x1b\[2J\\r\\x07/);
});

Deno.test("renderBody() lays out as much of a text as a person scrolls through, and says what is left", async () => {
  const lines = await render(80, [event(1, "tool.returned", { output: "x".repeat(300_000) })]);
  assert.equal(lines.at(-1), "... and 100,000 more characters, with --json");
});
