import assert from "node:assert/strict";
import type { LanguageModelV4CallOptions } from "@ai-sdk/provider";
import type { PriceBook } from "../../pricing/mod.ts";
import { boundInput, callBounds } from "./call_bounds.ts";

const prompt: LanguageModelV4CallOptions["prompt"] = [{
  role: "user",
  content: [{ type: "text", text: "Hi" }],
}];

function bound(more: Partial<LanguageModelV4CallOptions>): number | string {
  const result = boundInput({ prompt, ...more });
  return "max" in result ? result.max : result.unboundedBecause;
}

Deno.test("boundInput() counts every byte of all that goes to the provider", () => {
  const text = "x".repeat(100_000);
  const plain = bound({}) as number;
  const fields: Partial<LanguageModelV4CallOptions>[] = [
    { responseFormat: { type: "json", schema: { description: text } } },
    { tools: [{ type: "function", name: "t", description: text, inputSchema: {} }] },
    { toolChoice: { type: "tool", toolName: text } },
    { stopSequences: [text] },
    { providerOptions: { openai: { metadata: { text } } } },
  ];
  for (const field of fields) {
    assert.ok(bound(field) as number >= plain + text.length, Object.keys(field).join());
  }
});

Deno.test("boundInput() refuses inputs whose tokens can't be bounded", () => {
  const all: LanguageModelV4CallOptions["providerOptions"][] = [
    { google: { cachedContent: "cachedContents/1" } },
    { openai: { previousResponseId: "resp_1" } },
    { anthropic: { mcpServers: [] } },
    { anthropic: { thinking: { type: "enabled", budgetTokens: 10_000 } } },
    { unknown: { anything: true } },
  ];
  for (const providerOptions of all) {
    assert.match(String(bound({ providerOptions })), /provider option \w+\.\w+ may add tokens/);
  }
  assert.match(String(bound({ reasoning: "high" })), /reasoning effort/);
  assert.equal(typeof bound({ reasoning: "none", providerOptions: { openai: { store: false } } }), "number");
});

Deno.test("callBounds() has no strict bound for a model that searches without a tool", () => {
  const prices = { worstCaseRates: () => ({ input: 1n, output: 1n }) } as unknown as PriceBook;
  const budget = { limitNanoUsd: 1_000_000n, mode: "strict" } as const;
  const isBounded = (provider: string, model: string) =>
    "max" in callBounds(prices, { provider, model, at: 0 }, budget, { prompt }, null).inputTokens;
  const searching = [
    ["perplexity", "sonar"],
    ["openrouter", "perplexity/sonar-pro"],
    ["openai", "gpt-4o-search-preview-2025-03-11"],
    ["openai", "gpt-5-search-api"],
    ["openai", "o3-deep-research"],
  ] as const;
  for (const [provider, model] of searching) assert.equal(isBounded(provider, model), false, model);
  const others = [["openai", "gpt-5-mini"], ["openrouter", "openai/gpt-5"], ["local", "research"]] as const;
  for (const [provider, model] of others) assert.equal(isBounded(provider, model), true, model);
});
