import assert from "node:assert/strict";
import { endOfBar, nameTime, spanOf, SPANS, startOfBar, timesOf } from "./span.ts";
import { type Calendar, UTC } from "../../../contract/calendars/zones.ts";
import { daysOf } from "./days.ts";

/** A Wednesday, half past twelve. */
const NOW = Date.parse("2026-11-25T12:30:00.000Z");

const of = (query: string, calendar = UTC) => spanOf(new URLSearchParams(query), NOW, calendar);

Deno.test("a span has its days, and is compared with the same length before it, up to the same hour if it has not ended", () => {
  const expected: Record<string, [from?: string, to?: string, compareFrom?: string, compareTo?: string]> = {
    "span=today": ["2026-11-25", undefined, "2026-11-24", "2026-11-24T12:00:00.000Z"],
    "span=yesterday": ["2026-11-24", "2026-11-25", "2026-11-23", "2026-11-24"],
    "span=week": ["2026-11-23", undefined, "2026-11-16", "2026-11-18T12:00:00.000Z"],
    "span=last-week": ["2026-11-16", "2026-11-23", "2026-11-09", "2026-11-16"],
    "span=7d": ["2026-11-19", undefined, "2026-11-12", "2026-11-18T12:00:00.000Z"],
    "span=month": ["2026-11-01", undefined, "2026-10-01", "2026-10-25T12:00:00.000Z"],
    "span=last-month": ["2026-10-01", "2026-11-01", "2026-09-01", "2026-10-01"],
    "span=30d": ["2026-10-27", undefined, "2026-09-27", "2026-10-26T12:00:00.000Z"],
    "span=all": [],
    "from=2026-11-24&to=2026-11-25": ["2026-11-24", "2026-11-25", "2026-11-23", "2026-11-24"],
    // Today by its dates: it has not ended.
    "from=2026-11-25&to=2026-11-26": ["2026-11-25", "2026-11-26", "2026-11-24", "2026-11-24T12:00:00.000Z"],
    "from=2026-11-20": ["2026-11-20", undefined, "2026-11-14", "2026-11-19T12:00:00.000Z"],
    "from=2026-11-24T09:00:00Z&to=2026-11-24T11:00:00Z": [
      "2026-11-24T09:00:00Z",
      "2026-11-24T11:00:00Z",
      "2026-11-24T07:00:00.000Z",
      "2026-11-24T09:00:00.000Z",
    ],
    "to=2026-11-20": [undefined, "2026-11-20"],
    "from=soon": ["soon"],
    "from=2026-11-20&to=2026-11-19": ["2026-11-20", "2026-11-19"],
  };
  for (const [query, [from, to, compare_from, compare_to]] of Object.entries(expected)) {
    const span = of(query);
    assert.deepEqual(
      [span.from, span.to, span.compare_from, span.compare_to],
      [from, to, compare_from, compare_to],
      query,
    );
  }
  assert.deepEqual(
    new Set(SPANS.map(({ value }) => value)),
    new Set(Object.keys(expected).flatMap((query) => new URLSearchParams(query).get("span") ?? [])),
  );
  assert.equal(of("").name, "7d");
  assert.equal(of("span=nonsense").name, "7d");
});

Deno.test("a month is compared with all of the month before once it is over, and with no more than that before", () => {
  const at = (time: string, query: string) => spanOf(new URLSearchParams(query), Date.parse(time), UTC);
  const march = at("2026-03-31T12:30:00Z", "span=month");
  assert.deepEqual([march.compare_from, march.compare_to], ["2026-02-01", "2026-03-01"]);
  const february = at("2026-03-31T12:30:00Z", "span=last-month");
  assert.deepEqual([february.compare_from, february.compare_to], ["2026-01-01", "2026-02-01"]);
  const early = at("2026-03-01T00:10:00Z", "span=today");
  assert.deepEqual([early.compare_from, early.compare_to], ["2026-02-28", "2026-02-28"]);
});

Deno.test("a span is named in words, as is the one before it, and has the fields of its first and last day", () => {
  const shown = [
    ["span=yesterday", "yesterday", "the day before", "2026-11-24", "2026-11-24"],
    ["span=last-month", "last month", "the month before", "2026-10-01", "2026-10-31"],
    ["from=2026-11-24&to=2026-11-25", "on 2026-11-24 (UTC)", "the day before", "2026-11-24", "2026-11-24"],
    [
      "from=2026-11-20&to=2026-11-25",
      "from 2026-11-20 to 2026-11-24",
      "the 5 days before",
      "2026-11-20",
      "2026-11-24",
    ],
    ["from=2026-11-20", "from 2026-11-20", "the 6 days before", "2026-11-20", "2026-11-25"],
    [
      "from=2026-11-24T09:00Z&to=2026-11-24T10:00Z",
      "on 2026-11-24 from 09:00 to 10:00 UTC",
      "the same time before",
      "2026-11-24",
      "2026-11-24",
    ],
    ["span=all", "in all time", "", "", ""],
  ];
  for (const [query, ...expected] of shown) {
    const span = of(query!);
    assert.deepEqual([span.title, span.before, ...daysOf(span, NOW)], expected, query);
  }
});

Deno.test("up to two days are drawn by hours, each of them, and longer spans by days", () => {
  const first = Date.parse("2026-11-24T10:20:00Z");
  const times = (query: string) => {
    const span = of(query);
    return [span.isHourly, timesOf(span, { first, end: NOW }).length];
  };
  assert.deepEqual(times("span=today"), [true, 13]);
  assert.deepEqual(times("span=yesterday"), [true, 24]);
  assert.deepEqual(times("from=2026-11-23&to=2026-11-25"), [true, 48]);
  assert.deepEqual(times("span=last-week"), [false, 7]);
  assert.deepEqual(times("span=all"), [false, 2]);
});

const BERLIN: Calendar = { timeZone: "Europe/Berlin", weekStart: "sunday", monthStartDay: 15 };

Deno.test("the spans of a zone are of its days, with its weeks and months, and a day of 25 hours is one", () => {
  const spans = (query: string, calendar: Calendar, at: string) => {
    const { from, to, compare_from, compare_to, before } = spanOf(
      new URLSearchParams(query),
      Date.parse(at),
      calendar,
    );
    return [from, to, compare_from, compare_to, before];
  };
  // It is the 26th in Berlin.
  const late = "2026-11-25T23:30:00Z";
  const shown = (query: string) => spans(query, BERLIN, late);
  assert.deepEqual(shown("span=today"), [
    ...["2026-11-26", undefined, "2026-11-25", "2026-11-25", "the day before"],
  ]);
  assert.deepEqual(shown("span=week").slice(0, 3), ["2026-11-22", undefined, "2026-11-15"]);
  assert.deepEqual(shown("span=month").slice(0, 3), ["2026-11-15", undefined, "2026-10-15"]);
  assert.deepEqual(shown("span=last-month").slice(0, 4), [
    ...["2026-10-15", "2026-11-15", "2026-09-15", "2026-10-15"],
  ]);
  // The clock is set back on October 25th.
  assert.deepEqual(shown("from=2026-10-25&to=2026-10-26"), [
    ...["2026-10-25", "2026-10-26", "2026-10-24", "2026-10-25", "the day before"],
  ]);
  assert.deepEqual(shown("from=2026-10-24&to=2026-10-26").at(-1), "the 2 days before");
});

Deno.test("bars are of the days and hours of a zone: 25 hours of one day, and half an hour where a day begins in one", () => {
  const bars = (query: string, timeZone: string) => {
    const span = of(query, { ...UTC, timeZone });
    const times = timesOf(span, { first: NOW, end: NOW });
    return { span, times, names: times.map((at) => nameTime(at, span)) };
  };
  const { times, names } = bars("from=2026-10-25&to=2026-10-26", "Europe/Berlin");
  assert.deepEqual([times.length, new Set(names.map(({ label }) => label)).size], [25, 25]);
  assert.deepEqual(names[0], { label: "Oct 25, 00:00+02:00 (Europe/Berlin)", short: "00:00" });
  const week = bars("from=2026-10-20&to=2026-10-30", "Europe/Berlin");
  assert.deepEqual(week.names.map(({ label }) => label.slice(8)).join(" "), "20 21 22 23 24 25 26 27 28 29");
  const india = bars("from=2026-11-24&to=2026-11-25", "Asia/Kolkata");
  assert.deepEqual([india.times.length, india.names[0]!.short, india.names[1]!.short], [
    25,
    "00:00",
    "00:30",
  ]);
  // The hour of UTC in which the day begins is its first bar, and the one in which it ends is cut.
  assert.equal(startOfBar(india.span, { hour: "2026-11-23T18:00:00.000Z" }), india.times[0]);
  assert.equal(endOfBar(india.span, india.times.at(-1)!), Date.parse("2026-11-24T18:30:00Z"));
});
