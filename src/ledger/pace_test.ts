import assert from "node:assert/strict";
import fc from "#dev/fast_check.ts";
import { databaseKinds } from "../../tests/harness/databases.ts";
import { modelCall } from "../../tests/harness/model_calls.ts";
import { recordCalls } from "./mod.ts";
import { describePace, fasterOf, type Pace, readPaces, timeToLimit } from "./pace.ts";

const amount = fc.bigInt(1n, 10n ** 15n);
const span = fc.integer({ min: 1, max: 200_000_000 });
const NOW = Date.parse("2026-11-23T12:00:30.000Z");

Deno.test("timeToLimit() is the first millisecond at which a constant pace has used up what is left", () => {
  fc.assert(fc.property(amount, amount, span, (leftNanoUsd, spentNanoUsd, elapsedMs) => {
    const at = timeToLimit({ leftNanoUsd, endsAt: null }, { spentNanoUsd, elapsedMs }, NOW);
    if (at === null) {
      // Beyond the last time that a Date can hold.
      assert.ok(leftNanoUsd * BigInt(elapsedMs) / spentNanoUsd > 8_000_000_000_000_000n);
      return;
    }
    const spentIn = (ms: number) => spentNanoUsd * BigInt(ms);
    const left = leftNanoUsd * BigInt(elapsedMs);
    assert.ok(at > NOW && spentIn(at - NOW) >= left && spentIn(at - NOW - 1) < left);
  }));
});

Deno.test("timeToLimit() is null at or over the limit, without spending, and where the window ends first", () => {
  fc.assert(fc.property(amount, amount, span, fc.nat(10 ** 9), (left, spentNanoUsd, elapsedMs, windowMs) => {
    const pace = { spentNanoUsd, elapsedMs };
    const endsAt = NOW + windowMs;
    const inWindow = timeToLimit({ leftNanoUsd: left, endsAt }, pace, NOW);
    const forever = timeToLimit({ leftNanoUsd: left, endsAt: null }, pace, NOW);
    assert.equal(inWindow, forever !== null && forever < endsAt ? forever : null);
    assert.equal(timeToLimit({ leftNanoUsd: -left, endsAt: null }, pace, NOW), null);
    assert.equal(timeToLimit({ leftNanoUsd: 0n, endsAt: null }, pace, NOW), null);
    const none = { spentNanoUsd: 0n, elapsedMs };
    assert.equal(timeToLimit({ leftNanoUsd: left, endsAt: null }, none, NOW), null);
  }));
});

Deno.test("timeToLimit() of a rolling window is null at a pace that the whole window can't bring to its limit", () => {
  fc.assert(fc.property(amount, amount, span, span, (limitNanoUsd, spentNanoUsd, elapsedMs, lengthMs) => {
    const limit = { leftNanoUsd: limitNanoUsd, endsAt: null, rolling: { limitNanoUsd, lengthMs } };
    const isEnough = spentNanoUsd * BigInt(lengthMs) >= limitNanoUsd * BigInt(elapsedMs);
    assert.equal(timeToLimit(limit, { spentNanoUsd, elapsedMs }, NOW) !== null, isEnough);
  }));
});

Deno.test("fasterOf() is the pace that reaches a limit first, in either order", () => {
  const pace = fc.record({ spentNanoUsd: fc.bigInt(0n, 10n ** 15n), elapsedMs: span });
  fc.assert(fc.property(pace, pace, amount, (a, b, leftNanoUsd) => {
    const at = (pace: Pace) => timeToLimit({ leftNanoUsd, endsAt: null }, pace, NOW) ?? Infinity;
    for (const faster of [fasterOf(a, b), fasterOf(b, a)]) assert.ok(at(faster) === Math.min(at(a), at(b)));
  }));
});

Deno.test("the pace of a month is that of the last hour in a burst, and of yesterday and today after it", async () => {
  await using database = await databaseKinds().find(({ name }) => name === "memory")!.create();
  const store = await database.open();
  const paceAt = async (now: number) => {
    const [pace] = await readPaces(store, [{ scope: "", window: "longer" }], now);
    return describePace({ leftNanoUsd: 10n ** 12n, endsAt: null }, pace, now).usd_per_hour;
  };
  await store.write(
    recordCalls([modelCall({ callId: "burst", at: NOW - 60_000, costNanoUsd: 121n * 10n ** 9n })]),
  );
  assert.equal(await paceAt(NOW), 120, "of 60 minutes and a half");
  const hours = 38 + 1 / 120;
  assert.equal((await paceAt(NOW + 2 * 3_600_000))?.toFixed(6), (121 / hours).toFixed(6));
});

Deno.test("a pace is of ten minutes, an hour, or the faster one of an hour and since yesterday, of all agents, an agent or a key, rolled up or not", async () => {
  await using database = await databaseKinds().find(({ name }) => name === "memory")!.create();
  const store = await database.open();
  const { countWithoutRules, MOVE_COUNTERS } = await import("./mod.ts");
  const book = (callId: string, minutesAgo: number, more = {}) =>
    store.write(recordCalls([
      modelCall({
        callId,
        at: NOW - minutesAgo * 60_000,
        costNanoUsd: 1_000_000_000n,
        agentId: "ann",
        ...more,
      }),
    ]));
  await book("a", 1);
  await book("b", 9, { agentId: "bob", keyId: "key_1" });
  await book("c", 59);
  await book("d", 24 * 60, { costNanoUsd: 200_000_000_000n });
  const counters = ["", "ann", "bob", "key key_1"].flatMap((scope) =>
    (["hour", "day", "longer"] as const).map((window) => ({ scope, window }))
  );
  const expected = [2n, 3n, 203n, 1n, 2n, 202n, 1n, 1n, 1n, 1n, 1n, 1n].map((usd) => usd * 1_000_000_000n);
  const spent = async () => (await readPaces(store, counters, NOW)).map(({ spentNanoUsd }) => spentNanoUsd);
  assert.deepEqual(await spent(), expected);
  await store.write([countWithoutRules(NOW), MOVE_COUNTERS]);
  assert.deepEqual(await spent(), expected);
  const paces = await readPaces(store, counters.slice(0, 3), NOW);
  assert.deepEqual(paces.map(({ elapsedMs }) => elapsedMs), [630_000, 3_630_000, 129_630_000]);
});

Deno.test("describePace() has the rate of an hour, and null without a pace", () => {
  const limit = { leftNanoUsd: 5_000_000_000n, endsAt: null };
  assert.deepEqual(describePace(limit, { spentNanoUsd: 2_500_000_000n, elapsedMs: 3_600_000 }, NOW), {
    usd_per_hour: 2.5,
    reaches_at: "2026-11-23T14:00:30.000Z",
  });
  assert.deepEqual(describePace(limit, undefined, NOW), { usd_per_hour: null, reaches_at: null });
});
