import assert from "node:assert/strict";
import { parseExpiry } from "./parse_expiry.ts";

const NOW = Date.parse("2026-11-21T09:30:00.000Z");

Deno.test("parseExpiry() reads spans from now, dates and times as times of the wire", () => {
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

Deno.test("parseExpiry() refuses what is no time to come, and says what may be written", () => {
  for (const text of ["0d", "2026-11-21", "2026-11-21T09:30Z", "2020-01-01"]) {
    assert.throws(() => parseExpiry(text, NOW), { message: `${text} is not in the future` });
  }
  for (const text of ["", "all", "never", "90", "-1d", "1y", "2027-02-30", "90 d"]) {
    assert.throws(
      () => parseExpiry(text, NOW),
      /is no time; write 90d, 12h, 4w, 2027-01-31 or 2027-01-31T09:30Z$/,
      text,
    );
  }
  assert.throws(() => parseExpiry("999999w", NOW), /is after the year 9999/);
});
