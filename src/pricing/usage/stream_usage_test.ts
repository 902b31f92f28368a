import assert from "node:assert/strict";
import { trackStreamUsage } from "./usage_from_raw.ts";
import { usageOf } from "./usage.ts";

Deno.test("trackStreamUsage() lets Anthropic's last counts replace those of the start, and keeps the rest", () => {
  const stream = trackStreamUsage("anthropic.messages");
  const cache_creation = { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 20 };
  const start = { input_tokens: 5, cache_creation_input_tokens: 20, cache_creation, output_tokens: 1 };
  stream.take({ type: "message_start", message: { usage: { ...start, service_tier: "priority" } } });
  assert.equal(stream.isFinal(), false);
  assert.equal(stream.usage()?.outputTokens, 1);
  const delta = { input_tokens: null, cache_creation_input_tokens: null, output_tokens: 30 };
  stream.take({ type: "message_delta", delta: { stop_reason: "end_turn" }, usage: delta });
  assert.equal(stream.isFinal(), true);
  assert.equal(stream.serviceTier(), "priority");
  assert.deepEqual(
    stream.usage(),
    usageOf({ inputTokens: 25, outputTokens: 30, cacheWriteTokens: 20, cacheWrite1hTokens: 20 }),
  );
});

Deno.test("trackStreamUsage() takes the last of Gemini's counts, never their sum", () => {
  const stream = trackStreamUsage("google.generative-ai");
  stream.take({ candidates: [{}], usageMetadata: { promptTokenCount: 9, candidatesTokenCount: 1 } });
  assert.deepEqual(stream.usage(), usageOf({ inputTokens: 9, outputTokens: 1 }));
  assert.equal(stream.isFinal(), false);
  const usageMetadata = { promptTokenCount: 9, candidatesTokenCount: 4, serviceTier: "flex" };
  stream.take({ candidates: [{ finishReason: "STOP" }], usageMetadata });
  assert.deepEqual(stream.usage(), usageOf({ inputTokens: 9, outputTokens: 4 }));
  assert.equal(stream.isFinal(), true);
  assert.equal(stream.serviceTier(), "flex");
});

Deno.test("trackStreamUsage() reads the served tier of OpenAI's chat API, which the AI SDK drops", () => {
  const stream = trackStreamUsage("openai.chat");
  stream.take({ choices: [{ delta: { content: "Hi" } }], usage: null, service_tier: "flex" });
  assert.equal(stream.usage(), undefined);
  stream.take({ choices: [], usage: { prompt_tokens: 3, completion_tokens: 1 } });
  assert.deepEqual(stream.usage(), usageOf({ inputTokens: 3, outputTokens: 1 }));
  assert.equal(stream.isFinal(), true);
  assert.equal(stream.serviceTier(), "flex");
});

Deno.test("trackStreamUsage() reads the usage of an OpenAI response that failed", () => {
  const stream = trackStreamUsage("openai.responses");
  stream.take({ type: "response.created", response: { id: "r", usage: null, service_tier: "auto" } });
  assert.equal(stream.isFinal(), false);
  const usage = { input_tokens: 8, output_tokens: 2 };
  stream.take({ type: "response.failed", response: { usage, service_tier: "default" } });
  assert.deepEqual(stream.usage(), usageOf({ inputTokens: 8, outputTokens: 2 }));
  assert.equal(stream.serviceTier(), "default");
});

Deno.test("trackStreamUsage() follows a server that sends the usage so far with every chunk", () => {
  const stream = trackStreamUsage("local.chat");
  stream.take({ choices: [{ delta: {} }], usage: { prompt_tokens: 3, completion_tokens: 1 } });
  assert.equal(stream.isFinal(), false);
  stream.take({
    choices: [{ delta: {}, finish_reason: "stop" }],
    usage: { prompt_tokens: 3, completion_tokens: 2 },
  });
  assert.deepEqual(stream.usage(), usageOf({ inputTokens: 3, outputTokens: 2 }));
  assert.equal(stream.isFinal(), true);
});

Deno.test("trackStreamUsage() takes rubbish without harm", () => {
  const stream = trackStreamUsage("local.chat");
  for (const chunk of [undefined, null, 7, "x", [], {}, { choices: [null], usage: [] }, { response: {} }]) {
    stream.take(chunk);
  }
  assert.equal(stream.usage(), undefined);
  assert.equal(stream.isFinal(), false);
});

Deno.test("trackStreamUsage() does not take the counts beside an error for final", () => {
  const error = { code: 503, message: "Overloaded" };
  const compatible = trackStreamUsage("local.chat");
  compatible.take({ choices: [], error, usage: { prompt_tokens: 3, completion_tokens: 1 } });
  assert.deepEqual(compatible.usage(), usageOf({ inputTokens: 3, outputTokens: 1 }));
  assert.equal(compatible.isFinal(), false);
  const gemini = trackStreamUsage("google.generative-ai");
  gemini.take({ candidates: [{}], usageMetadata: { promptTokenCount: 9, candidatesTokenCount: 1 } });
  gemini.take({ error });
  assert.deepEqual(gemini.usage(), usageOf({ inputTokens: 9, outputTokens: 1 }));
  assert.equal(gemini.isFinal(), false);
});
