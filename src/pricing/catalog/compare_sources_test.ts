import assert from "node:assert/strict";
import { comparePrices } from "./compare_sources.ts";
import type { GenaiPrices, LitellmPrices, ModelPrices } from "./price_data.ts";

const AT = Date.parse("2026-11-20T12:00:00.000Z");

function compare(prices: ModelPrices["prices"], rates: Record<string, number>, provider = "openai") {
  const genai: GenaiPrices = {
    source: "genai-prices",
    date: "2026-11-10",
    providers: [{ id: provider, models: [{ id: "m", match: { equals: "m" }, prices }] }],
  };
  const entry = { litellm_provider: provider, ...rates };
  const litellm: LitellmPrices = {
    source: "litellm",
    date: "2026-11-12",
    models: { m: entry, other: entry },
  };
  return comparePrices(genai, litellm, AT);
}

Deno.test("comparePrices() reports a rate that differs by over 1%, of models that both sources know", () => {
  const rates = {
    input_cost_per_token: 1.02e-6,
    output_cost_per_token: 2e-6,
    cache_read_input_token_cost: 1e-7,
  };
  assert.deepEqual(compare({ input_mtok: 1, output_mtok: 2 }, rates), [
    { provider: "openai", model: "m", part: "input_mtok", genaiUsd: 1, litellmUsd: 1.02 },
  ]);
});

Deno.test("comparePrices() reports no rate within 1%", () => {
  assert.deepEqual(compare({ input_mtok: 1 }, { input_cost_per_token: 1.009e-6 }), []);
});

Deno.test("comparePrices() compares below every threshold", () => {
  const prices = { input_mtok: { base: 1, tiers: [{ start: 200_000, price: 2 }] } };
  assert.deepEqual(
    compare(prices, { input_cost_per_token: 1e-6, input_cost_per_token_above_200k_tokens: 3e-6 }),
    [],
  );
});

Deno.test("comparePrices() takes one of the prices of the day as the same", () => {
  const constraint = { type: "time_of_date", start_time: "01:00:00Z", end_time: "04:00:00Z" } as const;
  const prices = [{ prices: { input_mtok: 1 } }, { constraint, prices: { input_mtok: 2 } }];
  assert.deepEqual(compare(prices, { input_cost_per_token: 2e-6 }), []);
  assert.equal(compare(prices, { input_cost_per_token: 4e-6 }).length, 1);
});
