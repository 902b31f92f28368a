import assert from "node:assert/strict";
import fc from "#dev/fast_check.ts";
import { worstCaseCost } from "../pricing/mod.ts";
import type { BudgetMode, RefusalReason } from "../contract/values.ts";
import {
  type CallBounds,
  type CallDecision,
  decideCall,
  leftOf,
  type Refusal,
  type Standing,
  tightestFirst,
} from "./decide_call.ts";

/** One nano-USD for an input token, two for an output token. */
const RATES = { input: 1_000n, output: 2_000n };
const WORST = { inputTokens: { max: 10 }, outputTokens: 20, rates: RATES };
const CALL: CallBounds = { estimateNanoUsd: 7n, isUnpriced: false, worst: WORST };

type Amounts = [limit: bigint, settled: bigint, reserved: bigint];

/** The budget of a run, with calls in flight that have reserved as much as the budget counts. */
function standing(
  mode: BudgetMode,
  [limitNanoUsd, settledNanoUsd, reserved]: Amounts,
  more: Partial<Standing> = {},
): Standing {
  return {
    ...{
      budgetId: null,
      name: null,
      per: "run",
      scope: "run run_1",
      from: 0,
      resetsAt: null,
      calendar: null,
    },
    ...{ mode, action: "refuse", allowUnpriced: false, limitNanoUsd, extraNanoUsd: 0n, settledNanoUsd },
    estimatedNanoUsd: mode === "stop" ? reserved : 0n,
    worstNanoUsd: mode === "strict" ? reserved : 0n,
    lostNanoUsd: 0n,
    ...more,
  };
}

/** The outcome of a decision on one budget: the reserved amount that it counts, or the reason of its refusal. */
type Outcome = { reserve: bigint; outputLimit?: number } | "wait" | RefusalReason;

function outcomeOf(decision: CallDecision, mode: BudgetMode): Outcome {
  if (decision.go) {
    const { amounts: { estimateNanoUsd, worstNanoUsd }, outputLimit } = decision;
    const reserve = mode === "stop" ? estimateNanoUsd : worstNanoUsd!;
    return { reserve, ...(outputLimit !== undefined && { outputLimit }) };
  }
  if (!decision.wait) {
    assert.equal(decision.refusals.length, 1);
    return decision.refusals[0]!.reason;
  }
  assert.deepEqual(decision.held.map(({ reason }) => reason), ["held"]);
  return "wait";
}

const stop: [string, Amounts, Outcome][] = [
  ["a fresh run", [100n, 0n, 0n], { reserve: 7n }],
  ["a run just under its limit", [100n, 99n, 0n], { reserve: 7n }],
  ["a run at its limit", [100n, 100n, 0n], "spent"],
  ["a run over its limit", [100n, 250n, 0n], "spent"],
  ["a run at its limit with calls in flight", [100n, 100n, 50n], "spent"],
  ["a budget of nothing", [0n, 0n, 0n], "spent"],
  ["calls in flight that may reach the limit", [100n, 60n, 40n], "wait"],
  ["calls in flight that stay just under it", [100n, 60n, 39n], { reserve: 7n }],
];
for (const [situation, amounts, expected] of stop) {
  Deno.test(`decideCall() with "stop" and ${situation}: ${JSON.stringify(expected, asText)}`, () => {
    const unbounded = { ...WORST, inputTokens: { unboundedBecause: "a file" }, rates: null };
    for (const call of [CALL, { ...CALL, worst: unbounded }, { ...CALL, worst: undefined }]) {
      assert.deepEqual(
        outcomeOf(decideCall({ standings: [standing("stop", amounts)], call }), "stop"),
        expected,
      );
    }
  });
}

const strict: [string, Amounts, Partial<typeof WORST> | Record<string, unknown>, Outcome][] = [
  ["a call that fits", [100n, 0n, 0n], {}, { reserve: 50n, outputLimit: 20 }],
  ["a call that fits exactly", [50n, 0n, 0n], {}, { reserve: 50n, outputLimit: 20 }],
  ["a call that fits but for one", [49n, 0n, 0n], {}, { reserve: 48n, outputLimit: 19 }],
  ["room for one output token", [100n, 88n, 0n], {}, { reserve: 12n, outputLimit: 1 }],
  ["room for the input only", [100n, 89n, 0n], {}, "would_overshoot"],
  ["no room for the input", [100n, 95n, 0n], {}, "would_overshoot"],
  ["a call that fits beside those in flight", [100n, 0n, 50n], {}, {
    reserve: 50n,
    outputLimit: 20,
  }],
  ["a call that does not fit beside those in flight", [100n, 0n, 51n], {}, "wait"],
  ["a run at its limit", [100n, 100n, 0n], {}, "spent"],
  ["a run at its limit with calls in flight", [100n, 100n, 10n], {}, "spent"],
  ["a budget of nothing", [0n, 0n, 0n], {}, "spent"],
  [
    "a budget of nothing and a free model",
    [0n, 0n, 0n],
    { rates: { input: 0n, output: 0n } },
    "spent",
  ],
  ["a free model", [1n, 0n, 0n], { rates: { input: 0n, output: 0n } }, {
    reserve: 0n,
    outputLimit: 20,
  }],
  ["an unpriced model", [100n, 0n, 0n], { rates: null }, "unpriced"],
  [
    "a model without an output price",
    [100n, 0n, 0n],
    { rates: { input: 1n, output: null } },
    "unpriced",
  ],
  [
    "an input without a bound",
    [100n, 0n, 0n],
    { inputTokens: { unboundedBecause: "a file" } },
    "unbounded",
  ],
  ["an input without a bound, and so without a price", [100n, 0n, 0n], {
    inputTokens: { unboundedBecause: "a file" },
    rates: null,
  }, "unbounded"],
  ["a price of less than a nano-USD", [1n, 0n, 0n], {
    rates: { input: 1n, output: 1n },
  }, { reserve: 1n, outputLimit: 20 }],
];
for (const [situation, amounts, worst, expected] of strict) {
  Deno.test(`decideCall() with "strict" and ${situation}: ${JSON.stringify(expected, asText)}`, () => {
    const call = { ...CALL, worst: { ...WORST, ...worst } } as CallBounds;
    assert.deepEqual(
      outcomeOf(decideCall({ standings: [standing("strict", amounts)], call }), "strict"),
      expected,
    );
  });
}

function asText(_key: string, value: unknown): unknown {
  return typeof value === "bigint" ? Number(value) : value;
}

const amount = fc.oneof(fc.bigInt({ min: 0n, max: 200n }), fc.bigInt({ min: 0n, max: 2n ** 60n }));
const anyStanding = fc.record({
  budgetId: fc.constantFrom(null, "bud_1"),
  scope: fc.constantFrom("run run_1", "session s", "key k", "agent", ""),
  mode: fc.constantFrom("stop" as const, "strict" as const),
  limitNanoUsd: amount,
  extraNanoUsd: fc.oneof(fc.constant(0n), amount),
  settledNanoUsd: amount,
  estimatedNanoUsd: amount,
  worstNanoUsd: amount,
  lostNanoUsd: fc.oneof(fc.constant(0n), amount),
}).map((fields): Standing => ({ ...standing(fields.mode, [0n, 0n, 0n]), ...fields }));
const anyCall = fc.record({
  inputTokens: fc.record({ max: fc.nat({ max: 100_000 }) }),
  outputTokens: fc.integer({ min: 1, max: 100_000 }),
  rates: fc.record({ input: amount, output: amount }),
});
const anyState = fc.record({
  standings: fc.array(anyStanding, { minLength: 1, maxLength: 5 }),
  estimateNanoUsd: amount,
  worst: anyCall,
}).map(({ standings, worst, ...call }) => ({
  standings,
  worst,
  call: { ...call, isUnpriced: false, worst },
}));

const ceilingOf = ({ limitNanoUsd, extraNanoUsd }: Standing) => limitNanoUsd + extraNanoUsd;
const idle = (standings: Standing[]) =>
  standings.map((each) => ({ ...each, estimatedNanoUsd: 0n, worstNanoUsd: 0n }));

Deno.test("decideCall() refuses as spent exactly by the budgets whose settled cost has reached the limit", () => {
  fc.assert(fc.property(anyState, ({ standings, call }) => {
    const decision = decideCall({ standings, call });
    const spent = standings.filter((each) => each.settledNanoUsd >= ceilingOf(each));
    const refusals = !decision.go && !decision.wait ? decision.refusals : [];
    const named = refusals.filter(({ reason }) => reason === "spent").map(({ standing }) => standing);
    assert.deepEqual(new Set(named), new Set(spent));
  }));
});

Deno.test("decideCall() never waits where no other call is in flight", () => {
  fc.assert(fc.property(anyState, ({ standings, call }) => {
    const decision = decideCall({ standings: idle(standings), call });
    assert.ok(decision.go || !decision.wait);
  }));
});

Deno.test("decideCall() goes only where every budget allows it, whatever their order", () => {
  fc.assert(fc.property(anyState, ({ standings, call }) => {
    const all = decideCall({ standings, call });
    const reversed = decideCall({ standings: standings.toReversed(), call });
    assert.equal(all.go, reversed.go);
    if (!all.go) return;
    for (const each of standings) {
      assert.ok(each.settledNanoUsd < ceilingOf(each));
      if (each.mode === "stop") assert.ok(leftOf(each) > 0n);
    }
  }));
});

Deno.test("decideCall() has no say of budgets that only watch", () => {
  fc.assert(fc.property(anyState, ({ standings, call }) => {
    const watching = standings.map((each): Standing => ({ ...each, action: "watch" }));
    assert.ok(decideCall({ standings: watching, call }).go);
    assert.deepEqual(
      decideCall({ standings: [...standings, ...watching], call }),
      decideCall({ standings, call }),
    );
  }));
});

Deno.test('decideCall() with "strict" reserves a bound of the call that fits, and raises no output limit', () => {
  fc.assert(fc.property(anyState, ({ standings, call, worst }) => {
    const strict = standings.map((each): Standing => ({ ...each, mode: "strict" }));
    const decision = decideCall({ standings: strict, call });
    if (!decision.go) return;
    const { amounts: { worstNanoUsd }, outputLimit } = decision;
    for (const each of strict) assert.ok(worstNanoUsd! <= leftOf(each));
    assert.ok(outputLimit! >= 1 && outputLimit! <= worst.outputTokens);
    const tokens = { inputTokens: worst.inputTokens.max, outputTokens: outputLimit! };
    assert.equal(worstNanoUsd, worstCaseCost(worst.rates, tokens));
  }));
});

Deno.test("decideCall() lowers an output limit no further than it has to", () => {
  fc.assert(fc.property(anyState, ({ standings, call, worst }) => {
    const strict = idle(standings.map((each): Standing => ({ ...each, mode: "strict" })));
    const decision = decideCall({ standings: strict, call });
    if (!decision.go || decision.outputLimit === worst.outputTokens) return;
    const tokens = { inputTokens: worst.inputTokens.max, outputTokens: decision.outputLimit! + 1 };
    const oneMore = worstCaseCost(worst.rates, tokens)!;
    assert.ok(strict.some((each) => oneMore > leftOf(each)));
  }));
});

Deno.test("decideCall() makes calls without any price if that is allowed, without a reservation, until the budget is spent", () => {
  const unbounded = { inputTokens: { unboundedBecause: "it has a file" }, outputTokens: 10, rates: null };
  const call: CallBounds = { estimateNanoUsd: 0n, isUnpriced: true, worst: unbounded };
  const decide = (more: Partial<Standing>, other: CallBounds = call) => {
    const held = { worstNanoUsd: 0n, lostNanoUsd: 1_000n, allowUnpriced: true, ...more };
    return outcomeOf(
      decideCall({ standings: [standing("strict", [100n, 99n, 0n], held)], call: other }),
      "strict",
    );
  };
  assert.deepEqual(decide({}), { reserve: 0n });
  assert.equal(decide({ settledNanoUsd: 100n }), "spent");
  const rates = { input: 1n, output: 1n };
  assert.equal(decide({}, { ...call, isUnpriced: false, worst: { ...unbounded, rates } }), "unbounded");
  const bounded = { ...call, worst: { ...unbounded, inputTokens: { max: 1 } } };
  assert.equal(decide({ allowUnpriced: false }, bounded), "unpriced");
});

Deno.test("tightestFirst() names a run before its session, key and agent, and of equals the one with the least left", () => {
  const of = (scope: string, limit: bigint): Refusal => ({
    standing: standing("stop", [limit, 0n, 0n], { scope }),
    reason: "spent",
  });
  const sorted = [
    of("run r", 9n),
    of("session s", 8n),
    of("key k", 7n),
    of("a", 5n),
    of("a", 6n),
    of("", 1n),
  ];
  fc.assert(fc.property(fc.shuffledSubarray(sorted, { minLength: sorted.length }), (refusals) => {
    assert.deepEqual(tightestFirst(refusals), sorted);
  }));
});
