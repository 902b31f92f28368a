import type { LanguageModelV4Usage } from "@ai-sdk/provider";
import assert from "node:assert/strict";
import { usageOf } from "./usage.ts";
import { usageFromAiSdk } from "./answer_usage.ts";

const unknown: LanguageModelV4Usage = {
  inputTokens: { total: undefined, noCache: undefined, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: undefined, text: undefined, reasoning: undefined },
};

const known: LanguageModelV4Usage = {
  inputTokens: { total: 100, noCache: 50, cacheRead: 30, cacheWrite: 20 },
  outputTokens: { total: 40, text: 30, reasoning: 10 },
};

Deno.test("usageFromAiSdk() takes the SDK's own form where there is no raw usage", () => {
  const usage = usageFromAiSdk("mock-provider", known);
  assert.deepEqual(
    usage,
    usageOf({
      inputTokens: 100,
      outputTokens: 40,
      cacheReadTokens: 30,
      cacheWriteTokens: 20,
      reasoningTokens: 10,
    }),
  );
});

Deno.test("usageFromAiSdk() takes the SDK's own form where it does not know the API", () => {
  const usage = usageFromAiSdk("amazon-bedrock", { ...known, raw: { inputTokens: 100, outputTokens: 40 } });
  assert.equal(usage?.inputTokens, 100);
});

Deno.test("usageFromAiSdk() takes two unknown totals for unknown, not for zero", () => {
  for (const provider of ["openai.chat", "anthropic.messages", "google.generative-ai", "local.chat", "x"]) {
    assert.equal(usageFromAiSdk(provider, unknown), undefined);
  }
});

Deno.test("usageFromAiSdk() sees through the zeros that the SDK makes of an empty usage", () => {
  const zeros = {
    inputTokens: { total: 0, noCache: 0, cacheRead: 0, cacheWrite: undefined },
    outputTokens: { total: 0, text: 0, reasoning: 0 },
    raw: {},
  };
  for (const provider of ["openai.chat", "google.generative-ai", "local.chat"]) {
    assert.equal(usageFromAiSdk(provider, zeros), undefined);
  }
});

Deno.test("usageFromAiSdk() gives none where the SDK's counts contradict each other", () => {
  const inputTokens = { ...known.inputTokens, total: 10 };
  assert.equal(usageFromAiSdk("mock", { ...known, inputTokens }), undefined);
});

Deno.test("usageFromAiSdk() keeps what Anthropic's last delta overwrites with null", () => {
  const usage = usageFromAiSdk("anthropic.messages", {
    inputTokens: { total: 125, noCache: 5, cacheRead: 100, cacheWrite: 20 },
    outputTokens: { total: 7, text: undefined, reasoning: undefined },
    raw: {
      input_tokens: null,
      cache_read_input_tokens: null,
      cache_creation_input_tokens: null,
      cache_creation: { ephemeral_5m_input_tokens: 5, ephemeral_1h_input_tokens: 15 },
      output_tokens: 7,
    },
  });
  assert.deepEqual(
    usage,
    usageOf({
      inputTokens: 125,
      outputTokens: 7,
      cacheReadTokens: 100,
      cacheWriteTokens: 20,
      cacheWrite1hTokens: 15,
    }),
  );
});

Deno.test("usageFromAiSdk() knows an API under another name by the shape of its usage", () => {
  const raws = [
    { prompt_tokens: 9, completion_tokens: 3, total_tokens: 12 },
    { promptTokenCount: 9, candidatesTokenCount: 3 },
    { input_tokens: 4, output_tokens: 3, cache_creation_input_tokens: 5, cache_read_input_tokens: 0 },
    { input_tokens: 9, output_tokens: 3, input_tokens_details: { cached_tokens: 0 } },
  ];
  for (const raw of raws) {
    const usage = usageFromAiSdk("my-gateway", { ...unknown, raw });
    assert.equal(usage?.inputTokens, 9);
    assert.equal(usage?.outputTokens, 3);
  }
});

Deno.test("usageFromAiSdk() takes Anthropic's breakdown of cache writes where the total is missing", () => {
  const usage = usageFromAiSdk("anthropic.messages", {
    inputTokens: { total: 5, noCache: 5, cacheRead: 0, cacheWrite: 0 },
    outputTokens: { total: 7, text: 7, reasoning: undefined },
    raw: {
      input_tokens: 5,
      output_tokens: 7,
      cache_creation: { ephemeral_5m_input_tokens: 1_000, ephemeral_1h_input_tokens: 2_000 },
    },
  });
  const counts = { inputTokens: 3_005, outputTokens: 7, cacheWriteTokens: 3_000, cacheWrite1hTokens: 2_000 };
  assert.deepEqual(usage, usageOf(counts));
});
