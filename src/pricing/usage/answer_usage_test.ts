import assert from "node:assert/strict";
import type { Statement } from "../stated/statement.ts";
import { trackAnswerUsage } from "./answer_usage.ts";
import { type UsageDetails, usageOf } from "./usage.ts";

Deno.test("trackAnswerUsage() lets Anthropic's last counts replace those of the start, and keeps the rest", () => {
  const stream = trackAnswerUsage("anthropic.messages");
  const cache_creation = { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 20 };
  const start = { input_tokens: 5, cache_creation_input_tokens: 20, cache_creation, output_tokens: 1 };
  stream.take({ type: "message_start", message: { usage: { ...start, service_tier: "priority" } } });
  assert.equal(stream.isFinal(), false);
  assert.equal(stream.usage()?.outputTokens, 1);
  const delta = { input_tokens: null, cache_creation_input_tokens: null, output_tokens: 30 };
  stream.take({ type: "message_delta", delta: { stop_reason: "end_turn" }, usage: delta });
  assert.equal(stream.isFinal(), true);
  assert.equal(stream.served().serviceTier, "priority");
  assert.deepEqual(
    stream.usage(),
    usageOf({ inputTokens: 25, outputTokens: 30, cacheWriteTokens: 20, cacheWrite1hTokens: 20 }),
  );
});

Deno.test("trackAnswerUsage() takes the last of Gemini's counts, never their sum", () => {
  const stream = trackAnswerUsage("google.generative-ai");
  stream.take({ candidates: [{}], usageMetadata: { promptTokenCount: 9, candidatesTokenCount: 1 } });
  assert.deepEqual(stream.usage(), usageOf({ inputTokens: 9, outputTokens: 1 }));
  assert.equal(stream.isFinal(), false);
  const usageMetadata = { promptTokenCount: 9, candidatesTokenCount: 4, serviceTier: "flex" };
  stream.take({ candidates: [{ finishReason: "STOP" }], usageMetadata });
  assert.deepEqual(stream.usage(), usageOf({ inputTokens: 9, outputTokens: 4 }));
  assert.equal(stream.isFinal(), true);
  assert.equal(stream.served().serviceTier, "flex");
});

Deno.test("trackAnswerUsage() reads the served tier of OpenAI's chat API, which the AI SDK drops", () => {
  const stream = trackAnswerUsage("openai.chat");
  stream.take({ choices: [{ delta: { content: "Hi" } }], usage: null, service_tier: "flex" });
  assert.equal(stream.usage(), undefined);
  stream.take({ choices: [], usage: { prompt_tokens: 3, completion_tokens: 1 } });
  assert.deepEqual(stream.usage(), usageOf({ inputTokens: 3, outputTokens: 1 }));
  assert.equal(stream.isFinal(), true);
  assert.equal(stream.served().serviceTier, "flex");
});

Deno.test("trackAnswerUsage() reads the usage of an OpenAI response that failed", () => {
  const stream = trackAnswerUsage("openai.responses");
  stream.take({ type: "response.created", response: { id: "r", usage: null, service_tier: "auto" } });
  assert.equal(stream.isFinal(), false);
  const usage = { input_tokens: 8, output_tokens: 2 };
  stream.take({ type: "response.failed", response: { usage, service_tier: "default" } });
  assert.deepEqual(stream.usage(), usageOf({ inputTokens: 8, outputTokens: 2 }));
  assert.equal(stream.served().serviceTier, "default");
});

Deno.test("trackAnswerUsage() takes the counts at the beginning of a response for none that are final", () => {
  const stream = trackAnswerUsage("local.responses");
  const usage = { input_tokens: 0, output_tokens: 0 };
  for (const type of ["created", "queued", "in_progress"]) {
    stream.take({ type: `response.${type}`, response: { id: "r", usage } });
    assert.equal(stream.isFinal(), false, type);
  }
  stream.take({ type: "response.completed", response: { usage } });
  assert.equal(stream.isFinal(), true);
});

Deno.test("trackAnswerUsage() follows a server that sends the usage so far with every chunk", () => {
  const stream = trackAnswerUsage("local.chat");
  stream.take({ choices: [{ delta: {} }], usage: { prompt_tokens: 3, completion_tokens: 1 } });
  assert.equal(stream.isFinal(), false);
  stream.take({
    choices: [{ delta: {}, finish_reason: "stop" }],
    usage: { prompt_tokens: 3, completion_tokens: 2 },
  });
  assert.deepEqual(stream.usage(), usageOf({ inputTokens: 3, outputTokens: 2 }));
  assert.equal(stream.isFinal(), true);
});

Deno.test("trackAnswerUsage() takes rubbish without harm", () => {
  const stream = trackAnswerUsage("local.chat");
  for (const chunk of [undefined, null, 7, "x", [], {}, { choices: [null], usage: [] }, { response: {} }]) {
    stream.take(chunk);
  }
  assert.equal(stream.usage(), undefined);
  assert.equal(stream.isFinal(), false);
});

const counts = { input_tokens: 5, output_tokens: 7 };
const usage = { prompt_tokens: 10, completion_tokens: 2 };
const gateway = { cost: "0.000056", marketCost: "0.000056" };
const statements: [name: string, chunks: unknown[], statement: Statement][] = [
  [
    "a whole answer",
    [{ choices: [{ finish_reason: "stop", message: {} }], usage: { ...usage, cost: "0.5" } }],
    { usage: { ...usage, cost: "0.5" }, gateway: undefined },
  ],
  [
    "the last chunk of a chat",
    [{ choices: [{ delta: { content: "Hi" } }] }, { choices: [], usage: { ...usage, cost: 0.00095 } }],
    { usage: { ...usage, cost: 0.00095 }, gateway: undefined },
  ],
  [
    "a message of Vercel's gateway",
    [{ type: "message", usage: { input_tokens: 1, output_tokens: 2 }, provider_metadata: { gateway } }],
    { usage: { input_tokens: 1, output_tokens: 2 }, gateway },
  ],
  [
    "a chat of Vercel's gateway, whole",
    [{ choices: [{ finish_reason: "stop", message: { provider_metadata: { gateway } } }], usage }],
    { usage, gateway },
  ],
  [
    "a chat of Vercel's gateway, streamed",
    [{ choices: [{ delta: { provider_metadata: { gateway } }, finish_reason: "stop" }], usage }],
    { usage, gateway },
  ],
  [
    "a response of Vercel's gateway",
    [{ type: "response.completed", response: { usage: counts, providerMetadata: { gateway } } }],
    { usage: counts, gateway },
  ],
];

for (const [name, chunks, statement] of statements) {
  Deno.test(`trackAnswerUsage() keeps what ${name} may state about its cost`, () => {
    const answer = trackAnswerUsage("local.chat");
    for (const chunk of chunks) answer.take(chunk);
    assert.equal(answer.isFinal(), true);
    assert.deepEqual(answer.statement(), statement);
  });
}

const details: [name: string, provider: string, bodies: unknown[], details: UsageDetails | undefined][] = [
  [
    "Anthropic's searches",
    "anthropic.messages",
    [{
      type: "message",
      usage: { ...counts, server_tool_use: { web_search_requests: 2, web_fetch_requests: 9 } },
    }],
    { web_searches: 2 },
  ],
  [
    "the searches that the end of an Anthropic stream reports",
    "anthropic.messages",
    [
      { type: "message_start", message: { usage: counts } },
      { type: "message_delta", usage: { output_tokens: 7, server_tool_use: { web_search_requests: 1 } } },
    ],
    { web_searches: 1 },
  ],
  [
    "the tools of an OpenAI response",
    "openai.responses",
    [{
      type: "response.completed",
      response: {
        usage: counts,
        output: [
          { type: "web_search_call", action: { type: "search" } },
          { type: "web_search_call", action: { type: "open_page" } },
          { type: "file_search_call" },
          { type: "code_interpreter_call", container_id: "one" },
          { type: "code_interpreter_call", container_id: "one" },
        ],
      },
    }],
    { web_searches: 1, file_searches: 1, code_executions: 1 },
  ],
  [
    "the billable searches of an OpenAI response before its items",
    "openai.responses",
    [{
      object: "response",
      usage: counts,
      tool_usage: { web_search: { num_requests: 4 } },
      output: [{ type: "web_search_call" }],
    }],
    { web_searches: 4 },
  ],
  [
    "audio and images of OpenAI's chat API, and what of them was cached",
    "openai.chat",
    [{
      choices: [],
      usage: {
        prompt_tokens: 100,
        completion_tokens: 30,
        prompt_tokens_details: { cached_tokens: 50, audio_tokens: 60, image_tokens: 5 },
        completion_tokens_details: { audio_tokens: 20 },
      },
    }],
    {
      input_audio_tokens: 60,
      cache_read_audio_tokens: 10,
      input_image_tokens: 5,
      cache_read_image_tokens: 5,
      output_audio_tokens: 20,
    },
  ],
  [
    "OpenAI's cache writes of twelve hours",
    "openai.responses",
    [{
      object: "response",
      usage: {
        input_tokens: 100,
        output_tokens: 1,
        input_tokens_details: {
          cache_write_tokens: 90,
          cache_write_tokens_details: { ttl_30m_tokens: 50, ttl_12h_tokens: 40 },
        },
      },
    }],
    { cache_write_12h_tokens: 40 },
  ],
  [
    "Gemini's modalities",
    "google.generative-ai",
    [{
      candidates: [{ finishReason: "STOP" }],
      usageMetadata: {
        promptTokenCount: 100,
        candidatesTokenCount: 50,
        cachedContentTokenCount: 20,
        promptTokensDetails: [{ modality: "TEXT", tokenCount: 40 }, { modality: "AUDIO", tokenCount: 60 }],
        cacheTokensDetails: [{ modality: "AUDIO", tokenCount: 20 }],
        candidatesTokensDetails: [{ modality: "IMAGE", tokenCount: 50 }],
      },
    }],
    { input_audio_tokens: 60, cache_read_audio_tokens: 20, output_image_tokens: 50 },
  ],
  [
    "each query of a grounded Gemini answer",
    "google.generative-ai",
    [{
      candidates: [{ finishReason: "STOP", groundingMetadata: { webSearchQueries: ["a", "b"] } }],
      modelVersion: "gemini-3-flash",
      usageMetadata: { promptTokenCount: 1 },
    }],
    { web_searches: 2 },
  ],
  [
    "a grounded answer of an older Gemini as one search",
    "google.generative-ai",
    [{
      candidates: [{ finishReason: "STOP", groundingMetadata: { webSearchQueries: ["a", "b"] } }],
      modelVersion: "gemini-2.5-flash",
      usageMetadata: { promptTokenCount: 1 },
    }],
    { web_searches: 1 },
  ],
  ["nothing but text as no details", "openai.chat", [{ choices: [], usage }], undefined],
];

for (const [name, provider, bodies, expected] of details) {
  Deno.test(`trackAnswerUsage() reads ${name}`, () => {
    const answer = trackAnswerUsage(provider);
    for (const body of bodies) answer.take(body);
    assert.equal(answer.isFinal(), true);
    assert.deepEqual(answer.usage()!.details, expected);
  });
}

Deno.test("trackAnswerUsage() reads Anthropic's speed and region where they are not the standard ones", () => {
  const answer = trackAnswerUsage("anthropic.messages");
  answer.take({
    type: "message_start",
    message: { usage: { ...counts, service_tier: "standard", speed: "standard", inference_geo: "global" } },
  });
  assert.deepEqual(answer.served(), { serviceTier: "standard" });
  answer.take({ type: "message_delta", usage: { output_tokens: 7, speed: "fast", inference_geo: "us" } });
  assert.deepEqual(answer.served(), { serviceTier: "standard", speed: "fast", inferenceGeo: "us" });
});

Deno.test("trackAnswerUsage() restores the parts that a copy of the usage has lost, and no other usage", () => {
  const answer = trackAnswerUsage("openai.chat");
  const prompt_tokens_details = { audio_tokens: 60 };
  answer.take({ choices: [], usage: { prompt_tokens: 100, completion_tokens: 9, prompt_tokens_details } });
  const copy = usageOf({ inputTokens: 100, outputTokens: 9 });
  assert.deepEqual(answer.withTools(copy), usageOf({ ...copy, details: { input_audio_tokens: 60 } }));
  const other = usageOf({ inputTokens: 100, outputTokens: 10 });
  assert.deepEqual(answer.withTools(other), other);
});

Deno.test("trackAnswerUsage() does not take the counts beside an error for final", () => {
  const error = { code: 503, message: "Overloaded" };
  const compatible = trackAnswerUsage("local.chat");
  compatible.take({ choices: [], error, usage: { prompt_tokens: 3, completion_tokens: 1 } });
  assert.deepEqual(compatible.usage(), usageOf({ inputTokens: 3, outputTokens: 1 }));
  assert.equal(compatible.isFinal(), false);
  const gemini = trackAnswerUsage("google.generative-ai");
  gemini.take({ candidates: [{}], usageMetadata: { promptTokenCount: 9, candidatesTokenCount: 1 } });
  gemini.take({ error });
  assert.deepEqual(gemini.usage(), usageOf({ inputTokens: 9, outputTokens: 1 }));
  assert.equal(gemini.isFinal(), false);
});

Deno.test("trackAnswerUsage() counts the search of a chat model that always searches", () => {
  const searchesOf = (model: string) => {
    const answer = trackAnswerUsage("openai.chat");
    answer.take({ model, choices: [], usage: { prompt_tokens: 3, completion_tokens: 1 } });
    return answer.usage()!.details?.web_searches;
  };
  for (
    const model of [
      "gpt-4o-search-preview",
      "gpt-4o-mini-search-preview-2025-03-11",
      "gpt-5-search-api",
      "gpt-5-search-api-2025-10-14",
    ]
  ) assert.equal(searchesOf(model), 1, model);
  for (const model of ["gpt-4o", "sonar-pro-search", "gpt-4o-search"]) {
    assert.equal(searchesOf(model), undefined, model);
  }
});

Deno.test("trackAnswerUsage() takes no usage as final while a choice continues", () => {
  const chat = trackAnswerUsage("openai.chat");
  const delta = { content: "Hi" };
  chat.take({ choices: [{ index: 0, delta }, { index: 1, delta }] });
  const usage = { prompt_tokens: 3, completion_tokens: 1 };
  chat.take({ choices: [{ index: 0, delta: {}, finish_reason: "stop" }], usage });
  assert.equal(chat.isFinal(), false, "the other choice has begun");
  chat.take({ choices: [{ index: 1, delta, finish_reason: "stop" }], usage });
  assert.equal(chat.isFinal(), true);
  chat.take({ choices: [{ index: 2, delta }] });
  assert.equal(chat.isFinal(), false, "another one has begun");
  const gemini = trackAnswerUsage("google.generative-ai");
  const usageMetadata = { promptTokenCount: 9, candidatesTokenCount: 1 };
  const content = { role: "model", parts: [{ text: "Hi" }] };
  gemini.take({ candidates: [{ content, finishReason: "STOP" }], usageMetadata });
  assert.equal(gemini.isFinal(), true);
  gemini.take({ candidates: [{ content }], usageMetadata });
  assert.equal(gemini.isFinal(), false);
});

Deno.test("trackAnswerUsage() takes the usage that comes after the end of the text as final", () => {
  const gemini = trackAnswerUsage("google.generative-ai");
  const content = { parts: [{ text: "Hi" }] };
  gemini.take({ candidates: [{ content }] });
  gemini.take({ candidates: [{ content: { role: "model", parts: [{ text: "" }] }, finishReason: "STOP" }] });
  gemini.take({ usageMetadata: { promptTokenCount: 9, candidatesTokenCount: 1 } });
  assert.equal(gemini.isFinal(), true);
  const blocked = trackAnswerUsage("google.generative-ai");
  blocked.take({ promptFeedback: { blockReason: "SAFETY" }, usageMetadata: { promptTokenCount: 10 } });
  assert.equal(blocked.isFinal(), true);
  assert.deepEqual(blocked.usage(), usageOf({ inputTokens: 10 }));
  const bare = trackAnswerUsage("local.chat");
  bare.take({ choices: [{ delta: { content: "Hi" }, finish_reason: null }] });
  bare.take({ usage: { prompt_tokens: 3, completion_tokens: 1 } });
  assert.equal(bare.isFinal(), true);
});

Deno.test("trackAnswerUsage() takes a whole answer as final at its end, whatever it says of it", () => {
  const chat = trackAnswerUsage("local.chat");
  const usage = { prompt_tokens: 3, completion_tokens: 1 };
  chat.take({ choices: [{ message: { content: "Hi" }, finish_reason: null }], usage });
  assert.equal(chat.isFinal(), false);
  chat.end();
  assert.equal(chat.isFinal(), true);
  const none = trackAnswerUsage("local.chat");
  none.end();
  assert.equal(none.isFinal(), false);
});

Deno.test("trackAnswerUsage() lets what can't be read replace nothing that is final", () => {
  for (const usage of [{}, { prompt_tokens: -1 }, { prompt_tokens: "9" }]) {
    const chat = trackAnswerUsage("local.chat");
    chat.take({ choices: [], usage: { prompt_tokens: 3, completion_tokens: 1 } });
    chat.take({ choices: [], usage });
    assert.deepEqual(chat.usage(), usageOf({ inputTokens: 3, outputTokens: 1 }), JSON.stringify(usage));
    assert.equal(chat.isFinal(), true);
  }
});

Deno.test("trackAnswerUsage() counts the tokens of Anthropic's advisor apart, and names the fallback that has answered", () => {
  const advised = trackAnswerUsage("anthropic.messages");
  const iterations = [
    { type: "message", input_tokens: 10, output_tokens: 5 },
    { type: "advisor_message", model: "claude-opus-4-1", input_tokens: 1_000_000, output_tokens: 100_000 },
  ];
  advised.take({ type: "message", usage: { input_tokens: 10, output_tokens: 5, iterations } });
  const advice = usageOf({ inputTokens: 1_000_000, outputTokens: 100_000 });
  assert.deepEqual(
    advised.usage(),
    usageOf({ inputTokens: 10, outputTokens: 5, models: [{ model: "claude-opus-4-1", usage: advice }] }),
  );
  assert.equal(advised.served().model, undefined);
  const fallback = trackAnswerUsage("anthropic.messages");
  const replaced = [{ type: "message" }, { type: "fallback_message", model: "claude-opus-4-1" }];
  fallback.take({ type: "message", usage: { input_tokens: 10, output_tokens: 5, iterations: replaced } });
  assert.equal(fallback.served().model, "claude-opus-4-1");
});
