import assert from "node:assert/strict";
import { openHttpClient } from "../harness/http_client.ts";
import { openTestPurser } from "../harness/test_purser.ts";
import { type PlainRequest, startPlainProvider } from "./plain_provider.ts";

/** A key of some models learns nothing of others, and reaches none of them in a roundabout way. */

const MODELS = ["gpt-4o-mini", "claude-haiku-*", "gemini-2.5-flash"];

async function withKey(
  answer: (request: PlainRequest) => Response,
  test: (
    send: (method: string, path: string, body?: unknown, rawBody?: string) => Promise<Response>,
    requests: readonly PlainRequest[],
  ) => Promise<void>,
): Promise<void> {
  await using provider = startPlainProvider(answer);
  await using purser = await openTestPurser({ fake: provider });
  const { body: { key } } = await purser.api("POST", "/keys", {
    name: "cheap",
    scopes: ["call"],
    models: MODELS,
  });
  const { raw } = openHttpClient(purser);
  const json = { "content-type": "application/json" };
  await test(
    (method, path, body, rawBody) =>
      raw(method, path, { key, body, ...(rawBody && { rawBody, headers: json }) }),
    provider.requests,
  );
}

Deno.test("free requests about a model are for those of the key alone", () =>
  withKey(() => Response.json({}), async (send, requests) => {
    const rows: [status: number, method: string, path: string, body?: unknown][] = [
      [200, "GET", "/openai/v1/models/gpt-4o-mini"],
      [403, "GET", "/openai/v1/models/gpt-4o"],
      [403, "HEAD", "/openai/v1/models/gpt-4o"],
      [403, "GET", "/openai/v1/models/gpt%2d4o"],
      [200, "GET", "/anthropic/v1/models/claude-haiku-4-5"],
      [403, "GET", "/anthropic/v1/models/claude-opus-4-5"],
      [403, "GET", "/gemini/v1beta/models/gemini-2.5-pro"],
      [200, "POST", "/anthropic/v1/messages/count_tokens", { model: "claude-haiku-4-5", messages: [] }],
      [403, "POST", "/anthropic/v1/messages/count_tokens", { model: "claude-opus-4-5", messages: [] }],
      [400, "POST", "/anthropic/v1/messages/count_tokens", { messages: [] }],
      [200, "POST", "/openai/v1/responses/input_tokens", { model: "gpt-4o-mini", input: "Hi" }],
      [403, "POST", "/openai/v1/responses/input_tokens", { model: "gpt-4o", input: "Hi" }],
      [200, "POST", "/gemini/v1beta/models/gemini-2.5-flash:countTokens", { contents: [] }],
      [403, "POST", "/gemini/v1beta/models/gemini-2.5-pro:countTokens", { contents: [] }],
      [
        403,
        "POST",
        "/gemini/v1beta/models/gemini-2.5-flash:countTokens",
        { generateContentRequest: { model: "models/gemini-2.5-pro", contents: [] } },
      ],
      [
        200,
        "POST",
        "/gemini/v1beta/models/gemini-2.5-flash:countTokens",
        { generateContentRequest: { model: "models/gemini-2.5-flash", contents: [] } },
      ],
      [200, "POST", "/openai/v1/responses/resp_1/cancel"],
    ];
    let sent = 0;
    for (const [status, method, path, body] of rows) {
      const response = await send(method, path, body);
      await response.body?.cancel();
      assert.equal(response.status, status, `${method} ${path} ${JSON.stringify(body)}`);
      if (status === 200) sent++;
    }
    assert.equal(requests.length, sent, "nothing else was sent");
  }));

Deno.test("no request sets its own price or address, as one to LiteLLM can", async () => {
  await using provider = startPlainProvider(() => Response.json({}));
  await using purser = await openTestPurser({ fake: provider });
  const { body: { key } } = await purser.api("POST", "/keys", { name: "any", scopes: ["call"] });
  const { raw } = openHttpClient(purser);
  const deep = JSON.parse(`${'{"a":'.repeat(20)}1${"}".repeat(20)}`);
  const rows: [status: number, fields: Record<string, unknown>][] = [
    [400, { input_cost_per_token: 0 }],
    [400, { output_cost_per_second: 0 }],
    [400, { extra_body: { input_cost_per_token_above_200k_tokens: 0 } }],
    [400, { litellm_params: { model: "x" } }],
    [400, { model_info: { id: "x" } }],
    [400, { user_config: { model_list: [{ litellm_params: { model: "x" } }] } }],
    [400, { api_base: "http://127.0.0.1:1" }],
    [400, { custom_llm_provider: "openai" }],
    [400, { other: deep }],
    // From LiteLLM's CustomPricingLiteLLMParams and the fields that its proxy refuses in bodies, as of 2026-11-26.
    [400, { cache_read_input_token_cost: 0 }],
    [400, { cache_creation_input_token_cost_above_1hr: 0 }],
    [400, { tiered_pricing: [] }],
    [400, { apiBase: "http://127.0.0.1:1" }],
    [400, { API_BASE: "http://127.0.0.1:1" }],
    [400, { aws_bedrock_runtime_endpoint: "http://127.0.0.1:1" }],
    [400, { sagemaker_base_url: "http://127.0.0.1:1" }],
    [400, { s3_endpoint_url: "http://127.0.0.1:1" }],
    [400, { vertex_credentials: "{}" }],
    [400, { azure_endpoint: "http://127.0.0.1:1" }],
    [400, { api_key: "sk-of-another-account" }],
    [400, { organization: "org-other" }],
    [400, { model_list: [] }],
    [400, { user_config: {} }],
    [400, { extra_headers: { "openai-organization": "org-other" } }],
    [400, { extra_body: { headers: { "anthropic-beta": "fast-mode-2026-02-01" } } }],
    [400, { metadata: { model_info: { input_cost_per_token: 0 } } }],
    [200, { other: { cost: 1, price: 2 } }],
    [200, { metadata: { input_cost_per_token: "0", api_base: "x" } }],
    [200, {
      tools: [{ type: "function", function: { name: "f", parameters: { api_base: { type: "string" } } } }],
    }],
  ];
  for (const [status, fields] of rows) {
    const body = { model: "gpt-4o-mini", messages: [], ...fields };
    const response = await raw("POST", "/openai/v1/chat/completions", { key, body });
    const text = await response.text();
    assert.equal(response.status, status, `${JSON.stringify(fields)}: ${text}`);
  }
  assert.equal(provider.requests.length, 3, "nothing else was sent");
});

Deno.test("a name with escapes is read as its provider reads it, whatever was parsed before", async () => {
  await withKey(() => Response.json({}), async (send, requests) => {
    const call = async (tools: string) => {
      const body = `{"model":"gpt-4o-mini","messages":[],"tools":${tools}}`;
      const response = await send("POST", "/openai/v1/chat/completions", undefined, body);
      await response.body?.cancel();
      return response.status;
    };
    // V8 14 takes each name for the one before it in the same place.
    assert.equal(await call(String.raw`[{"zq":1,"\\u006":1,"type":"advisor"}]`), 200);
    assert.equal(await call(String.raw`[{"zq":1,"\u006dodel":"gpt-4o","type":"advisor"}]`), 403);
    assert.equal(await call(String.raw`[{"type":"advisor","\u006D\u006f\u0064el":"gpt-4o"}]`), 403);
    assert.equal(
      await call(String.raw`[{"type":"advisor","text":"\\u006dodel \u003c\u00e9 \"model\""}]`),
      200,
    );
    assert.equal(requests.length, 2);
    assert.ok(requests[1]!.body.includes(String.raw`\\u006dodel \u003c\u00e9`), "it is sent as it came");
  });
});

const LISTS: [name: string, list: unknown, kept: unknown][] = [
  ["OpenAI's", { object: "list", data: [{ id: "gpt-4o" }, { id: "gpt-4o-mini" }] }, {
    object: "list",
    data: [{ id: "gpt-4o-mini" }],
  }],
  ["a plain one, as Together's", [{ id: "gpt-4o" }, { id: "gpt-4o-mini" }], [{ id: "gpt-4o-mini" }]],
  ["one in two forms, as llama.cpp's", { models: [{ name: "gpt-4o" }], data: [{ id: "gpt-4o" }] }, {
    models: [],
    data: [],
  }],
  ["Gemini's", { models: [{ name: "models/gemini-2.5-pro" }, { name: "models/gemini-2.5-flash" }] }, {
    models: [{ name: "models/gemini-2.5-flash" }],
  }],
];

for (const [name, list, kept] of LISTS) {
  Deno.test(`of a list of models, a key sees its own: ${name}`, () =>
    withKey(() => Response.json(list), async (send) => {
      assert.deepEqual(await (await send("GET", "/openai/v1/models")).json(), kept);
    }));
}

Deno.test("a list of models that can't be read is not shown to a key of some", () =>
  withKey(() => new Response("gpt-4o"), async (send) => {
    const response = await send("GET", "/openai/v1/models");
    assert.equal(response.status, 502);
    assert.doesNotMatch(await response.text(), /gpt-4o/);
  }));

Deno.test("models that a proxy would call in place of the first are checked, too", () =>
  withKey(() => Response.json({ choices: [] }), async (send, requests) => {
    for (
      const others of [
        { models: ["gpt-4o-mini", "gpt-4o"] },
        { fallbacks: ["gpt-4o"] },
        { fallbacks: [{ "gpt-4o-mini": ["gpt-4o"] }] },
        { fallbacks: [{ model: "gpt-4o", max_tokens: 9 }] },
        { fallbacks: "default" },
        { preset: "expensive" },
        { plugins: [{ id: "fusion", models: ["gpt-4o-mini", "gpt-4o"] }] },
        { context_window_fallbacks: [{ "gpt-4o-mini": ["gpt-4o"] }] },
        { tools: [{ type: "advisor_20260301", model: "claude-opus-4-1" }] },
        { tools: [{ type: "image_generation", model: "gpt-image-1" }] },
        { tools: [{ type: "openrouter:fusion", parameters: { analysis_models: ["gpt-4o"] } }] },
        { plugins: [{ id: "fusion", analysis_models: ["gpt-4o"] }] },
        { plugins: [{ id: "auto-router", allowed_models: ["*"] }] },
        { context_window_fallback_dict: { "gpt-4o-mini": "gpt-4o" } },
        { deployment_id: "gpt-4o" }, // LiteLLM's `completion()` sets `model = deployment_id`
        { prompt_id: "expensive" },
        { extra_body: { modelName: "gpt-4o" } },
        { metadata: { x: { model: "gpt-4o" } } },
      ]
    ) {
      const body = { model: "gpt-4o-mini", messages: [], ...others };
      assert.equal(
        (await send("POST", "/openai/v1/chat/completions", body)).status,
        403,
        JSON.stringify(others),
      );
    }
    assert.deepEqual(requests, []);
    const own = {
      model: "gpt-4o-mini",
      messages: [],
      models: ["claude-haiku-4-5"],
      fallbacks: [{ model: "claude-haiku-4-5", max_tokens: 9 }],
      tools: [{ type: "function", function: { parameters: { model: { type: "string" } } } }],
      metadata: { model: "gpt-4o" },
      disable_fallbacks: true,
    };
    assert.equal((await send("POST", "/openai/v1/chat/completions", own)).status, 200);
  }));
