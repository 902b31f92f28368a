import assert from "node:assert/strict";
import fc from "#dev/fast_check.ts";
import { detectUnusual } from "./detect_unusual.ts";
import { LIMITS } from "./limits.ts";
import { describeUsual, limitOf } from "./usual.ts";

const CENT = 10_000_000n;

/** The verdict on a value beside hours with 100 calls each: a severity, or why there is none. */
function judge(value: bigint, hours: readonly bigint[], limits = LIMITS.costlyCall): string {
  const verdict = detectUnusual(value, describeUsual(hours, hours.length * 100), limits);
  return verdict.isFound ? verdict.severity : verdict.reason;
}

const steady = Array<bigint>(20).fill(2n * CENT);
const cases: { name: string; value: bigint; hours: bigint[]; verdict: string }[] = [
  {
    name: "below ten cents nothing is far above",
    value: 10n * CENT - 1n,
    hours: Array(20).fill(1n),
    verdict: "below_floor",
  },
  {
    name: "an agent without a past has nothing usual",
    value: 900n * CENT,
    hours: [],
    verdict: "few_samples",
  },
  { name: "seven hours are few", value: 900n * CENT, hours: steady.slice(0, 7), verdict: "few_samples" },
  { name: "a little less than ten times is usual", value: 20n * CENT - 1n, hours: steady, verdict: "usual" },
  { name: "ten times is found", value: 20n * CENT, hours: steady, verdict: "warning" },
  { name: "50 times is critical", value: 100n * CENT, hours: steady, verdict: "critical" },
  {
    name: "a model that was free is compared with the floor",
    value: 10n * CENT,
    hours: Array(8).fill(0n),
    verdict: "warning",
  },
  {
    name: "one wild hour doesn't move the measure",
    value: 20n * CENT,
    hours: [...steady, 10_000n * CENT],
    verdict: "warning",
  },
  {
    name: "what nearly every tenth hour is like is usual",
    value: 30n * CENT,
    hours: [...steady, 16n * CENT, 16n * CENT, 16n * CENT],
    verdict: "usual",
  },
  {
    name: "hours that differ much widen the measure",
    value: 40n * CENT,
    hours: Array.from({ length: 20 }, (_, hour) => BigInt(1 + hour % 7 * 2) * CENT),
    verdict: "usual",
  },
];

for (const { name, value, hours, verdict } of cases) {
  Deno.test(`detectUnusual(): ${name}`, () => assert.equal(judge(value, hours), verdict));
}

Deno.test("detectUnusual() needs enough calls as well", () => {
  const verdict = detectUnusual(900n * CENT, describeUsual(steady, 29), LIMITS.costlyCall);
  assert.deepEqual(verdict, { isFound: false, reason: "few_samples" });
});

Deno.test("detectUnusual() finds nothing in a steady stream, and nothing that its own past has in each tenth hour", () => {
  const amount = fc.bigInt({ min: 0n, max: 10n ** 13n });
  fc.assert(
    fc.property(amount, fc.nat({ max: 400 }), (value, hours) => {
      assert.notEqual(judge(value, Array(hours).fill(value)), "warning");
      assert.notEqual(judge(value, Array(hours).fill(value)), "critical");
    }),
    { examples: [[0n, 10], [LIMITS.costlyCall.floor, 10]] },
  );
  fc.assert(fc.property(fc.array(amount, { minLength: 1, maxLength: 60 }), (hours) => {
    const { peak } = describeUsual(hours, 1_000)!;
    assert.ok(!["warning", "critical"].includes(judge(peak, hours)) || peak === 0n);
  }));
});

Deno.test("limitOf() is at least each of its parts", () => {
  fc.assert(fc.property(fc.array(fc.bigInt({ min: 0n, max: 10n ** 13n }), { minLength: 1 }), (hours) => {
    const usual = describeUsual(hours, 1)!;
    const limit = limitOf(usual, LIMITS.fastCalls);
    assert.ok(limit >= LIMITS.fastCalls.floor && limit >= 5n * usual.median && limit >= 2n * usual.peak);
    assert.ok(limit >= usual.median + 10n * usual.deviation);
  }));
});
