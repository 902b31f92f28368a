import assert from "node:assert/strict";
import fc from "#dev/fast_check.ts";
import type { CostRow } from "../contract/costs.ts";
import { toUsd } from "../kernel/money.ts";
import { anyRates, anyUsage } from "../../tests/harness/price_arbitraries.ts";
import { type Rates, type Usage, usageOf } from "../pricing/mod.ts";
import { priceUsage } from "../pricing/price_usage.ts";
import { describeCaching, priceRows, savingsOf, whatIfNotes } from "./estimates.ts";

const rowOf = (usage: Usage, more: Partial<CostRow> = {}): CostRow => ({
  model_calls: 1,
  unpriced_calls: 0,
  partly_priced_calls: 0,
  estimated_calls: 0,
  lower_bound_calls: 0,
  input_tokens: usage.inputTokens,
  output_tokens: usage.outputTokens,
  cache_read_tokens: usage.cacheReadTokens,
  cache_write_tokens: usage.cacheWriteTokens,
  reasoning_tokens: usage.reasoningTokens,
  total_tokens: usage.inputTokens + usage.outputTokens,
  cost_usd: 1,
  ...more,
});

const RATES: Rates = {
  source: "test",
  tiers: [{
    aboveInputTokens: -1,
    input: 2n,
    output: 3n,
    reasoning: 5n,
    cacheRead: 2n,
    cacheWrite: 2n,
    cacheWrite1h: 2n,
    request: 7_000n,
  }],
};

Deno.test("priceRows() prices a row as the first tier prices the sum of its tokens", () => {
  fc.assert(fc.property(anyRates, anyUsage, ({ source, tiers }, usage) => {
    const rates = { source, tiers: tiers.slice(0, 1) };
    // Totals don't keep the lifetimes of cache writes.
    const { costNanoUsd } = priceUsage(rates, { ...usage, cacheWrite1hTokens: 0 });
    assert.equal(priceRows([rowOf(usage)], rates)[0]!.what_if_cost_usd, toUsd(costNanoUsd!));
  }));
});

Deno.test("priceRows() counts the fee of each request, and has no cost for output without a rate", () => {
  const usage = usageOf({ inputTokens: 500, outputTokens: 1 });
  const [tier] = RATES.tiers;
  assert.equal(priceRows([rowOf(usage, { model_calls: 3 })], RATES)[0]!.what_if_cost_usd, 22e-9);
  const embedding = { ...RATES, tiers: [{ ...tier!, output: null, reasoning: null }] };
  assert.equal(priceRows([rowOf(usage)], embedding)[0]!.what_if_cost_usd, null);
  assert.equal(priceRows([rowOf(usageOf({ inputTokens: 500 }))], embedding)[0]!.what_if_cost_usd, 8e-9);
});

Deno.test("whatIfNotes() says what applies: long contexts, caches, and calls without a price", () => {
  const [tier] = RATES.tiers;
  const plain = rowOf(usageOf({ inputTokens: 5 }));
  const always = whatIfNotes([plain], RATES);
  assert.equal(always.length, 3);
  const noted = (rows: CostRow[], rates: Rates) =>
    whatIfNotes(rows, rates).filter((note) => !always.includes(note));
  const cached = rowOf(usageOf({ inputTokens: 5, cacheReadTokens: 1, cacheWriteTokens: 1 }));
  assert.deepEqual(noted([plain, cached], RATES), [
    "The model has no lower rate for cache reads: they count as other input",
  ]);
  assert.deepEqual(noted([cached], { ...RATES, tiers: [{ ...tier!, cacheRead: 1n, cacheWrite1h: 4n }] }), [
    "All cache writes count as those of the shorter lifetime: totals don't keep them apart",
  ]);
  assert.deepEqual(noted([plain], { ...RATES, tiers: [tier!, { ...tier!, aboveInputTokens: 200_000 }] }), [
    "Rates for calls of more than 200000 input tokens are left out: totals don't keep the length of calls",
  ]);
  assert.equal(noted([rowOf(usageOf({}), { unpriced_calls: 1, partly_priced_calls: 1 })], RATES).length, 2);
});

const tokensOf = (usage: Usage) => ({
  input_tokens: usage.inputTokens,
  cache_read_tokens: usage.cacheReadTokens,
  cache_write_tokens: usage.cacheWriteTokens,
});

Deno.test("savingsOf() is the cost of all input at the plain rate without that of the parts, to a nano-USD", () => {
  fc.assert(fc.property(anyUsage, anyRates, (usage, rates) => {
    const { input, cacheRead, cacheWrite } = rates.tiers[0]!;
    const [reads, writes] = [BigInt(usage.cacheReadTokens), BigInt(usage.cacheWriteTokens)];
    const all = BigInt(usage.inputTokens);
    const rest = all - reads - writes;
    const { saved, possible } = savingsOf(tokensOf(usage), rates);
    const actual = rest * input + reads * cacheRead + writes * cacheWrite;
    const isNear = (nano: bigint, pico: bigint) => (nano * 1000n - pico) ** 2n <= 500n ** 2n;
    assert.ok(isNear(saved, all * input - actual));
    assert.ok(isNear(possible, rest * input - rest * cacheRead));
  }));
});

const CACHING_RATES = {
  source: "test",
  tiers: [{ input: 100_000n, cacheRead: 10_000n, cacheWrite: 125_000n }],
} as unknown as Rates;

Deno.test("describeCaching() groups rows, leaves unpriced models out of the amounts, and says so", () => {
  const row = (model: string, agent_id: string, inputTokens: number, cacheReadTokens: number) =>
    ({
      agent_id,
      provider: "p",
      model,
      ...tokensOf(usageOf({ inputTokens, cacheReadTokens, outputTokens: 0 })),
    }) as CostRow;
  const rows = [row("a", "ann", 1_000_000, 500_000), row("none", "ann", 3_000_000, 0), row("a", "bob", 0, 0)];
  const caching = describeCaching(rows, "agent", (_, model) => model === "a" ? CACHING_RATES : null);
  assert.deepEqual([caching.hit_rate, caching.saved_usd, caching.possible_usd], [0.125, 0.045, 0.045]);
  assert.deepEqual(caching.rows.map(({ agent_id, hit_rate }) => [agent_id, hit_rate]), [
    ["ann", 0.125],
    ["bob", null],
  ]);
  assert.match(caching.notes.at(-1)!, /without a known price/);
  const none = describeCaching([], "model", () => null);
  assert.deepEqual([none.saved_usd, none.rows, none.notes], [null, [], []]);
});
