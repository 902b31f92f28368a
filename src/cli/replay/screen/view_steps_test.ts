import assert from "node:assert/strict";
import { memoryTerminal } from "../../terminal/_memory_terminal.ts";
import { createStyle } from "../../terminal/style.ts";
import { readScreens } from "../_read_screens.ts";
import { event, stepsOf, STORY } from "../_test_events.ts";
import { viewSteps } from "./view_steps.ts";

const LEAVE = "\x1b[?7h\x1b[?25h\x1b[?1049l";

async function view(terminal: ReturnType<typeof memoryTerminal>, events = STORY) {
  const { stdout, keys, hasUnicode, interrupted } = terminal;
  const end = await viewSteps(
    { steps: await stepsOf(events), sessionId: "s1", hints: [] },
    { stdout, keys: keys!(), hasUnicode, style: createStyle(stdout.hasColour), interrupted },
  );
  return { end, screens: readScreens(terminal.out) };
}

Deno.test("viewSteps() steps forward and back, and leaves the terminal as it was", async () => {
  const terminal = memoryTerminal({ columns: 60, keys: ["right", "l", "h", "G", "home", "x", "q", "l"] });
  const { end, screens } = await view(terminal);
  assert.equal(end, "quit");
  assert.deepEqual(screens.map((screen) => /^Step \d of 7 · #\d/.exec(screen)![0]), [
    "Step 1 of 7 · #1",
    "Step 2 of 7 · #2",
    "Step 3 of 7 · #3",
    "Step 2 of 7 · #2",
    "Step 7 of 7 · #9",
    "Step 1 of 7 · #1",
    "Step 1 of 7 · #1",
  ]);
  assert.equal(
    screens[2],
    `\
Step 3 of 7 · #3 · 2026-11-21 09:30:00.120 UTC · +120 ms
So far $0.1 · 10 + 2 tokens · 1 call
Session s1 · agent helper · run run_1
${"─".repeat(60)}
model.called
step 1 · acme:gpt-x · 10 + 2 tokens · $0.1 · took 5 ms ·
tool-calls
Sent
  What is 2 + 3?
Reasoning
  It is a sum.
Call of calculator
  {
    "expression": "2 + 3"
  }
→ next  ← back  ↑↓ scroll  g first  G last  q quit`,
  );
  assert.ok(terminal.out.startsWith("\x1b[?1049h\x1b[?25l\x1b[?7l"));
  assert.ok(terminal.out.endsWith(LEAVE));
});

Deno.test("viewSteps() scrolls long bodies", async () => {
  const output = Array.from({ length: 50 }, (_, index) => `row ${index}`).join("\n");
  const keys = ["j", "page_down", "k", "page_down", "page_down", "page_down", "up", "right", "left"];
  const terminal = memoryTerminal({ columns: 80, rows: 14, keys });
  const { screens } = await view(terminal, [
    event(1, "tool.returned", { tool_name: "t", output }),
    event(2, "end"),
  ]);
  assert.deepEqual(screens.map((screen) => /lines (\d+)-\d+ of 54$/.exec(screen)?.[1]), [
    "1",
    "2",
    "10",
    "9",
    "17",
    "25",
    "33",
    "32",
    undefined,
    "1",
  ]);
});

Deno.test("viewSteps() follows the size of the terminal", async () => {
  const terminal = memoryTerminal({ columns: 80, rows: 30, keys: typing() });
  function* typing() {
    yield "G";
    terminal.resize(30, 10);
    yield "x";
  }
  await view(terminal);
  const [, before, after] = terminal.out.split("\x1b[H");
  assert.equal(before!.split("\r\n").length, 30);
  assert.equal(after!.split("\r\n").length, 30);
  assert.equal(terminal.out.split("\x1b[H")[3]!.split("\r\n").length, 10);
});

Deno.test("viewSteps() leaves the terminal as it was when the keys end, at Ctrl-C, and when something fails", async () => {
  const ended = memoryTerminal({ columns: 80, keys: [] });
  assert.equal((await view(ended)).end, "quit");
  assert.ok(ended.out.endsWith(LEAVE));

  const stopped = memoryTerminal({ columns: 80, keys: ["ctrl-c"] });
  assert.equal((await view(stopped)).end, "interrupted");
  assert.ok(stopped.out.endsWith(LEAVE));

  const broken = memoryTerminal({
    columns: 80,
    keys: (function* () {
      yield "l";
      throw new Error("no keyboard");
    })(),
  });
  await assert.rejects(view(broken), /no keyboard/);
  assert.ok(broken.out.endsWith(LEAVE));
});

Deno.test("viewSteps() leaves the terminal at once when a signal comes, and does so once", async () => {
  const terminal = memoryTerminal({ columns: 80, keys: typing() });
  function* typing() {
    yield "l";
    terminal.interrupt();
    assert.ok(terminal.out.endsWith(LEAVE), "before anything else gets its turn");
    yield "l";
  }
  const { end, screens } = await view(terminal);
  assert.equal(end, "interrupted");
  assert.equal(screens.length, 2);
  assert.equal(terminal.out.split("\x1b[?1049l").length, 2);
});

Deno.test("viewSteps() escapes control characters of the log", async () => {
  const evil = "\x1b]0;pwned\x07\x1b[2J";
  const hostile = event(1, evil, { [evil]: [evil] }, { agent_id: evil, session_id: evil, run_id: evil });
  const terminal = memoryTerminal({ columns: 80, keys: ["l"] });
  await view(terminal, [hostile, {
    ...hostile,
    type: "tool.called",
    payload: { tool_name: evil, input: evil },
  }]);
  for (const obeyed of ["\x1b]", "\x07", "\x1b[2J"]) assert.ok(!terminal.out.includes(obeyed));
});
