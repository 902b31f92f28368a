import assert from "node:assert/strict";
import { openTestPurser, type TestPurser } from "../harness/test_purser.ts";
import { LONG_TO_PARSE } from "../harness/long_to_parse.ts";
import { type PlainProvider, startPlainProvider } from "./plain_provider.ts";

/** Requests that say one thing to the gateway and might say another to a provider: none is sent. */

const ANSWER = {
  object: "chat.completion",
  choices: [{ index: 0, finish_reason: "stop", message: { role: "assistant", content: "Hi" } }],
  usage: { prompt_tokens: 10, completion_tokens: 20 },
};

const VECTORS = {
  object: "list",
  data: [{ embedding: [1] }],
  usage: { prompt_tokens: 10, total_tokens: 10 },
};

async function withGateway(
  test: (
    gateway: {
      purser: TestPurser;
      provider: PlainProvider;
      send(path: string, body?: unknown, headers?: HeadersInit): Promise<{ status: number; message: string }>;
    },
  ) => Promise<void>,
): Promise<void> {
  await using provider = startPlainProvider(({ path }) =>
    Response.json(path.includes("/embeddings") ? VECTORS : ANSWER)
  );
  await using purser = await openTestPurser({ fake: provider });
  await test({
    ...{ purser, provider },
    async send(path, body, headers) {
      const response = await purser.app.request(path, {
        method: body === undefined ? "GET" : "POST",
        headers,
        ...(body !== undefined && { body: typeof body === "string" ? body : JSON.stringify(body) }),
      });
      const { error } = await response.json();
      return { status: response.status, message: error?.message ?? "" };
    },
  });
}

Deno.test("a path that a provider might read as another one is refused", () =>
  withGateway(async ({ provider, send }) => {
    const paths: [path: string, body?: unknown][] = [
      ["/openai/v1/models/..%2ffiles"],
      ["/openai/v1/models/%2e%2e%2ffiles"],
      ["/openai/v1/models/..%5cfiles"],
      ["/openai/v1/models/%252e%252e%252ffiles"],
      ["/openai/v1/models//files"],
      ["/openai/v1/models/a%3Fkey=b"],
      ["/openai/v1/models/a%0d%0ahost:b"],
      ["/openai/v1/responses/..%2ffiles"],
      ["/gemini/v1beta/models/gemini-2.5-flash%2f..%2fgemini-2.5-pro:generateContent", {}],
      ["/gemini/v1beta/models/gemini-2.5-flash:generateContent%3Fa:countTokens", {}],
    ];
    for (const [path, body] of paths) {
      const { status, message } = await send(path, body);
      assert.deepEqual([status, /its path has/.test(message)], [400, true], `${path}: ${message}`);
    }
    for (
      const [path, body] of [
        ["/openai/v1/responses/a%2Fb"],
        ["/gemini/v1beta/models/gemini-2.5-flash:generateContent"],
        ["/gemini/v1beta/models/gemini-2.5-pro:generateContent/a:countTokens", {}],
      ] as const
    ) assert.equal((await send(path, body)).status, 404, path);
    assert.equal(provider.requests.length, 0);
    assert.equal((await send("/openrouter/v1/models/anthropic%2Fclaude-haiku-4.5:beta")).status, 200);
    assert.equal(provider.requests.at(0)?.path, "/v1/models/anthropic%2Fclaude-haiku-4.5:beta");
  }));

Deno.test("a request for an answer without usage is refused", () =>
  withGateway(async ({ provider, send }) => {
    const path = "/gemini/v1beta/models/gemini-2.5-flash:generateContent";
    for (
      const query of [
        "fields=candidates",
        "%24fields=candidates",
        "alt=proto",
        "callback=f",
        "%24httpHeaders=x",
      ]
    ) {
      const { status, message } = await send(`${path}?${query}`, {});
      assert.deepEqual([status, /would have no usage/.test(message)], [400, true], query);
    }
    assert.deepEqual(provider.requests, []);
    assert.equal((await send(`${path}?alt=json&prettyPrint=false`, {})).status, 200);
  }));

const CHAT = { model: "gpt-4o-mini", messages: [{ role: "user", content: "Hi" }] };
const PATHS = { chat: "/openai/v1/chat/completions", responses: "/openai/v1/responses" };
const GEMINI = "/gemini/v1beta/models/gemini-2.5-flash:generateContent";

Deno.test("a body that parsers read in different ways is refused", () =>
  withGateway(async ({ provider, send }) => {
    const rows: [path: string, body: unknown, message: RegExp][] = [
      [PATHS.chat, { ...CHAT, stream: "true" }, /"stream" must be true, false or left out/],
      [PATHS.chat, { ...CHAT, stream: 1 }, /"stream" must be/],
      ["/anthropic/v1/messages", { ...CHAT, stream: "yes" }, /"stream" must be/],
      [PATHS.responses, { model: "gpt-4o-mini", input: "Hi", background: "true" }, /"background"/],
      [PATHS.chat, { ...CHAT, Model: "gpt-4o" }, /has "Model" twice/],
      [
        PATHS.chat,
        '{"model":"gpt-4o-mini","stream":true,"stream_options":{"include_usage":false,"include_usage":true}}',
        /has "include_usage" twice/,
      ],
      [
        GEMINI,
        '{"generationConfig":{"maxOutputTokens":9000,"maxOutputTokens":1}}',
        /has "maxOutputTokens" twice/,
      ],
      [PATHS.chat, { ...CHAT, Stream: true }, /has "Stream", which some providers take for "stream"/],
      [PATHS.chat, { ...CHAT, N: 100_000 }, /has "N"/],
      [
        PATHS.chat,
        { ...CHAT, stream: true, Stream_Options: { include_usage: false } },
        /has "Stream_Options"/,
      ],
      [GEMINI, { model: "models/gemini-2.5-pro" }, /another "model" than its path/],
    ];
    for (const [path, body, expected] of rows) {
      const { status, message } = await send(path, body);
      assert.equal(status, 400, JSON.stringify(body));
      assert.match(message, expected);
    }
    assert.deepEqual(provider.requests, []);
    assert.equal((await send(GEMINI, { model: "models/gemini-2.5-flash" })).status, 200);
    assert.equal((await send(PATHS.chat, { ...CHAT, stream: null })).status, 200);
  }));

Deno.test("a body that takes long to parse is refused before it is, whatever it has many of", () =>
  withGateway(async ({ provider, send }) => {
    for (const [name, shape] of Object.entries(LONG_TO_PARSE)) {
      const json = shape(450_000);
      const bodies: [path: string, body: string][] = [
        [PATHS.chat, `{"model":"gpt-4o-mini","messages":[{"role":"user","content":${json}}]}`],
        [
          "/anthropic/v1/messages",
          `{"model":"claude-haiku-4-5","max_tokens":1,"messages":[],"metadata":${json}}`,
        ],
        [PATHS.responses, `{"model":"gpt-4o-mini","input":${json}}`],
        [GEMINI, `{"contents":[{"parts":[{"functionResponse":{"response":${json}}}]}]}`],
        ["/openai/v1/embeddings", `{"model":"text-embedding-3-small","input":${json}}`],
      ];
      for (const [path, body] of bodies) {
        const { status, message } = await send(path, body);
        assert.equal(status, 413, `${name} to ${path}`);
        assert.match(message, /^Cannot read the body: it has more than 400000 values, .*; send it in parts$/);
      }
    }
    assert.deepEqual(provider.requests, []);
  }));

Deno.test("a body of many fields, of a long name, or deep within itself is refused, each part of it read once", () =>
  withGateway(async ({ provider, send }) => {
    const named = Object.fromEntries(Array.from({ length: 1_001 }, (_, i) => [`k${i}`, 1]));
    const rows: [body: unknown, message: RegExp][] = [
      [{ ...CHAT, ...named }, /its body has more than 1000 fields/],
      [{ ...CHAT, stream_options: named }, /its body has more than 1000 fields/],
      [{ ...CHAT, ["k".repeat(1_000_000)]: 1 }, /its body has a field whose name is over 1000 bytes/],
      [`{"stream_options":`.repeat(20_000) + "1" + "}".repeat(20_000), /"model" must be/],
    ];
    for (const [body, expected] of rows) {
      const { status, message } = await send(PATHS.chat, body);
      assert.equal(status, 400, message);
      assert.match(message, expected);
    }
    assert.deepEqual(provider.requests, []);
  }));

Deno.test("what large requests have many of is passed on: token ids, alike messages, long texts, images, tools", () =>
  withGateway(async ({ provider, send }) => {
    const call = (i: number) => ({
      id: `call_01A09q90qw90lq917835l${i}`,
      type: "function",
      function: { name: "f", arguments: "{}" },
    });
    const turns = Array.from({ length: 15_000 }, (_, i) => [
      { role: "assistant", content: null, tool_calls: [call(i)] },
      { role: "tool", tool_call_id: call(i).id, content: "It is done" },
    ]).flat();
    const tools = Array.from({ length: 500 }, (_, i) => ({
      type: "function",
      function: {
        name: `tool_number_${i}`,
        parameters: {
          type: "object",
          properties: Object.fromEntries([0, 1, 2, 3, 4].map((j) => [`field_${i}_${j}`, { type: "string" }])),
        },
      },
    }));
    const content = [
      { type: "text", text: '"Ünïcode\\"\n'.repeat(200_000) },
      { type: "image_url", image_url: { url: `data:image/png;base64,${"iVBORw0KGgo".repeat(1_000_000)}` } },
    ];
    const bodies: [path: string, body: unknown][] = [
      ["/openai/v1/embeddings", { model: "text-embedding-3-small", input: Array(300_000).fill(50_256) }],
      [PATHS.chat, { ...CHAT, messages: turns }],
      [PATHS.chat, { ...CHAT, tools }],
      [PATHS.chat, { ...CHAT, messages: [{ role: "user", content }] }],
    ];
    for (const [path, body] of bodies) assert.equal((await send(path, body)).status, 200, path);
    assert.equal(provider.requests.length, bodies.length);
  }));

Deno.test("a strict budget refuses what may cost more than the text of a request and its limit", () =>
  withGateway(async ({ purser, provider, send }) => {
    await purser.api("POST", "/budgets", { name: "Day", limit_usd: 1, per: "day", mode: "strict" });
    const chat = { ...CHAT, max_tokens: 1 };
    const messages = { ...chat, model: "claude-haiku-4-5" };
    const responses = { model: "gpt-4o-mini", input: "Hi", max_output_tokens: 1 };
    const generate = { contents: [], generationConfig: { maxOutputTokens: 1 } };
    const longCache = { text: "Hi", prompt_cache_breakpoint: { mode: "explicit", ttl: "12h" } };
    const rows: [path: string, body: unknown, message: RegExp][] = [
      [
        PATHS.responses,
        { ...responses, input: [{ id: "msg_1" }] },
        /refers to an item that is with the provider/,
      ],
      [PATHS.responses, { ...responses, input: [{ type: null, id: "msg_1" }] }, /refers to an item/],
      [
        PATHS.responses,
        { ...responses, input: [{ type: "item_reference", id: "msg_1" }] },
        /of type item_ref/,
      ],
      [PATHS.responses, { ...responses, input: [{ id: "msg_1", content: null }] }, /refers to an item/],
      [PATHS.responses, { ...responses, input: [{ content: [longCache] }] }, /caches a part of its prompt/],
      [PATHS.chat, { ...chat, messages: [{ content: [longCache] }] }, /caches a part of its prompt/],
      [
        PATHS.responses,
        { ...responses, context_management: [{ type: "compaction" }] },
        /"context_management"/,
      ],
      [PATHS.responses, { ...responses, models: ["gpt-4o"] }, /names other models/],
      [PATHS.responses, { ...responses, plugins: [{ id: "web" }] }, /the field "plugins", whose cost is not/],
      [
        "/anthropic/v1/messages",
        { ...messages, thread: { type: "continue", previous_message_id: "msg_1" } },
        /the field "thread"/,
      ],
      ["/anthropic/v1/messages", { ...messages, fallbacks: "default" }, /names other models/],
      [GEMINI, { ...generate, continuationToken: "x" }, /the field "continuationToken"/],
      [
        GEMINI,
        { ...generate, contents: [{ parts: [{ text: "Hi" }, { toolResponse: {} }] }] },
        /"toolResponse"/,
      ],
      [GEMINI, { ...generate, generationConfig: { maxOutputTokens: 1, imageConfig: {} } }, /"imageConfig"/],
      [PATHS.chat, { ...chat, model: "gpt-4o-search-preview" }, /searches the web by itself/],
      [PATHS.chat, { ...chat, prompt_cache_options: { ttl: "12h" } }, /"prompt_cache_options"/],
      [PATHS.chat, { ...chat, search_parameters: { mode: "on" } }, /"search_parameters"/],
      [PATHS.chat, { ...chat, messages: [{ role: "user", content: [{ image_url: "x" }] }] }, /image_url/],
      ["/openai/v1/embeddings", { model: "text-embedding-3-small", input: "Hi", search: 1 }, /"search"/],
    ];
    for (const [path, body, expected] of rows) {
      const { status, message } = await send(path, body);
      assert.equal(status, 402, JSON.stringify(body) + message);
      assert.match(message, expected);
    }
    assert.deepEqual(provider.requests, []);
    const usual = { temperature: 0, metadata: {}, top_p: 1 };
    const passing: [path: string, body: unknown][] = [
      [PATHS.chat, {
        ...chat,
        ...usual,
        reasoning_effort: "low",
        seed: 1,
        response_format: {},
        models: null,
      }],
      [PATHS.responses, {
        ...responses,
        ...usual,
        input: [{ id: "msg_1", role: "user", content: "Hi", metadata: { id: "k" } }],
      }],
      [GEMINI, { ...generate, tools: [{ functionDeclarations: [], googleSearch: null }] }],
      ["/anthropic/v1/messages", {
        ...messages,
        ...usual,
        thinking: { type: "disabled" },
        stop_sequences: [],
      }],
      [GEMINI, { ...generate, system_instruction: {}, safetySettings: [], toolConfig: {} }],
    ];
    for (const [path, body] of passing) {
      const { status, message } = await send(path, body);
      assert.equal(status, 200, message);
    }
  }));

Deno.test("a strict budget refuses limits that no provider keeps, and counts the largest of several", () =>
  withGateway(async ({ purser, provider, send }) => {
    await purser.api("POST", "/budgets", { name: "Day", limit_usd: 1, per: "day", mode: "strict" });
    const huge = Number.MAX_SAFE_INTEGER;
    const input = "Hi";
    const rows: [path: string, body: unknown, message: RegExp][] = [
      [PATHS.chat, { ...CHAT, max_tokens: huge, n: huge }, /sets no output limit/],
      [PATHS.chat, { ...CHAT, max_tokens: 1e9, n: 1e9 }, /sets no output limit/],
      [PATHS.chat, { ...CHAT, max_tokens: 0 }, /sets no output limit/],
      [PATHS.chat, { ...CHAT, max_tokens: -1 }, /sets no output limit/],
      [PATHS.chat, { ...CHAT, max_completion_tokens: 1, max_tokens: 10_000_000 }, /might cost \$10\./],
      [PATHS.chat, { ...CHAT, max_completion_tokens: 1, max_tokens: "9000" }, /sets no output limit/],
      [PATHS.chat, { ...CHAT, max_tokens: 1, models: ["gpt-4o"] }, /names other models/],
      [PATHS.chat, { ...CHAT, max_tokens: 1, plugins: [{ id: "web" }] }, /searches the web/],
      [
        "/anthropic/v1/messages",
        { ...CHAT, model: "claude-opus-4-6", max_tokens: 1, speed: "fast" },
        /no price is known for the speed that/,
      ],
      [
        PATHS.chat,
        { ...CHAT, max_tokens: 1, service_tier: "scale" },
        /for the service_tier that it asks for/,
      ],
      [GEMINI, { generationConfig: { maxOutputTokens: 1 }, serviceTier: "turbo" }, /for the service_tier/],
      [GEMINI, { generationConfig: { maxOutputTokens: 0 } }, /sets no output limit/],
      [GEMINI, { generationConfig: { maxOutputTokens: 1 }, generation_config: {} }, /two spellings/],
      [
        GEMINI,
        { generationConfig: { maxOutputTokens: 1, candidateCount: 1, candidate_count: 8 } },
        /two spellings/,
      ],
      [
        "/openai/v1/embeddings",
        { model: "text-embedding-3-small", input: [{ image: "x" }] },
        /more than text/,
      ],
      ["/openai/v1/embeddings", { model: "text-embedding-3-small", input, messages: [] }, /more than text/],
    ];
    for (const [path, body, expected] of rows) {
      const { status, message } = await send(path, body);
      assert.equal(status, 402, JSON.stringify(body) + message);
      assert.match(message, expected);
    }
    assert.deepEqual(provider.requests, []);
    for (const service_tier of ["auto", "default", "priority", "flex"]) {
      const { status, message } = await send(PATHS.chat, { ...CHAT, max_tokens: 20, service_tier });
      assert.equal(status, 200, message);
    }
    for (const text of [input, [input], [1, 2], [[1], [2]]]) {
      const { status, message } = await send("/openai/v1/embeddings", {
        model: "text-embedding-3-small",
        input: text,
      });
      assert.equal(status, 200, message);
    }
  }));

Deno.test("agents, sessions and runs may have the names of versions", () =>
  withGateway(async ({ purser }) => {
    for (const id of ["v1", "v1beta"]) {
      assert.equal((await purser.api("PUT", `/agents/${id}`, { model: "demo:echo" })).status, 201);
      const run = await purser.api("POST", `/agents/${id}/runs`, { input: "Hi", session_id: id });
      assert.equal(run.body.status, "completed");
      for (
        const path of [`/agents/${id}`, `/agents/${id}/sessions`, `/sessions/${id}`, `/sessions/${id}/events`]
      ) {
        assert.equal((await purser.api("GET", path)).status, 200, path);
      }
    }
  }));
