import assert from "node:assert/strict";
import type { CostRow, CostSums } from "../../../contract/costs.ts";
import { factorsOf } from "./factors.ts";

const sums = (model_calls: number, total_tokens: number, cost_usd: number | null) =>
  ({ model_calls, total_tokens, cost_usd }) as CostSums;

const row = (now: CostSums, previous: CostSums) => ({ ...now, previous }) as CostRow;

Deno.test("the factors of a change multiply to that of the cost, and each has its own cause", () => {
  // Twice the calls of three times the tokens, half of which moved from a model of $1 per token to one of $3.
  const factors = factorsOf(sums(4, 120, 240), sums(2, 20, 20), [
    row(sums(2, 60, 60), sums(2, 20, 20)),
    row(sums(2, 60, 180), sums(0, 0, 0)),
  ])!;
  assert.deepEqual(factors, { cost: 12, calls: 2, tokens: 3, mix: 2, price: 1 });
});

Deno.test("a dearer model is a price, not a mix", () => {
  const factors = factorsOf(sums(1, 10, 30), sums(1, 10, 10), [row(sums(1, 10, 30), sums(1, 10, 10))])!;
  assert.deepEqual(factors, { cost: 3, calls: 1, tokens: 1, mix: 1, price: 3 });
});

Deno.test("without a cost in both spans there are no factors", () => {
  assert.equal(factorsOf(sums(1, 10, null), sums(1, 10, 10), []), undefined);
  assert.equal(factorsOf(sums(1, 10, 10), sums(0, 0, 0), []), undefined);
  assert.equal(factorsOf(sums(1, 10, 10), undefined, []), undefined);
});
