import assert from "node:assert/strict";
import fc from "#dev/fast_check.ts";
import { bookLooseCalls, rollUp } from "../src/calls/mod.ts";
import { UTC, WEEK_DAYS } from "../src/contract/calendars/zones.ts";
import { reportDays } from "../src/contract/windows.ts";
import { listCosts } from "../src/ledger/mod.ts";
import { createBooking } from "./harness/booking.ts";
import { dialectKinds } from "./harness/databases.ts";
import { spend } from "./harness/budget_requests.ts";
import { makeKey, openHttpClient } from "./harness/http_client.ts";
import { modelCall } from "./harness/model_calls.ts";
import { openTestPurser } from "./harness/test_purser.ts";
import { cases } from "./harness/thorough.ts";

/** Costs by days, weeks and months of a time zone. */

const HOUR = 3_600_000;

/** Returns the first day of the day, week or month that has a time, by stepping back from day to day. */
function firstDay(
  span: "day" | "week" | "month",
  at: number,
  { timeZone, weekStart, monthStartDay } = UTC,
): string {
  const date = new Intl.DateTimeFormat("en-CA", { timeZone, dateStyle: "short" }).format(at);
  let day = Date.parse(`${date}T00:00:00Z`);
  const isFirst = () =>
    span === "day" ||
    (span === "week"
      ? (new Date(day).getUTCDay() + 6) % 7 === WEEK_DAYS.indexOf(weekStart)
      : new Date(day).getUTCDate() === monthStartDay);
  while (!isFirst()) day -= 24 * HOUR;
  return new Date(day).toISOString().slice(0, 10);
}

for (const { name, ignore, create } of dialectKinds()) {
  Deno.test({
    name: `the sums by day, week and month are those of the calls of a zone, over ${name}`,
    ignore,
    async fn() {
      await using database = await create();
      const store = await database.open();
      const ctx = await createBooking(store);
      const start = Date.parse("2026-09-20T00:00:00Z");
      // A prime number of minutes, so that the calls are at every time of the day.
      const calls = Array.from(
        { length: 400 },
        (_, index) => ({ at: start + index * 331 * 60_000, cost: index + 1 }),
      );
      const book = (some: typeof calls) =>
        bookLooseCalls(
          ctx,
          some.map(({ at, cost }) => modelCall({ callId: `call_${cost}`, at, costNanoUsd: BigInt(cost) })),
          {},
        );
      await book(calls.slice(0, 380));
      await rollUp(ctx);
      await book(calls.slice(380));
      const end = calls.at(-1)!.at;
      const zones = [...Intl.supportedValuesOf("timeZone")];
      const anyTime = fc.option(fc.integer({ min: start, max: end }), { nil: undefined });
      const report = fc.record({
        span: fc.constantFrom("day" as const, "week" as const, "month" as const),
        calendar: fc.record({
          timeZone: fc.constantFrom("UTC", "Asia/Kolkata", "Asia/Kathmandu", "America/New_York", ...zones),
          weekStart: fc.constantFrom(...WEEK_DAYS),
          monthStartDay: fc.integer({ min: 1, max: 28 }),
        }),
        times: fc.tuple(anyTime, anyTime).map(([a, b]) =>
          a !== undefined && b !== undefined && a > b ? { from: b, to: a } : { from: a, to: b }
        ),
      });
      await fc.assert(
        fc.asyncProperty(report, async ({ span, calendar, times: { from, to } }) => {
          const expected = new Map<string, number>();
          for (const { at, cost } of calls) {
            if (at < (from ?? 0) || at >= (to ?? Infinity)) continue;
            const day = firstDay(span, at, calendar);
            expected.set(day, (expected.get(day) ?? 0) + cost);
          }
          const rows = await listCosts(store, {
            ...(from !== undefined && { from }),
            ...(to !== undefined && { to }),
            ...{ groupBy: span, limit: 1_000, offset: 0 },
            days: reportDays(calendar, from ?? 0, to ?? end),
          });
          assert.deepEqual(
            rows.map((row) => [row[span], Math.round(row.cost_usd! * 1e9)]),
            [...expected].sort(([a], [b]) => a < b ? 1 : -1),
          );
        }),
        { numRuns: cases(25) },
      );
    },
  });
}

Deno.test("GET /costs takes a time zone, and has that of the server without one", async () => {
  await using purser = await openTestPurser({ config: { timeZone: "Asia/Kolkata" } });
  await spend(purser, 1, { at: "2026-10-31T18:29:00.000Z" });
  await spend(purser, 2, { at: "2026-10-31T18:30:00.000Z" });
  const by = async (query: string) =>
    (await purser.api("GET", `/costs?${query}`)).body.map((row: Record<string, unknown>) => [
      row.day ?? row.week ?? row.month,
      row.cost_usd,
    ]);
  assert.deepEqual(await by("group_by=day"), [["2026-11-01", 2], ["2026-10-31", 1]]);
  assert.deepEqual(await by("group_by=day&time_zone=UTC"), [["2026-10-31", 3]]);
  assert.deepEqual(await by("group_by=week&week_start=sunday"), [["2026-11-01", 2], ["2026-10-25", 1]]);
  assert.deepEqual(await by("group_by=month&month_start_day=15"), [["2026-10-15", 3]]);
  // A date is a midnight of the zone.
  const sum = async (query: string) => (await purser.api("GET", `/costs/total?${query}`)).body;
  assert.deepEqual((({ from, cost_usd }) => [from, cost_usd])(await sum("from=2026-11-01")), [
    "2026-10-31T18:30:00.000Z",
    2,
  ]);
  assert.equal((await sum("from=2026-11-01&time_zone=UTC")).cost_usd, 0);
  assert.equal((await sum("to=2026-11-01")).cost_usd, 1);
  assert.deepEqual(await by("group_by=day&from=2026-10-31&to=2026-11-01"), [["2026-10-31", 1]]);
  assert.deepEqual(await by("group_by=day&from=2026-10-31&to=2026-11-01&time_zone=UTC"), [["2026-10-31", 3]]);
  const { status, body } = await purser.api("GET", "/costs?group_by=day&time_zone=Asia/Kolkatta");
  assert.deepEqual([status, body.details.issues[0].path], [400, "time_zone"]);
  assert.match(body.detail, /did you mean Asia\/Kolkata\?/);
  assert.equal((await purser.api("GET", "/costs?month_start_day=29")).status, 400);
  const csv = await purser.fetch("GET", "/costs?group_by=month", { headers: { accept: "text/csv" } });
  assert.match(await csv.text(), /^month,/);
});

Deno.test("today, this month and the forecast are those of the server's calendar, which it tells", async () => {
  // It is half past eleven in the evening of the 20th in Honolulu.
  const calendar = { timeZone: "Pacific/Honolulu", weekStart: "sunday", monthStartDay: 20 } as const;
  await using purser = await openTestPurser({ config: calendar });
  purser.clock.advance(Date.parse("2026-11-21T09:30:00.000Z") - purser.clock.now());
  const key = await makeKey(purser, ["read"]);
  const client = openHttpClient(purser);
  const get = async (path: string) => (await client.send("GET", path, { key: key.key })).body;
  const days = [0, 1, 2, 3, 4].map((ago) => 20 - ago);
  // Each day's call is at 23:00 of Honolulu, which is 09:00 UTC of the next day.
  for (const day of days) {
    await spend(purser, day, { at: `2026-11-${day + 1}T09:00:00.000Z` });
  }
  const live = await get("/live?once=true");
  assert.deepEqual([live.time_zone, live.day, live.spend.cost_usd], ["Pacific/Honolulu", "2026-11-20", 20]);
  assert.equal((await get("/costs/summary")).today.cost_usd, 20);
  const { time_zone, today, month } = await get("/me");
  assert.deepEqual(
    [time_zone, today.from, month.from],
    ["Pacific/Honolulu", "2026-11-20T10:00:00.000Z", "2026-11-20T10:00:00.000Z"],
  );
  const forecast = await get("/costs/forecast");
  assert.deepEqual(
    [forecast.time_zone, forecast.month, forecast.from, forecast.to, forecast.cost_usd],
    ["Pacific/Honolulu", "2026-11", "2026-11-20T10:00:00.000Z", "2026-12-20T10:00:00.000Z", 20],
  );
  // The calls begin on the 16th of Honolulu: the 29 days that are left cost as the same weekday, or the median of the four.
  const costOf = (ahead: number) => ahead % 7 >= 3 && ahead % 7 <= 6 ? 13 + ahead % 7 : 17.5;
  const rest = Array.from({ length: 29 }, (_, index) => costOf(index + 1)).reduce((sum, cost) => sum + cost);
  assert.equal(forecast.weekday_forecast_usd, 20 + rest);
  const utc = await get("/costs/forecast?time_zone=UTC&month_start_day=1");
  assert.deepEqual([utc.from, utc.cost_usd], ["2026-11-01T00:00:00.000Z", 90]);
  const { time_zone: zone, week_start, month_start_day } = await get("/healthz");
  assert.deepEqual([zone, week_start, month_start_day], ["Pacific/Honolulu", "sunday", 20]);
  assert.equal((await purser.api("GET", "/costs/forecast?week_start=monday")).status, 400);
});
