import assert from "node:assert/strict";
import fc from "#dev/fast_check.ts";
import type { Usage } from "./usage.ts";
import { usageOf } from "./usage.ts";
import { type UsageApi, usageFromRaw } from "./usage_from_raw.ts";

const APIS: UsageApi[] = ["openai-chat", "openai-responses", "anthropic", "google", "openai-compatible"];

for (const api of APIS) {
  Deno.test(`usageFromRaw() takes no ${api} usage for unknown, not for zero`, () => {
    for (const raw of [undefined, null, {}, [], "usage", 7, { prompt_tokens: "12" }, { total_tokens: 5 }]) {
      assert.equal(usageFromRaw(api, raw), undefined);
    }
  });

  Deno.test(`usageFromRaw() gives a usage that can be true or none, whatever an ${api} server says`, () => {
    const key = fc.constantFrom(
      ...[
        "prompt_tokens",
        "completion_tokens",
        "total_tokens",
        "input_tokens",
        "output_tokens",
        "cached_tokens",
      ],
      ...["promptTokenCount", "candidatesTokenCount", "thoughtsTokenCount", "cachedContentTokenCount"],
      ...["cache_creation_input_tokens", "cache_read_input_tokens", "iterations", "cache_creation"],
      ...["prompt_tokens_details", "output_tokens_details", "reasoning_tokens", "type"],
    );
    const value = fc.oneof(fc.integer(), fc.double(), fc.constant(null), fc.string());
    const fields = fc.dictionary(
      key,
      fc.oneof(value, fc.dictionary(key, value), fc.array(fc.dictionary(key, value))),
    );
    fc.assert(fc.property(fields, (raw) => {
      const usage = usageFromRaw(api, raw);
      if (usage === undefined) return;
      const leaves = [
        usage.inputTokens - usage.cacheReadTokens - usage.cacheWriteTokens,
        usage.cacheWriteTokens - usage.cacheWrite1hTokens,
        usage.outputTokens - usage.reasoningTokens,
        ...Object.values(usage),
      ];
      assert.ok(leaves.every((leaf) => Number.isSafeInteger(leaf) && leaf >= 0));
    }));
  });
}

const cases: [string, UsageApi, unknown, Partial<Usage> | undefined][] = [
  ["an OpenAI usage of one total", "openai-chat", { completion_tokens: 3 }, { outputTokens: 3 }],
  ["null details", "openai-chat", { prompt_tokens: 5, completion_tokens: 1, prompt_tokens_details: null }, {
    inputTokens: 5,
    outputTokens: 1,
  }],
  [
    "more cached than prompt tokens as a contradiction",
    "openai-chat",
    { prompt_tokens: 5, prompt_tokens_details: { cached_tokens: 6 } },
    undefined,
  ],
  ["an Anthropic usage without caches", "anthropic", { input_tokens: 5, output_tokens: 7 }, {
    inputTokens: 5,
    outputTokens: 7,
  }],
  [
    "Anthropic's writes without a breakdown as five-minute ones",
    "anthropic",
    { input_tokens: 5, output_tokens: 7, cache_creation_input_tokens: 100, cache_creation: null },
    { inputTokens: 105, outputTokens: 7, cacheWriteTokens: 100 },
  ],
  [
    "Anthropic's writes that are only in the breakdown",
    "anthropic",
    {
      input_tokens: 5,
      output_tokens: 7,
      cache_creation: { ephemeral_5m_input_tokens: 1, ephemeral_1h_input_tokens: 2 },
    },
    { inputTokens: 8, outputTokens: 7, cacheWriteTokens: 3, cacheWrite1hTokens: 2 },
  ],
  [
    "Anthropic's writes beyond a breakdown of one hour only as one-hour ones",
    "anthropic",
    {
      input_tokens: 5,
      output_tokens: 7,
      cache_creation_input_tokens: 300,
      cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 200 },
    },
    { inputTokens: 305, outputTokens: 7, cacheWriteTokens: 300, cacheWrite1hTokens: 300 },
  ],
  [
    "an advisor's iterations as another model's",
    "anthropic",
    {
      input_tokens: 5,
      output_tokens: 7,
      iterations: [
        { type: "message", input_tokens: 5, output_tokens: 7 },
        { type: "advisor_message", model: "claude-opus-5", input_tokens: 900, output_tokens: 90 },
      ],
    },
    {
      inputTokens: 5,
      outputTokens: 7,
      models: [{ model: "claude-opus-5", usage: usageOf({ inputTokens: 900, outputTokens: 90 }) }],
    },
  ],
  [
    "an advisor's iterations without a model as calls whose cost is not known",
    "anthropic",
    {
      input_tokens: 5,
      output_tokens: 7,
      iterations: [{ type: "advisor_message", input_tokens: 900, output_tokens: 90 }],
    },
    { inputTokens: 5, outputTokens: 7, details: { advisor_calls: 1 } },
  ],
  [
    "an answer of a fallback by its totals",
    "anthropic",
    {
      input_tokens: 50,
      output_tokens: 7,
      iterations: [
        { type: "message", input_tokens: 40, output_tokens: 0 },
        { type: "fallback_message", model: "claude-haiku-4-5", input_tokens: 50, output_tokens: 7 },
      ],
    },
    { inputTokens: 50, outputTokens: 7 },
  ],
  [
    "the caches of a compaction",
    "anthropic",
    {
      input_tokens: 5,
      output_tokens: 7,
      cache_read_input_tokens: 10,
      iterations: [
        { type: "compaction", input_tokens: 100, output_tokens: 20, cache_read_input_tokens: 1000 },
        { type: "message", input_tokens: 5, output_tokens: 7, cache_read_input_tokens: 10 },
      ],
    },
    { inputTokens: 1115, outputTokens: 27, cacheReadTokens: 1010 },
  ],
  ["a blocked Gemini prompt", "google", { promptTokenCount: 8, totalTokenCount: 8 }, { inputTokens: 8 }],
  [
    "Moonshot's cached tokens",
    "openai-compatible",
    { prompt_tokens: 20, completion_tokens: 2, total_tokens: 22, cached_tokens: 16 },
    { inputTokens: 20, outputTokens: 2, cacheReadTokens: 16 },
  ],
  [
    "thoughts that only the total of Gemini's compatible endpoint has",
    "openai-compatible",
    { prompt_tokens: 20, completion_tokens: 2, total_tokens: 72 },
    { inputTokens: 20, outputTokens: 52, reasoningTokens: 50 },
  ],
  [
    "more reasoning than completion without a total",
    "openai-compatible",
    { prompt_tokens: 20, completion_tokens: 2, completion_tokens_details: { reasoning_tokens: 30 } },
    { inputTokens: 20, outputTokens: 32, reasoningTokens: 30 },
  ],
];

for (const [name, api, raw, expected] of cases) {
  Deno.test(`usageFromRaw() reads ${name}`, () => {
    assert.deepEqual(usageFromRaw(api, raw), expected && usageOf(expected));
  });
}

Deno.test("usageFromRaw() takes a usage with a total that is no number for unknown, never for nothing", () => {
  const broken: [UsageApi, Record<string, unknown>][] = [
    ["openai-chat", { prompt_tokens: "10", completion_tokens: 2 }],
    ["openai-responses", { input_tokens: 10, output_tokens: "2" }],
    ["anthropic", { input_tokens: [10], output_tokens: 2 }],
    ["google", { promptTokenCount: { tokens: 10 }, candidatesTokenCount: 2 }],
    ["openai-compatible", { prompt_tokens: true, completion_tokens: 2 }],
  ];
  for (const [api, raw] of broken) assert.equal(usageFromRaw(api, raw), undefined, api);
});
