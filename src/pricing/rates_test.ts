import assert from "node:assert/strict";
import fc from "#dev/fast_check.ts";
import { formatUsd, parseUsd } from "../kernel/money.ts";
import { anyDetailedUsage, anyRates, anyUsage } from "../../tests/harness/price_arbitraries.ts";
import { DEMO_RATES, type Rates, tierFor } from "./rates.ts";
import { priceUsage } from "./price_usage.ts";
import { createPriceBook } from "./prices.ts";
import { parsePriceRecord, priceRecordOf } from "./price_usage.ts";
import { type UsageDetail, usageOf } from "./usage/usage.ts";
import { cases } from "../../tests/harness/thorough.ts";

type Leaf = typeof anyDetailedUsage extends fc.Arbitrary<infer Value> ? Value : never;

/** The cost as an exact fraction of pico-USD, worked out per kind without any of the code under test. */
function exactPicoUsd(rates: Rates, { leaf, more, usage }: Leaf): { picoUsd: bigint; unpriced: string[] } {
  const tier = [...rates.tiers].reverse().find(({ aboveInputTokens }) =>
    usage.inputTokens > aboveInputTokens
  )!;
  let picoUsd = BigInt(leaf.input) * tier.input + BigInt(leaf.cache_read) * tier.cacheRead +
    BigInt(leaf.cache_write) * tier.cacheWrite + BigInt(leaf.cache_write_1h) * tier.cacheWrite1h +
    BigInt(leaf.output) * tier.output! + BigInt(leaf.reasoning) * tier.reasoning! + (tier.request ?? 0n);
  const unpriced: string[] = [];
  for (const [name, quantity] of Object.entries(more)) {
    const rate = tier.details?.[name as UsageDetail];
    if (rate === undefined && quantity > 0) unpriced.push(name);
    picoUsd += BigInt(quantity) * (rate ?? 0n);
  }
  return { picoUsd, unpriced };
}

Deno.test("a cost is the exact rational cost of all parts with a rate, rounded once, half to even", () => {
  fc.assert(
    fc.property(anyRates, anyDetailedUsage, (rates, detailed) => {
      const { picoUsd, unpriced } = exactPicoUsd(rates, detailed);
      const { costNanoUsd, unpricedParts = [] } = priceUsage(rates, detailed.usage);
      assert.deepEqual([...unpricedParts].sort(), unpriced.sort());
      if (costNanoUsd === null) return assert.equal(picoUsd, 0n);
      const errorPico = costNanoUsd * 1000n - picoUsd;
      assert.ok(errorPico >= -500n && errorPico <= 500n);
      if (errorPico === 500n || errorPico === -500n) assert.equal(costNanoUsd % 2n, 0n);
    }),
    { numRuns: cases(600) },
  );
});

Deno.test("a rate card is read back from its record, and has one id whatever process prices by it", () => {
  fc.assert(fc.property(anyRates, (rates) => {
    const { priceId, hash, text } = priceRecordOf(rates);
    assert.deepEqual(
      JSON.parse(JSON.stringify(parsePriceRecord(text), bigints)),
      JSON.parse(JSON.stringify(rates, bigints)),
    );
    assert.equal(priceRecordOf(parsePriceRecord(text)).hash, hash);
    assert.ok(Number.isSafeInteger(priceId) && priceId > 0);
  }));
});

const bigints = (_: string, value: unknown) => typeof value === "bigint" ? `${value}n` : value;

Deno.test("what was served without a known rate makes a call partly priced, at the standard rates", () => {
  const rates = { ...DEMO_RATES, unknown: ["service_tier"] };
  assert.deepEqual(priceUsage(rates, usageOf({ inputTokens: 1000, outputTokens: 10 })), {
    costNanoUsd: 1_040_000n,
    unpricedParts: ["service_tier"],
  });
});

Deno.test("a call of which no part has a price has none", () => {
  const usage = usageOf({ details: { web_searches: 3 } });
  assert.deepEqual(priceUsage(DEMO_RATES, usage), { costNanoUsd: null, unpricedParts: ["web_searches"] });
});

Deno.test("splitting a cache out of the input changes nothing where it costs the same", () => {
  fc.assert(fc.property(anyUsage, (usage) => {
    const flat = { ...DEMO_RATES.tiers[0]!, cacheRead: 7n, cacheWrite: 7n, cacheWrite1h: 7n, input: 7n };
    const rates = { source: "test", tiers: [flat] };
    const whole = usageOf({ inputTokens: usage.inputTokens, outputTokens: usage.outputTokens });
    assert.deepEqual(priceUsage(rates, usage), priceUsage(rates, whole));
  }));
});

Deno.test("a tier is a cliff", () => {
  const tier = DEMO_RATES.tiers[0]!;
  const rates = { source: "test", tiers: [tier, { ...tier, aboveInputTokens: 1000, input: 2_000_000n }] };
  assert.equal(priceUsage(rates, usageOf({ inputTokens: 1000 })).costNanoUsd, 1_000_000n);
  assert.equal(priceUsage(rates, usageOf({ inputTokens: 1001 })).costNanoUsd, 2_002_000n);
  assert.equal(tierFor(rates, 1001).input, 2_000_000n);
});

const CALLS = cases(1_000_000);

Deno.test(`${CALLS} random calls sum to exactly the same total in any order and grouping`, async () => {
  const book = await createPriceBook();
  const at = Date.parse("2026-11-01T12:00:00.000Z");
  const models = [["openai", "gpt-4o-mini"], ["anthropic", "claude-sonnet-4-5"], [
    "google",
    "gemini-flash-1.5-8b",
  ]];
  const rates = models.map(([provider, model]) => book.rates({ provider: provider!, model: model!, at })!);
  const random = xorshift(20261101);
  const calls = CALLS;
  const costs = new BigInt64Array(calls);
  const usage = usageOf({});
  for (let i = 0; i < calls; i++) {
    const bits = random();
    usage.inputTokens = bits & 0x3ffff;
    usage.cacheReadTokens = (bits >>> 2) & usage.inputTokens;
    usage.outputTokens = bits >>> 20;
    costs[i] = priceUsage(rates[bits % 3]!, usage).costNanoUsd!;
  }
  const forward = sumOf(costs, 0, calls, 1);
  assert.ok(forward > 0n);
  assert.equal(sumOf(costs, calls - 1, -1, -1), forward, "backward");

  let strided = 0n;
  for (let start = 0; start < 7; start++) strided += sumOf(costs, start, calls, 7);
  assert.equal(strided, forward, "seven interleaved sums");

  // A stride without a common factor visits every call once, in scattered order.
  let scattered = 0n;
  for (let i = 0, at = 0; i < calls; i++, at = (at + 6_700_417) % calls) scattered += costs[at]!;
  assert.equal(scattered, forward, "scattered");

  // As a ledger groups them: by run, then by agent, each read back from the text of the wire.
  let grouped = 0n;
  for (let start = 0; start < calls;) {
    const end = Math.min(calls, start + 1 + random() % 100_000);
    grouped += parseUsd(formatUsd(sumOf(costs, start, end, 1)));
    start = end;
  }
  assert.equal(grouped, forward, "groups of random sizes");
});

function sumOf(costs: BigInt64Array, start: number, end: number, step: number): bigint {
  let sum = 0n;
  for (let i = start; step > 0 ? i < end : i > end; i += step) sum += costs[i]!;
  return sum;
}

/** A seeded generator of 32-bit numbers (Marsaglia's xorshift32). */
function xorshift(seed: number): () => number {
  let state = seed;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return state >>> 0;
  };
}
