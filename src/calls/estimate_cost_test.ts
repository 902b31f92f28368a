import assert from "node:assert/strict";
import { createPriceBook } from "../pricing/prices.ts";
import { estimateCost } from "./estimate_cost.ts";

Deno.test("estimateCost() is that of the previous call, and never less than that of the request itself", async () => {
  const price = { provider: "local", model: "m", input_usd_per_million: 1, output_usd_per_million: 4 };
  const prices = await createPriceBook({ overrides: [price] });
  const estimate = (inputBytes: number, lastCostNanoUsd: bigint | null, maxOutputTokens?: number) =>
    estimateCost(prices, { provider: "local", model: "m", at: 0 }, {
      inputBytes,
      lastCostNanoUsd,
      maxOutputTokens,
    });
  // Four bytes a token of 1,000 nano-USD, and 256 tokens out of 4,000, or fewer where it asks for fewer.
  assert.equal(estimate(4_000, null), 1_000_000n + 1_024_000n);
  assert.equal(estimate(4_000, null, 10), 1_000_000n + 40_000n);
  assert.equal(estimate(4_000, 1n), 2_024_000n, "a cheap call before it");
  assert.equal(estimate(4_000, 5_000_000n), 5_000_000n, "a dear one");
});
