import assert from "node:assert/strict";
import { relative, span, utc, utcDay } from "./time.ts";

Deno.test("a span has its two largest units, and seconds stand alone", () => {
  const shown: [number, string][] = [
    [0, "0 s"],
    [999, "0 s"],
    [59_999, "59 s"],
    [60_000, "1 min"],
    [61_000, "1 min"],
    [11_520_000, "3 h 12 min"],
    [86_400_000, "1 d"],
    [100_000_000, "1 d 3 h"],
  ];
  for (const [milliseconds, text] of shown) assert.equal(span(milliseconds), text);
});

Deno.test("a time is relative to now, and exact in UTC", () => {
  const now = Date.parse("2026-11-23T16:40:00Z");
  assert.equal(relative(now - 180_000, now), "3 min ago");
  assert.equal(relative(now + 7_500_000, now), "in 2 h 5 min");
  assert.equal(relative(now - 4_999, now), "just now");
  assert.equal(utc(now), "2026-11-23 16:40 UTC");
  assert.equal(utcDay("2026-11-23"), "Nov 23");
});
