import assert from "node:assert/strict";
import fc from "#dev/fast_check.ts";
import { detectGrowingInput, type InputGrowth } from "./detectors.ts";

/** Returns the result after each call: a severity, or the reason why there is none. */
function resultsOf(
  calls: readonly (number | { inputTokens: number; cachedTokens?: number; step?: number })[],
): string[] {
  let lines: readonly InputGrowth[] = [];
  return calls.map((call) => {
    const next = detectGrowingInput(
      lines,
      { cachedTokens: 0, step: null, ...(typeof call === "number" ? { inputTokens: call } : call) },
    );
    lines = next.lines;
    return next.result.isAnomaly ? next.result.severity : next.result.reason;
  });
}

/** Inputs that grow by the same amount in each step. */
const line = (first: number, by: number, count: number) =>
  Array.from({ length: count }, (_, index) => first + by * index);

const sequences: { name: string; calls: Parameters<typeof resultsOf>[0]; last: string }[] = [
  { name: "a first call begins", calls: [10], last: "begins" },
  {
    name: "eight growths past 100,000 and eightfold are found",
    calls: line(4_000, 12_000, 9),
    last: "warning",
  },
  { name: "seven growths are few", calls: line(4_000, 14_000, 8), last: "few_steps" },
  { name: "a chat of 200 turns stays small", calls: line(500, 400, 200), last: "small" },
  {
    name: "growth from a large start to its double is small",
    calls: line(90_000, 10_000, 10),
    last: "small",
  },
  { name: "a break begins anew", calls: [...line(4_000, 12_000, 8), 2_000], last: "begins" },
  { name: "no growth begins anew", calls: [...line(4_000, 12_000, 8), 88_000], last: "begins" },
  { name: "a flood past 500,000 is critical", calls: line(20_000, 60_000, 9), last: "critical" },
  {
    name: "a retry of a step breaks nothing",
    calls: line(4_000, 12_000, 9).flatMap((
      inputTokens,
      step,
    ) => [{ inputTokens, step }, { inputTokens, step }])
      .slice(0, -1),
    last: "warning",
  },
];

for (const { name, calls, last } of sequences) {
  Deno.test(`detectGrowingInput(): ${name}`, () => assert.equal(resultsOf(calls).at(-1), last));
}

Deno.test("detectGrowingInput() finds nothing in a steady stream, nor below its floor", () => {
  const steady = fc.tuple(fc.nat({ max: 2_000_000 }), fc.integer({ min: 1, max: 100 }))
    .map(([tokens, count]) => Array<number>(count).fill(tokens));
  const small = fc.array(fc.nat({ max: 99_999 }), { maxLength: 100 });
  fc.assert(fc.property(fc.oneof(steady, small), (calls) => {
    assert.ok(!resultsOf(calls).some((result) => result === "warning" || result === "critical"));
  }));
});

Deno.test("detectGrowingInput() follows a conversation by its cache, past calls with an input of their own", () => {
  const conversation = line(5_000, 5_000, 72).map((inputTokens, i) => ({
    inputTokens,
    cachedTokens: i === 0 ? 0 : inputTokens - 5_000,
  }));
  // Two helpers, which repeat 3,000 cached tokens.
  const calls = conversation.flatMap((call, i) =>
    i % 2 === 0 ? [call] : [
      { inputTokens: 4_000 + i, cachedTokens: 3_000 },
      call,
      { inputTokens: 9_000 + i, cachedTokens: 3_000 },
    ]
  );
  assert.equal(resultsOf(calls).filter((result) => result === "warning").length, 72 - 19);
  // Without a cache, each of the helpers' calls interrupts it.
  const uncached = calls.map(({ inputTokens }) => inputTokens);
  assert.ok(!resultsOf(uncached).includes("warning"));
});

Deno.test("detectGrowingInput() finds nothing in requests of any size about one cached text", () => {
  const questions = fc.integer({ min: 1_000, max: 200_000 }).chain((text) =>
    fc.array(fc.nat({ max: text }), { maxLength: 300 }).map((own) =>
      own.map((tokens) => ({ inputTokens: text + tokens, cachedTokens: text }))
    )
  );
  fc.assert(fc.property(questions, (calls) => {
    assert.ok(!resultsOf(calls).some((result) => result === "warning" || result === "critical"));
  }));
});
