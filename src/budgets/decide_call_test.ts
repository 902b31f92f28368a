import assert from "node:assert/strict";
import fc from "#dev/fast_check.ts";
import { worstCaseCost } from "../pricing/mod.ts";
import { type CallBounds, type CallDecision, decideCall } from "./decide_call.ts";

/** One nano-USD for an input token, two for an output token. */
const RATES = { input: 1_000n, output: 2_000n };
const CALL: CallBounds = { inputTokens: { max: 10 }, outputTokens: 20, rates: RATES, estimateNanoUsd: 7n };
const WAIT: CallDecision = { go: false, wait: true };
const refuse = (reason: "spent" | "would_overshoot" | "unbounded" | "unpriced"): CallDecision => ({
  go: false,
  wait: false,
  reason,
});

const stop: [string, [limit: bigint, settled: bigint, reserved: bigint], CallDecision][] = [
  ["a fresh run", [100n, 0n, 0n], { go: true, reserveNanoUsd: 7n }],
  ["a run just under its limit", [100n, 99n, 0n], { go: true, reserveNanoUsd: 7n }],
  ["a run at its limit", [100n, 100n, 0n], refuse("spent")],
  ["a run over its limit", [100n, 250n, 0n], refuse("spent")],
  ["a run at its limit with calls in flight", [100n, 100n, 50n], refuse("spent")],
  ["a budget of nothing", [0n, 0n, 0n], refuse("spent")],
  ["calls in flight that may reach the limit", [100n, 60n, 40n], WAIT],
  ["calls in flight that stay just under it", [100n, 60n, 39n], { go: true, reserveNanoUsd: 7n }],
];
for (const [situation, [limitNanoUsd, settledNanoUsd, reservedNanoUsd], expected] of stop) {
  Deno.test(`decideCall() with "stop" and ${situation}: ${JSON.stringify(expected, asText)}`, () => {
    const budget = { limitNanoUsd, mode: "stop" as const };
    for (const call of [CALL, { ...CALL, inputTokens: { unboundedBecause: "a file" }, rates: null }]) {
      assert.deepEqual(decideCall({ budget, settledNanoUsd, reservedNanoUsd, call }), expected);
    }
  });
}

const strict: [
  string,
  [limit: bigint, settled: bigint, reserved: bigint],
  Partial<CallBounds>,
  CallDecision,
][] = [
  ["a call that fits", [100n, 0n, 0n], {}, { go: true, reserveNanoUsd: 50n, outputLimit: 20 }],
  ["a call that fits exactly", [50n, 0n, 0n], {}, { go: true, reserveNanoUsd: 50n, outputLimit: 20 }],
  ["a call that fits but for one", [49n, 0n, 0n], {}, { go: true, reserveNanoUsd: 48n, outputLimit: 19 }],
  ["room for one output token", [100n, 88n, 0n], {}, { go: true, reserveNanoUsd: 12n, outputLimit: 1 }],
  ["room for the input only", [100n, 89n, 0n], {}, refuse("would_overshoot")],
  ["no room for the input", [100n, 95n, 0n], {}, refuse("would_overshoot")],
  ["a call that fits beside those in flight", [100n, 0n, 50n], {}, {
    go: true,
    reserveNanoUsd: 50n,
    outputLimit: 20,
  }],
  ["a call that does not fit beside those in flight", [100n, 0n, 51n], {}, WAIT],
  ["a run at its limit", [100n, 100n, 0n], {}, refuse("spent")],
  ["a run at its limit with calls in flight", [100n, 100n, 10n], {}, refuse("spent")],
  ["a budget of nothing", [0n, 0n, 0n], {}, refuse("spent")],
  [
    "a budget of nothing and a free model",
    [0n, 0n, 0n],
    { rates: { input: 0n, output: 0n } },
    refuse("spent"),
  ],
  ["a free model", [1n, 0n, 0n], { rates: { input: 0n, output: 0n } }, {
    go: true,
    reserveNanoUsd: 0n,
    outputLimit: 20,
  }],
  ["an unpriced model", [100n, 0n, 0n], { rates: null }, refuse("unpriced")],
  [
    "a model without an output price",
    [100n, 0n, 0n],
    { rates: { input: 1n, output: null } },
    refuse("unpriced"),
  ],
  [
    "an input without a bound",
    [100n, 0n, 0n],
    { inputTokens: { unboundedBecause: "a file" } },
    refuse("unbounded"),
  ],
  ["an input without a bound, and so without a price", [100n, 0n, 0n], {
    inputTokens: { unboundedBecause: "a file" },
    rates: null,
  }, refuse("unbounded")],
  ["a price of less than a nano-USD", [1n, 0n, 0n], {
    rates: { input: 1n, output: 1n },
  }, { go: true, reserveNanoUsd: 1n, outputLimit: 20 }],
];
for (const [situation, [limitNanoUsd, settledNanoUsd, reservedNanoUsd], call, expected] of strict) {
  Deno.test(`decideCall() with "strict" and ${situation}: ${JSON.stringify(expected, asText)}`, () => {
    const budget = { limitNanoUsd, mode: "strict" as const };
    const state = { budget, settledNanoUsd, reservedNanoUsd, call: { ...CALL, ...call } };
    assert.deepEqual(decideCall(state), expected);
  });
}

function asText(_key: string, value: unknown): unknown {
  return typeof value === "bigint" ? Number(value) : value;
}

const amount = fc.oneof(fc.bigInt({ min: 0n, max: 200n }), fc.bigInt({ min: 0n, max: 2n ** 60n }));
const anyState = fc.record({
  budget: fc.record({ limitNanoUsd: amount, mode: fc.constantFrom("stop" as const, "strict" as const) }),
  settledNanoUsd: amount,
  reservedNanoUsd: amount,
  call: fc.record({
    inputTokens: fc.record({ max: fc.nat({ max: 100_000 }) }),
    outputTokens: fc.integer({ min: 1, max: 100_000 }),
    rates: fc.record({ input: amount, output: amount }),
    estimateNanoUsd: amount,
  }),
});

Deno.test("decideCall() refuses as spent exactly when what is settled has reached the limit", () => {
  fc.assert(fc.property(anyState, (state) => {
    const decision = decideCall(state);
    const isSpent = !decision.go && !decision.wait && decision.reason === "spent";
    assert.equal(isSpent, state.settledNanoUsd >= state.budget.limitNanoUsd);
  }));
});

Deno.test("decideCall() never waits where no other call is in flight", () => {
  fc.assert(fc.property(anyState, (state) => {
    const decision = decideCall({ ...state, reservedNanoUsd: 0n });
    assert.ok(decision.go || !decision.wait);
  }));
});

Deno.test('decideCall() with "strict" reserves a bound of the call that fits, and raises no output limit', () => {
  fc.assert(fc.property(anyState, (state) => {
    const { budget, settledNanoUsd, reservedNanoUsd, call } = state;
    const decision = decideCall({ ...state, budget: { ...budget, mode: "strict" } });
    if (!decision.go) return;
    assert.ok(settledNanoUsd + reservedNanoUsd + decision.reserveNanoUsd <= budget.limitNanoUsd);
    assert.ok(decision.outputLimit! >= 1 && decision.outputLimit! <= call.outputTokens);
    const worst = worstCaseCost(call.rates, {
      inputTokens: call.inputTokens.max,
      outputTokens: decision.outputLimit!,
    })!;
    assert.equal(decision.reserveNanoUsd, worst);
  }));
});

Deno.test("decideCall() lowers an output limit no further than it has to", () => {
  fc.assert(fc.property(anyState, (state) => {
    const { budget, settledNanoUsd, call } = state;
    const decision = decideCall({ ...state, budget: { ...budget, mode: "strict" }, reservedNanoUsd: 0n });
    if (!decision.go || decision.outputLimit === call.outputTokens) return;
    const oneMore = worstCaseCost(call.rates, {
      inputTokens: call.inputTokens.max,
      outputTokens: decision.outputLimit! + 1,
    })!;
    assert.ok(settledNanoUsd + oneMore > budget.limitNanoUsd);
  }));
});

Deno.test("decideCall() makes calls without any price if that is allowed, without a reservation, until the budget is spent", () => {
  const call: CallBounds = {
    inputTokens: { unboundedBecause: "it has a file" },
    outputTokens: 10,
    rates: null,
    estimateNanoUsd: 0n,
  };
  const budget = { limitNanoUsd: 100n, mode: "strict" as const, allowUnpriced: true };
  const state = { budget, settledNanoUsd: 99n, reservedNanoUsd: 1_000n, lostNanoUsd: 1_000n, call };
  assert.deepEqual(decideCall(state), { go: true, reserveNanoUsd: 0n, isUnreserved: true });
  assert.deepEqual(decideCall({ ...state, settledNanoUsd: 100n }), {
    go: false,
    wait: false,
    reason: "spent",
  });
  const priced = { ...call, rates: { input: 1n, output: 1n } };
  assert.deepEqual(decideCall({ ...state, call: priced }), { go: false, wait: false, reason: "unbounded" });
  const strict = { ...budget, allowUnpriced: false };
  const bounded = { ...call, inputTokens: { max: 1 } };
  assert.deepEqual(decideCall({ ...state, budget: strict, call: bounded }), {
    go: false,
    wait: false,
    reason: "unpriced",
  });
});
