import assert from "node:assert/strict";
import { parseSince } from "./parse_since.ts";

const NOW = Date.parse("2026-11-21T09:30:00Z");

Deno.test("parseSince() reads spans, dates and times as UTC", () => {
  const cases: [string, string | undefined][] = [
    ["30m", "2026-11-21T09:00:00.000Z"],
    ["24h", "2026-11-20T09:30:00.000Z"],
    ["7d", "2026-11-14T09:30:00.000Z"],
    ["2w", "2026-11-07T09:30:00.000Z"],
    ["999999w", "1970-01-01T00:00:00.000Z"],
    ["2026-11-01", "2026-11-01T00:00:00.000Z"],
    ["2026-11-01T10:00", "2026-11-01T10:00:00.000Z"],
    ["2026-11-01 10:00:30", "2026-11-01T10:00:30.000Z"],
    ["2026-11-01T10:00+02:00", "2026-11-01T08:00:00.000Z"],
    ["2026-11-01T10:00:00.5Z", "2026-11-01T10:00:00.500Z"],
    ["all", undefined],
  ];
  for (const [text, expected] of cases) assert.equal(parseSince(text, NOW), expected, text);
});

Deno.test("parseSince() refuses what is no time", () => {
  for (
    const text of [
      "",
      "yesterday",
      "7",
      "7y",
      "-3d",
      "1.5h",
      "2026-02-30",
      "2026-13-01",
      "2026-11-01T25:00",
      "0",
    ]
  ) {
    assert.throws(() => parseSince(text, NOW), /is no time; write 24h/, text);
  }
});
