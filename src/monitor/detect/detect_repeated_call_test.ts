import assert from "node:assert/strict";
import fc from "#dev/fast_check.ts";
import { detectRepeatedCall, type SeenCalls } from "./detectors.ts";
import { KEPT } from "./limits.ts";
import { hashCall } from "../watch.ts";

/** Returns the result after each call: a severity, or the reason why there is none. */
function resultsOf(calls: readonly string[]): string[] {
  let seen: SeenCalls = [];
  return calls.map((call) => {
    const next = detectRepeatedCall(seen, call);
    seen = next.seen;
    return next.result.isAnomaly ? next.result.severity : next.result.reason;
  });
}

const sequences: { name: string; calls: string[]; last: string }[] = [
  { name: "a first call is new", calls: ["a"], last: "new" },
  { name: "four times the same are few", calls: [..."aaaa"], last: "few" },
  { name: "five times the same are found", calls: [..."aaaaa"], last: "warning" },
  { name: "25 times the same are critical", calls: Array(25).fill("a"), last: "critical" },
  { name: "24 times the same are not critical", calls: Array(24).fill("a"), last: "warning" },
  { name: "a loop over two calls is found", calls: [..."abababababa"], last: "warning" },
  { name: "a loop over four calls is found", calls: [..."abcd".repeat(5) + "a"], last: "warning" },
  { name: "a new call in between counts from the start", calls: [..."aaaabaaaa"], last: "few" },
  { name: "one that tests after each edit is not found", calls: [..."1t2t3t4t5t6t7t8t9t"], last: "few" },
];

for (const { name, calls, last } of sequences) {
  Deno.test(`detectRepeatedCall(): ${name}`, () => assert.equal(resultsOf(calls).at(-1), last));
}

Deno.test("detectRepeatedCall() finds nothing where every call is new", () => {
  fc.assert(fc.property(fc.uniqueArray(fc.string(), { maxLength: 100 }), (calls) => {
    assert.ok(resultsOf(calls).every((result) => result === "new"));
  }));
});

Deno.test("detectRepeatedCall() remembers a bounded number of calls, whatever comes", () => {
  fc.assert(fc.property(fc.array(fc.nat({ max: 60 }), { maxLength: 300 }), (calls) => {
    let seen: SeenCalls = [];
    for (const call of calls) ({ seen } = detectRepeatedCall(seen, String(call)));
    assert.ok(seen.length <= KEPT.callsPerRun);
    assert.equal(new Set(seen.map(([call]) => call)).size, seen.length);
  }));
});

Deno.test("hashCall() is the same for the same keys in another order, and for nothing else", () => {
  const hash = hashCall("search", { query: "tides", limit: 5 });
  assert.equal(hashCall("search", { limit: 5, query: "tides" }), hash);
  for (
    const [name, input] of [
      ["search", { query: "tides", limit: 6 }],
      ["searches", { query: "tides", limit: 5 }],
      ["search", '{"query":"tides","limit":5}'],
      ["search", undefined],
      ["search", "\ud800"],
    ] as const
  ) assert.notEqual(hashCall(name, input), hash);
});
