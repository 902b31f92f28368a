import assert from "node:assert/strict";
import { parseExpiry, parseSince } from "./parse_time.ts";

const NOW = Date.parse("2026-11-21T09:30:00Z");

Deno.test("parseSince() parses durations, dates and times as UTC", () => {
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
    // 2026-11-21 is a Saturday.
    ["today", "2026-11-21T00:00:00.000Z"],
    ["yesterday", "2026-11-20T00:00:00.000Z"],
    ["week", "2026-11-16T00:00:00.000Z"],
    ["last-week", "2026-11-09T00:00:00.000Z"],
    ["month", "2026-11-01T00:00:00.000Z"],
    ["last-month", "2026-10-01T00:00:00.000Z"],
  ];
  for (const [text, expected] of cases) assert.equal(parseSince(text, NOW), expected, text);
});

Deno.test("parseSince() starts weeks on Mondays and months on their first day, at the edges too", () => {
  const cases: [string, string, string][] = [
    ["2026-11-16T00:00:00Z", "week", "2026-11-16"],
    ["2026-11-15T23:59:59.999Z", "week", "2026-11-09"],
    ["2027-01-01T00:00:00Z", "month", "2027-01-01"],
    ["2027-01-01T00:00:00Z", "last-month", "2026-12-01"],
    ["2027-01-01T00:00:00Z", "yesterday", "2026-12-31"],
    ["2028-03-31T12:00:00Z", "last-month", "2028-02-01"],
  ];
  for (const [now, text, day] of cases) {
    assert.equal(parseSince(text, Date.parse(now)), `${day}T00:00:00.000Z`, `${text} at ${now}`);
  }
});

Deno.test("parseSince() refuses invalid times", () => {
  for (
    const text of [
      "",
      "tomorrow",
      "constructor",
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
    assert.throws(() => parseSince(text, NOW), /is not a time; write 24h/, text);
  }
});

Deno.test("parseExpiry() parses durations, dates and times to ISO times in UTC", () => {
  const cases: [string, string][] = [
    ["90d", "2027-02-19T09:30:00.000Z"],
    ["12h", "2026-11-21T21:30:00.000Z"],
    ["4w", "2026-12-19T09:30:00.000Z"],
    ["5m", "2026-11-21T09:35:00.000Z"],
    ["2027-01-31", "2027-01-31T00:00:00.000Z"],
    ["2027-01-31T10:00", "2027-01-31T10:00:00.000Z"],
    ["2027-01-31T10:00+02:00", "2027-01-31T08:00:00.000Z"],
  ];
  for (const [text, time] of cases) assert.equal(parseExpiry(text, NOW), time, text);
});

Deno.test("parseExpiry() refuses times that are not in the future, and lists the accepted forms", () => {
  for (const text of ["0d", "2026-11-21", "2026-11-21T09:30Z", "2020-01-01"]) {
    assert.throws(() => parseExpiry(text, NOW), { message: `${text} is not in the future` });
  }
  for (const text of ["", "all", "never", "90", "-1d", "1y", "2027-02-30", "90 d"]) {
    assert.throws(
      () => parseExpiry(text, NOW),
      /is not a time; write 90d, 12h, 4w, 2027-01-31 or 2027-01-31T09:30Z$/,
      text,
    );
  }
  assert.throws(() => parseExpiry("999999w", NOW), /is after the year 9999/);
});
