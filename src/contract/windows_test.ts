import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import fc from "#dev/fast_check.ts";
import { DAY_MS } from "../kernel/clock.ts";
import { NAMED_SPANS, type Span, startOf, startSql, windowOf, windowSql } from "./windows.ts";

const SPANS = ["minute", "hour", "day", "week", "month"] as const satisfies Span[];
const time = (text: string) => Date.parse(`${text}Z`);
/** The months after it are of a year that SQLite knows, too. */
const LAST = time("9999-09-30T23:59:59.999");

/** Times from 1970 on: any, and those around the borders of leap days, years, weeks and the 32-bit seconds. */
const borders = [
  "1970-01-01T00:00",
  "1970-01-05T00:00", // the first Monday
  "1972-02-29T00:00",
  "1999-12-31T00:00",
  "2000-02-29T00:00", // a leap day of a century
  "2024-02-29T00:00",
  "2024-03-01T00:00",
  "2026-11-01T00:00",
  "2026-11-23T00:00", // a Monday
  "2026-12-28T00:00", // the Monday of a week of two years
  "2027-01-01T00:00",
  "2038-01-19T03:14:08",
  "2100-02-28T00:00", // of no leap year
  "2100-03-01T00:00",
].map(time);
const nearBorder = fc.tuple(
  fc.constantFrom(...borders),
  fc.integer({ min: -1, max: 1 }),
  fc.constantFrom(1, 1_000, DAY_MS),
)
  .map(([border, sign, distance]) => Math.max(0, border + sign * distance));
const startOfMonth = fc.tuple(
  fc.integer({ min: 1970, max: 9998 }),
  fc.integer({ min: 0, max: 11 }),
  fc.integer({ min: -1, max: 1 }),
)
  .map(([year, month, ms]) => Math.max(0, Date.UTC(year, month) + ms));
const anyTime = fc.oneof(fc.integer({ min: 0, max: LAST }), nearBorder, startOfMonth);

/** Returns a function that computes SQL over columns of given values. */
function computeIn(database: DatabaseSync, expressions: readonly string[]) {
  const read = database.prepare(
    `SELECT json_array(${expressions.join(", ")}) AS results
    FROM (SELECT CAST(? AS INTEGER) AS at) v`,
  );
  return (at: number) => JSON.parse(String(read.get(at)!.results));
}

Deno.test("startOf() is what startSql() is in SQLite, for any span and time, and spans before and after it", () => {
  using database = new DatabaseSync(":memory:");
  const distances = SPANS.flatMap((span) => [-2, -1, 0, 1, 2].map((later) => ({ span, later })));
  const compute = computeIn(database, distances.map(({ span, later }) => startSql(span, "v.at", later)));
  fc.assert(
    fc.property(anyTime, (at) => {
      assert.deepEqual(compute(at), distances.map(({ span, later }) => startOf(span, at, later)));
    }),
    { numRuns: 3_000 },
  );
});

Deno.test("windowOf() is what windowSql() is in SQLite, for any period and time", () => {
  using database = new DatabaseSync(":memory:");
  const periods = ["hour", "day", "week", "month"] as const;
  const windows = periods.map((per) => windowSql(per, "v.at"));
  const compute = computeIn(database, windows.flatMap(({ from, to }) => [from, to]));
  fc.assert(
    fc.property(anyTime, (at) => {
      const expected = periods.map((per) => windowOf(per, at));
      assert.deepEqual(compute(at), expected.flatMap(({ from, to }) => [from, to]));
    }),
    { numRuns: 3_000 },
  );
});

Deno.test("the spans of a kind follow each other without a gap, and hold the times between their starts", () => {
  fc.assert(
    fc.property(anyTime, fc.constantFrom(...SPANS), (at, span) => {
      const [start, next] = [startOf(span, at), startOf(span, at, 1)];
      assert.ok(start <= at && at < next);
      assert.deepEqual([startOf(span, start), startOf(span, next - 1), startOf(span, next)], [
        start,
        start,
        next,
      ]);
      assert.equal(startOf(span, next, -1), start);
    }),
  );
});

Deno.test("a week begins on Monday, a month on its first day, and a leap day is a day of February", () => {
  const starts = (text: string) =>
    SPANS.map((span) => new Date(startOf(span, time(text))).toISOString().slice(0, 16));
  assert.deepEqual(starts("2024-02-29T23:59:59.999"), [
    "2024-02-29T23:59",
    "2024-02-29T23:00",
    "2024-02-29T00:00",
    "2024-02-26T00:00",
    "2024-02-01T00:00",
  ]);
  assert.equal(startOf("month", time("2024-02-29T12:00"), 1), time("2024-03-01T00:00"));
  assert.equal(startOf("day", time("2100-02-28T12:00"), 1), time("2100-03-01T00:00"));
  assert.equal(startOf("week", time("2027-01-01T00:00")), time("2026-12-28T00:00"));
  assert.equal(startOf("week", 0), time("1969-12-29T00:00"));
});

Deno.test("the window of an hour ends with its time, and is the only one that resets at none", () => {
  const at = time("2026-11-26T20:30");
  assert.deepEqual(windowOf("hour", at), { from: at - 3_600_000 + 1, to: at + 1, resetsAt: null });
  const midnight = time("2026-11-27T00:00");
  assert.deepEqual(windowOf("day", at), { from: midnight - DAY_MS, to: midnight, resetsAt: midnight });
  assert.deepEqual(windowOf("lifetime", at, 7), { from: 7, to: null, resetsAt: null });
  assert.deepEqual(windowOf("run", at), { from: 0, to: null, resetsAt: null });
});

Deno.test("a name of a span is a span and its distance from the present one", () => {
  const at = time("2026-11-26T20:30");
  assert.deepEqual(
    Object.entries(NAMED_SPANS).map(([name, [span, later]]) =>
      `${name} ${new Date(startOf(span, at, later)).toISOString().slice(0, 10)}`
    ),
    [
      "today 2026-11-26",
      "yesterday 2026-11-25",
      "week 2026-11-23",
      "last-week 2026-11-16",
      "month 2026-11-01",
      "last-month 2026-10-01",
      "quarter 2026-10-01",
      "last-quarter 2026-07-01",
    ],
  );
});

/** The ways to compute the beginning of a period. */
const BEGINNING =
  /start of (month|day|year)|Date\.UTC\(|% \$?\{?(DAY|HOUR|MINUTE)_MS|\/ \$?\{?(DAY|HOUR|MINUTE)_MS\}?\)? \* \$?\{?(DAY|HOUR|MINUTE)_MS/;

/** Files in which the rest of a day is a time of that day, at which a price changes; and migrations, which are frozen. */
const OTHERS = /\/pricing\/catalog\/(prices_at|deepseek_peak)\.ts$|\/store\/migrations\//;

Deno.test("no other file defines the beginning of a period", async () => {
  const src = new URL("..", import.meta.url);
  const faults: string[] = [];
  const visit = async (folder: URL): Promise<void> => {
    for await (const { name, isDirectory } of Deno.readDir(folder)) {
      const file = new URL(isDirectory ? `${name}/` : name, folder);
      if (isDirectory) await visit(file);
      else if (
        /\.tsx?$/.test(name) && !/_test\.tsx?$|^_|^(windows|zones)\.ts$/.test(name) &&
        !OTHERS.test(file.pathname)
      ) {
        if (BEGINNING.test(await Deno.readTextFile(file))) {
          faults.push(file.pathname.slice(src.pathname.length));
        }
      }
    }
  };
  await visit(src);
  assert.deepEqual(faults, [], "use startOf(), startSql() or windowOf() of contract/windows.ts");
});
