import assert from "node:assert/strict";
import { fixedClock } from "../../kernel/clock.ts";
import { memoryTerminal } from "../../../tests/harness/memory_terminal.ts";
import { createProgress, renderProgress } from "./progress.ts";

const INPUT = { label: "Exporting", total: 200, unit: "messages" } as const;

Deno.test("renderProgress() draws a bar, the share and the amounts", () => {
  const half = { ...INPUT, done: 100, hasUnicode: true };
  assert.equal(
    renderProgress(half),
    "Exporting ████████████░░░░░░░░░░░░  50 %  100 messages of 200 messages",
  );
  assert.equal(
    renderProgress({ ...half, hasUnicode: false, done: 200 }),
    "Exporting ######################## 100 %  200 messages of 200 messages",
  );
  assert.equal(
    renderProgress({ label: "Reading", done: 1_500_000, total: undefined, unit: "bytes", hasUnicode: true }),
    "Reading 1.5 MB",
  );
  assert.match(renderProgress({ ...half, done: 300 }), / 100 % /);
  assert.match(renderProgress({ ...half, done: 199 }), / {2}99 % /);
});

Deno.test("createProgress() says nothing in the first second, then at most ten times a second", () => {
  const terminal = memoryTerminal({ columns: 80 });
  const clock = fixedClock(0);
  const progress = createProgress({ terminal, clock, isJson: false }, INPUT);
  for (let ms = 0; ms < 2_000; ms += 10) {
    progress.reach(ms / 10);
    if (ms < 1_000) assert.equal(terminal.err, "");
    clock.advance(10);
  }
  const drawn = terminal.err.split("\r\x1b[K").length - 1;
  assert.ok(drawn >= 9 && drawn <= 11, String(drawn));
  progress.end();
  assert.ok(terminal.err.endsWith("\r\x1b[K"), "the line is taken away");
});

Deno.test("createProgress() shows nothing without a terminal, and nothing for short tasks", () => {
  for (
    const [terminal, isJson] of [[memoryTerminal(), false], [memoryTerminal({ columns: 80 }), true]] as const
  ) {
    const clock = fixedClock(0);
    const progress = createProgress({ terminal, clock, isJson }, INPUT);
    clock.advance(5_000);
    progress.reach(7);
    progress.end();
    assert.equal(terminal.err, "");
  }
  const terminal = memoryTerminal({ columns: 80 });
  const quick = createProgress({ terminal, clock: fixedClock(0), isJson: false }, INPUT);
  quick.reach(200);
  quick.end();
  assert.equal(terminal.err, "");
});

Deno.test("createProgress() never draws past the width of a narrow terminal", () => {
  const terminal = memoryTerminal({ columns: 20 });
  const clock = fixedClock(0);
  const progress = createProgress({ terminal, clock, isJson: false }, INPUT);
  clock.advance(2_000);
  progress.reach(50);
  assert.equal(terminal.err.replace("\r\x1b[K", "").length, 19);
});
