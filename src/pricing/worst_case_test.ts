import assert from "node:assert/strict";
import fc from "#dev/fast_check.ts";
import { tierFor } from "./rates.ts";
import { priceUsage } from "./price_usage.ts";
import { anyRates, anyUsage } from "../../tests/harness/price_arbitraries.ts";
import { outputTokensThatFit, unboundedModel, worstCaseCost, worstCaseRates } from "./worst_case.ts";

Deno.test("no usage within the bounds costs more than the worst case", () => {
  fc.assert(
    fc.property(
      anyRates,
      anyUsage,
      fc.nat(500_000),
      fc.nat(10_000),
      (rates, usage, moreInput, moreOutput) => {
        const bounds = {
          inputTokens: usage.inputTokens + moreInput,
          outputTokens: usage.outputTokens + moreOutput,
        };
        const worst = worstCaseCost(worstCaseRates([rates], bounds.inputTokens)!, bounds)!;
        assert.ok(priceUsage(rates, usage).costNanoUsd! <= worst);
      },
    ),
    { numRuns: 500 },
  );
});

Deno.test("the worst case leaves out the tiers that the input can't reach", () => {
  const tier = { input: 1n, output: 1n, reasoning: 1n, cacheRead: 1n, cacheWrite: 1n, cacheWrite1h: 1n };
  const rates = {
    source: "x",
    tiers: [{ ...tier, aboveInputTokens: -1 }, { ...tier, aboveInputTokens: 100, input: 9n, output: 9n }],
  };
  assert.deepEqual(worstCaseRates([rates], 100), { input: 1n, output: 1n });
  assert.deepEqual(worstCaseRates([rates], 101), { input: 9n, output: 9n });
  assert.equal(tierFor(rates, 101).input, 9n);
});

Deno.test("outputTokensThatFit() gives the most tokens whose worst case stays within the budget", () => {
  const anyRate = fc.bigInt(0n, 10n ** 8n);
  fc.assert(
    fc.property(
      anyRate,
      anyRate,
      fc.nat(1_000_000),
      fc.bigInt(0n, 10n ** 12n),
      (input, output, tokens, budget) => {
        const rates = { input, output };
        const fit = outputTokensThatFit(rates, { inputTokens: tokens, budgetNanoUsd: budget });
        const costOf = (outputTokens: number) => worstCaseCost(rates, { inputTokens: tokens, outputTokens })!;
        if (fit > 0) assert.ok(costOf(fit) <= budget);
        if (fit < Number.MAX_SAFE_INTEGER) assert.ok(costOf(fit + 1) > budget);
      },
    ),
  );
});

Deno.test("outputTokensThatFit() gives 0 where the input is too dear or the output has no price", () => {
  const room = { inputTokens: 10, budgetNanoUsd: 9n };
  assert.equal(outputTokensThatFit({ input: 1000n, output: 0n }, room), 0);
  assert.equal(outputTokensThatFit({ input: 0n, output: null }, room), 0);
  assert.equal(outputTokensThatFit({ input: 0n, output: 0n }, room), Number.MAX_SAFE_INTEGER);
});

Deno.test("unboundedModel() knows the models that search without a tool", () => {
  const searching = [
    ["perplexity", "sonar"],
    ["openrouter", "perplexity/sonar-pro"],
    ["openai", "gpt-4o-search-preview-2025-03-11"],
    ["openai", "gpt-5-search-api"],
    ["openai", "o3-deep-research"],
  ] as const;
  for (const [provider, model] of searching) assert.ok(unboundedModel({ provider, model }), model);
  const others = [["openai", "gpt-5-mini"], ["openrouter", "openai/gpt-5"], ["local", "research"]] as const;
  for (const [provider, model] of others) assert.equal(unboundedModel({ provider, model }), undefined, model);
});
