import assert from "node:assert/strict";
import fc from "#dev/fast_check.ts";
import { DAY_MS, HOUR_MS, MINUTE_MS } from "../../kernel/clock.ts";
import { calendarIn, calendarText, type Span, startOf, startsOf, windowOf } from "../windows.ts";
import { localTime, readTimeZone, startOfLocalDay, UTC, WEEK_DAYS } from "./zones.ts";
import { cases, isThorough } from "../../../tests/harness/thorough.ts";

const ZONES = [...Intl.supportedValuesOf("timeZone"), "UTC"];
const SPANS = ["day", "week", "month", "quarter"] as const satisfies Span[];
const time = (text: string) => Date.parse(`${text}Z`);
const iso = (at: number) => new Date(at).toISOString().slice(0, 16);
const in_ = (timeZone: string) => ({ ...UTC, timeZone });

/** Returns the times from one on, before another, at which a zone changes its clock. */
function changesOf(timeZone: string, from: number, to: number): number[] {
  const changes: number[] = [];
  const offset = (at: number) => localTime(timeZone, at) - at;
  for (let day = from; day < to; day += 7 * DAY_MS) {
    if (offset(day) === offset(day + 7 * DAY_MS)) continue;
    let [before, after] = [day, day + 7 * DAY_MS];
    while (after - before > 1) {
      const middle = Math.floor((before + after) / 2);
      if (offset(middle) === offset(day)) before = middle;
      else after = middle;
    }
    changes.push(after);
  }
  return changes;
}

const calendar = fc.record({
  timeZone: fc.constantFrom(...ZONES),
  weekStart: fc.constantFrom(...WEEK_DAYS),
  monthStartDay: fc.integer({ min: 1, max: 28 }),
});

Deno.test("in every zone of the runtime, each day at a change of the clock is one day, between those before and after it", () => {
  for (const timeZone of isThorough ? ZONES : ZONES.filter((_, index) => index % 5 === 0)) {
    for (const change of changesOf(timeZone, time("2026-01-01T00:00"), time("2027-06-01T00:00"))) {
      const first = startOf("day", change - 2 * DAY_MS, 0, in_(timeZone));
      const starts = startsOf(`${timeZone} day`, first, change + 2 * DAY_MS);
      for (const [index, start] of starts.slice(0, -1).entries()) {
        const next = starts[index + 1]!;
        const length = (next - start) / HOUR_MS;
        assert.ok(length >= 22 && length <= 26, `${timeZone}: ${iso(start)} has ${length} hours`);
        assert.equal(start % (15 * MINUTE_MS), 0, `${timeZone}: ${iso(start)}`);
        for (const at of [start, start + 1, change - 1, change, next - 1]) {
          if (at < start || at >= next) continue;
          assert.equal(startOf("day", at, 0, in_(timeZone)), start, `${timeZone}: ${iso(at)}`);
        }
        assert.equal(startOf("day", start, 1, in_(timeZone)), next);
      }
    }
  }
});

Deno.test("the windows of any calendar follow each other, and each time is in one of them", () => {
  const anyTime = fc.integer({ min: time("2015-01-01T00:00"), max: time("2036-01-01T00:00") });
  fc.assert(
    fc.property(anyTime, fc.constantFrom(...SPANS), calendar, (at, span, calendar) => {
      const start = startOf(span, at, 0, calendar);
      const next = startOf(span, at, 1, calendar);
      assert.ok(start <= at && at < next, `${iso(start)} ${iso(at)} ${iso(next)}`);
      assert.equal(startOf(span, start, 0, calendar), start);
      assert.equal(startOf(span, next - 1, 0, calendar), start);
      assert.equal(startOf(span, next, 0, calendar), next);
      const text = calendarText(span, calendar) ??
        `UTC ${span}${{ week: " monday", day: "" }[span as "day"] ?? " 1"}`;
      assert.deepEqual(startsOf(text, at, at), [start, next]);
      const local = new Date(localTime(calendar.timeZone, start));
      if (span === "week") assert.equal((local.getUTCDay() + 6) % 7, WEEK_DAYS.indexOf(calendar.weekStart));
      if (span === "month" || span === "quarter") assert.equal(local.getUTCDate(), calendar.monthStartDay);
    }),
    { numRuns: cases(700) },
  );
});

Deno.test("a text of a calendar has all on which its windows depend", () => {
  fc.assert(
    fc.property(calendar, fc.constantFrom(...SPANS, "30d" as const), (calendar, per) => {
      const text = calendarText(per, calendar);
      const at = time("2026-11-27T12:00");
      assert.deepEqual(windowOf(per, at, null, calendarIn(text)), windowOf(per, at, null, calendar));
      assert.equal(calendarText(per, calendarIn(text)), text);
    }),
  );
  assert.deepEqual([calendarText("day", UTC), calendarText("lifetime", in_("Europe/Berlin"))], [null, null]);
});

Deno.test("a day has 23 or 25 hours where the clock changes; a midnight that is skipped or comes twice is one start", () => {
  const days = (zone: string, from: string, to: string) =>
    startsOf(`${zone} day`, time(from), time(to) - 1).map(iso);
  const berlin = (text: string) =>
    startOf("day", time(text), 1, in_("Europe/Berlin")) - startOf("day", time(text), 0, in_("Europe/Berlin"));
  assert.deepEqual([berlin("2026-03-29T12:00"), berlin("2026-10-25T12:00")], [23 * HOUR_MS, 25 * HOUR_MS]);
  // In Cairo, midnight is skipped; in Havana, it comes twice.
  assert.deepEqual(days("Africa/Cairo", "2026-04-23T12:00", "2026-04-24T12:00"), [
    "2026-04-22T22:00",
    "2026-04-23T22:00",
    "2026-04-24T21:00",
  ]);
  assert.equal(iso(startOfLocalDay("America/Havana", time("2026-11-01T00:00"))), "2026-11-01T04:00");
  // Samoa had no 30 December 2011.
  assert.deepEqual(days("Pacific/Apia", "2011-12-30T00:00", "2011-12-31T09:00"), [
    "2011-12-29T10:00",
    "2011-12-30T10:00",
    "2011-12-31T10:00",
  ]);
  // Newfoundland set its clock back a minute after midnight: the hour that came twice is of the new day.
  assert.deepEqual(days("America/St_Johns", "2010-11-06T12:00", "2010-11-07T12:00"), [
    "2010-11-06T02:30",
    "2010-11-07T02:30",
    "2010-11-08T03:30",
  ]);
});

Deno.test("a zone is read without regard to case, and one that doesn't exist is refused with the nearest", () => {
  assert.deepEqual(["europe/berlin", "UTC", "gmt", "America/New_York"].map(readTimeZone), [
    "Europe/Berlin",
    "UTC",
    "UTC",
    "America/New_York",
  ]);
  assert.throws(
    () => readTimeZone("Europe/Berln"),
    /"Europe\/Berln" is not a time zone; did you mean Europe\/Berlin\?/,
  );
  assert.throws(() => readTimeZone("Berlin"), /did you mean Europe\/Berlin\?/);
  assert.throws(() => readTimeZone("+02:00"), /is not a time zone/);
  assert.throws(() => readTimeZone(""), /is not a time zone/);
  assert.throws(() => readTimeZone("Europe/Berlin day"), /is not a time zone/);
});
