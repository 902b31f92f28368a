import assert from "node:assert/strict";
import fc from "#dev/fast_check.ts";
import { anyRates, anyUsage } from "../pricing/_arbitraries.ts";
import { type Rates, type Usage, usageOf } from "../pricing/mod.ts";
import type { CostRow } from "../contract/costs.ts";
import { describeCaching, savingsOf } from "./caching.ts";

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

const RATES = {
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
  const caching = describeCaching(rows, "agent", (_, model) => model === "a" ? RATES : null);
  assert.deepEqual([caching.hit_rate, caching.saved_usd, caching.possible_usd], [0.125, 0.045, 0.045]);
  assert.deepEqual(caching.rows.map(({ agent_id, hit_rate }) => [agent_id, hit_rate]), [
    ["ann", 0.125],
    ["bob", null],
  ]);
  assert.match(caching.notes.at(-1)!, /without a known price/);
  const none = describeCaching([], "model", () => null);
  assert.deepEqual([none.saved_usd, none.rows, none.notes], [null, [], []]);
});
