import assert from "node:assert/strict";
import fc from "#dev/fast_check.ts";
import { databaseKinds } from "../../tests/harness/databases.ts";
import { modelCall } from "../../tests/harness/model_calls.ts";
import { extrapolate, forecastByWeekday, forecastCosts } from "./forecast_costs.ts";
import { recordCalls } from "./mod.ts";

const time = (text: string) => Date.parse(`${text}Z`);

Deno.test("extrapolate() is exact to half a nano-USD, and never below what is spent", () => {
  const any = fc.tuple(fc.bigInt(0n, 10n ** 20n), fc.nat(1e9), fc.integer({ min: 1, max: 1e9 }), fc.nat(1e9));
  fc.assert(fc.property(any, ([spent, from, elapsed, left]) => {
    const whole = extrapolate(spent, { from, now: from + elapsed, to: from + elapsed + left });
    const error = whole * BigInt(elapsed) - spent * BigInt(elapsed + left);
    assert.ok(2n * (error < 0n ? -error : error) <= BigInt(elapsed));
    assert.ok(whole >= spent);
  }));
});

Deno.test("forecastCosts() takes the pace of the month, of a ledger that began later from its first day", async () => {
  await using database = await databaseKinds().find(({ name }) => name === "memory")!.create();
  const store = await database.open();
  const now = time("2026-02-15T00:00");
  const forecast = async (scope = {}, at = now) => {
    const { pace_from, cost_usd, forecast_usd } = await forecastCosts(store, scope, at);
    return [pace_from?.slice(0, 10), cost_usd, forecast_usd];
  };
  assert.deepEqual(await forecast(), [undefined, 0, null]);
  const book = (callId: string, at: string, costNanoUsd: bigint | null, agentId = "ann") =>
    store.write(recordCalls([modelCall({ callId, at: time(at), costNanoUsd, agentId })]));
  await book("a", "2026-02-08T13:00", 7_000_000_000n);
  assert.deepEqual(await forecast(), ["2026-02-08", 7, 21]);
  assert.deepEqual(await forecast({}, time("2026-02-08T23:59")), ["2026-02-08", 7, null]);
  await book("b", "2026-01-31T23:59:59.999", 1n);
  assert.deepEqual(await forecast(), ["2026-02-01", 7, 14]);
  assert.deepEqual(await forecast({}, time("2026-03-01T12:00")), ["2026-03-01", 0, null]);
  await book("c", "2026-02-14T00:00", null, "bob");
  assert.deepEqual(await forecast({ agentId: "bob" }), ["2026-02-14", null, null]);
  assert.deepEqual(await forecast({ agentId: "ann" }), ["2026-02-01", 7, 14]);
});

const usd = (amount: number) => BigInt(amount) * 1_000_000_000n;

Deno.test("forecastByWeekday() adds the median of the same weekdays for each remaining day, and today once", () => {
  // Today is the 15th at noon; the month ends in 14 days, of which each weekday comes twice.
  const month = { now: time("2026-02-15T12:00"), to: time("2026-03-01T00:00") };
  const before = Array.from({ length: 28 }, (_, index) => usd(index % 7 === 6 ? 9 : 1));
  assert.equal(
    forecastByWeekday(usd(20), { days: { before, today: usd(2) }, ...month }),
    usd(18 + 2 * 9 + 12),
  );
  assert.equal(forecastByWeekday(usd(30), { days: { before, today: usd(12) }, ...month }), usd(30 + 9 + 12));
  // Of three days known, other weekdays cost the median of all.
  assert.equal(
    forecastByWeekday(usd(6), { days: { before: [usd(1), usd(2), usd(3)], today: 0n }, ...month }),
    usd(6 + 2 * (1 + 2 + 3) + 8 * 2),
  );
});

Deno.test("forecastByWeekday() of equal days is their number times their cost, and never below what is spent", () => {
  const cost = fc.bigInt(0n, 10n ** 15n);
  const hour = fc.nat(23);
  fc.assert(fc.property(cost, fc.integer({ min: 1, max: 28 }), hour, (each, known, hours) => {
    const now = time("2026-11-10T00:00") + hours * 3_600_000;
    const to = time("2026-12-01T00:00");
    const before = Array.from({ length: known }, () => each);
    assert.equal(forecastByWeekday(9n * each, { days: { before, today: 0n }, now, to }), 30n * each);
  }));
  fc.assert(fc.property(fc.array(cost, { maxLength: 28 }), cost, cost, (before, today, earlier) => {
    const [now, to] = [time("2026-11-10T09:00"), time("2026-12-01T00:00")];
    const whole = forecastByWeekday(today + earlier, { days: { before, today }, now, to });
    assert.ok(whole >= today + earlier);
  }));
});

Deno.test("forecastCosts() has a range of both estimates, and none before three days of calls", async () => {
  await using database = await databaseKinds().find(({ name }) => name === "memory")!.create();
  const store = await database.open();
  const book = (callId: string, at: string, costNanoUsd: bigint) =>
    store.write(recordCalls([modelCall({ callId, at: time(at), costNanoUsd })]));
  const forecast = async (at: string) => {
    const { forecast_usd, weekday_forecast_usd, low_usd, high_usd } = await forecastCosts(
      store,
      {},
      time(at),
    );
    return [forecast_usd, weekday_forecast_usd, low_usd, high_usd];
  };
  await book("a", "2026-02-01T08:00", usd(1));
  await book("b", "2026-02-02T08:00", usd(1));
  await book("c", "2026-02-03T08:00", usd(4));
  assert.deepEqual(await forecast("2026-02-03T23:59"), [null, null, null, null]);
  // By pace 6 / 3 a day; by weekday 4 + 4 + 4 of three Sundays, Mondays and Tuesdays more, and 1 of the other days.
  assert.deepEqual(await forecast("2026-02-04T00:00"), [56, 6 + 3 * (1 + 1 + 4) + 16, 40, 56]);
  // On the first day of a month there is no pace yet.
  assert.deepEqual(await forecast("2026-03-01T01:00"), [null, 0, 0, 0]);
});
