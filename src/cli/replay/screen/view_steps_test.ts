import assert from "node:assert/strict";
import { memoryTerminal } from "../../../../tests/harness/memory_terminal.ts";
import { createStyle } from "../../terminal/style.ts";
import { readScreens } from "../../../../tests/harness/read_screens.ts";
import { called, event, lastStepOf, stepsOf, STORY } from "../../../../tests/harness/replay_events.ts";
import { moveView, renderBody, renderScreen, type ScreenInput, viewSteps } from "./view_steps.ts";
import { textWidth } from "../../terminal/text_width.ts";
import type { ReplayEvent } from "../../../contract/replay/mod.ts";

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
