import assert from "node:assert/strict";
import fc from "#dev/fast_check.ts";
import { computeStats } from "./baseline.ts";
import { detectOutlier, outlierLimit } from "./detectors.ts";
import { LIMITS } from "./limits.ts";

const CENT = 10_000_000n;

/** Returns the severity of a value against hours with 100 calls each, or the reason why it is no outlier. */
function judge(value: bigint, hours: readonly bigint[], limits = LIMITS.costlyCall): string {
  const result = detectOutlier(value, computeStats(hours, hours.length * 100), limits);
  return result.isAnomaly ? result.severity : result.reason;
}

const steady = Array<bigint>(20).fill(2n * CENT);
const cases: { name: string; value: bigint; hours: bigint[]; result: string }[] = [
  {
    name: "below ten cents nothing is far above",
    value: 10n * CENT - 1n,
    hours: Array(20).fill(1n),
    result: "below_floor",
  },
  {
    name: "an agent without a past has nothing usual",
    value: 900n * CENT,
    hours: [],
    result: "few_samples",
  },
  { name: "seven hours are few", value: 900n * CENT, hours: steady.slice(0, 7), result: "few_samples" },
  { name: "a little less than ten times is usual", value: 20n * CENT - 1n, hours: steady, result: "usual" },
  { name: "ten times is found", value: 20n * CENT, hours: steady, result: "warning" },
  { name: "50 times is critical", value: 100n * CENT, hours: steady, result: "critical" },
  {
    name: "a model that was free is compared with the floor",
    value: 10n * CENT,
    hours: Array(8).fill(0n),
    result: "warning",
  },
  {
    name: "one wild hour doesn't move the measure",
    value: 20n * CENT,
    hours: [...steady, 10_000n * CENT],
    result: "warning",
  },
  {
    name: "what nearly every tenth hour is like is usual",
    value: 30n * CENT,
    hours: [...steady, 16n * CENT, 16n * CENT, 16n * CENT],
    result: "usual",
  },
  {
    name: "hours that differ much widen the measure",
    value: 40n * CENT,
    hours: Array.from({ length: 20 }, (_, hour) => BigInt(1 + hour % 7 * 2) * CENT),
    result: "usual",
  },
];

for (const { name, value, hours, result } of cases) {
  Deno.test(`detectOutlier(): ${name}`, () => assert.equal(judge(value, hours), result));
}

Deno.test("detectOutlier() needs enough calls as well", () => {
  const result = detectOutlier(900n * CENT, computeStats(steady, 29), LIMITS.costlyCall);
  assert.deepEqual(result, { isAnomaly: false, reason: "few_samples" });
});

Deno.test("detectOutlier() finds nothing in a steady stream, and nothing that its own past has in each tenth hour", () => {
  const amount = fc.bigInt({ min: 0n, max: 10n ** 13n });
  fc.assert(
    fc.property(amount, fc.nat({ max: 400 }), (value, hours) => {
      assert.notEqual(judge(value, Array(hours).fill(value)), "warning");
      assert.notEqual(judge(value, Array(hours).fill(value)), "critical");
    }),
    { examples: [[0n, 10], [LIMITS.costlyCall.floor, 10]] },
  );
  fc.assert(fc.property(fc.array(amount, { minLength: 1, maxLength: 60 }), (hours) => {
    const { peak } = computeStats(hours, 1_000)!;
    assert.ok(!["warning", "critical"].includes(judge(peak, hours)) || peak === 0n);
  }));
});

Deno.test("outlierLimit() is at least each of its parts", () => {
  fc.assert(fc.property(fc.array(fc.bigInt({ min: 0n, max: 10n ** 13n }), { minLength: 1 }), (hours) => {
    const stats = computeStats(hours, 1)!;
    const limit = outlierLimit(stats, LIMITS.fastCalls);
    assert.ok(limit >= LIMITS.fastCalls.floor && limit >= 5n * stats.median && limit >= 2n * stats.peak);
    assert.ok(limit >= stats.median + 10n * stats.deviation);
  }));
});
