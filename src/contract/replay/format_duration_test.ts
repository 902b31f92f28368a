import assert from "node:assert/strict";
import { formatDuration, formatGap, formatInstant } from "./format_duration.ts";

Deno.test("formatDuration() has two units at most, and never more than it was", () => {
  const cases: [number, string][] = [
    [0, "0 ms"],
    [0.9, "0 ms"],
    [999, "999 ms"],
    [1_000, "1.0 s"],
    [59_999, "59.9 s"],
    [60_000, "1 min 0 s"],
    [3_599_999, "59 min 59 s"],
    [11_040_000, "3 h 4 min"],
    [183_600_000, "2 d 3 h"],
    [-1_250, "-1.2 s"],
  ];
  for (const [ms, text] of cases) assert.equal(formatDuration(ms), text);
});

Deno.test("formatGap() has a sign, and is empty for an unknown time", () => {
  assert.deepEqual([0, 20, -20, null].map(formatGap), ["+0 ms", "+20 ms", "-20 ms", ""]);
});

Deno.test("formatInstant() is UTC to the millisecond", () => {
  assert.equal(formatInstant("2026-11-21T10:30:05.120+01:00"), "2026-11-21 09:30:05.120");
  assert.equal(formatInstant("\x1b[31m"), "-");
  assert.equal(formatInstant(null), "-");
});
