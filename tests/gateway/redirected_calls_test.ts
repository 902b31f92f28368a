import assert from "node:assert/strict";
import type { ProviderSettings } from "../../src/config/mod.ts";
import { openHttpClient } from "../harness/http_client.ts";
import { openTestPurser, type TestPurser } from "../harness/test_purser.ts";
import { type PlainProvider, type PlainRequest, startPlainProvider } from "./plain_provider.ts";
import { readCalls } from "./requests.ts";

/**
 * A call reaches the model of its body, at its price and under the server's account, whatever else a client sends. The proxies
 * here take the model, the provider or the price from where their documents say, as of 2026-11-26:
 * - LiteLLM: https://docs.litellm.ai/docs/proxy/request_headers; its routes have a query parameter `model`, which comes before
 *   the body's, and `x-litellm-model` (litellm/proxy, `_extract_model_param`);
 * - Portkey: https://portkey.ai/docs/api-reference/inference-api/headers;
 * - Helicone: https://docs.helicone.ai/helicone-headers/header-directory;
 * - Cloudflare: https://developers.cloudflare.com/ai-gateway/glossary;
 * - Envoy AI Gateway `x-ai-eg-model`, Azure `azureml-model-deployment`, Google `x-goog-request-params` and
 *   `x-goog-user-project`, OpenAI `OpenAI-Organization` and `OpenAI-Project`, Anthropic `anthropic-workspace-id`.
 */

const OTHER = "dear";

/** Headers by which a proxy or a provider takes another model, provider, price or account, with what they would choose. */
const REDIRECTING: Record<string, string> = {
  "x-litellm-model": OTHER,
  "x-litellm-tags": OTHER,
  "x-litellm-api-base": "https://evil.example/v1",
  "x-litellm-num-retries": "9",
  "x-litellm-timeout": "0.001",
  "x-portkey-config": '{"override_params":{"model":"dear"}}',
  "x-portkey-provider": "@other",
  "x-portkey-custom-host": "https://evil.example/v1",
  "x-portkey-virtual-key": "vk-other",
  "helicone-target-url": "https://evil.example",
  "helicone-openai-api-base": "https://evil.example",
  "helicone-fallbacks": '[{"target-url":"https://evil.example"}]',
  "helicone-model-override": OTHER,
  "cf-aig-custom-cost": '{"total_cost":0}',
  "cf-aig-cache-key": "others",
  "cf-aig-authorization": "Bearer other",
  "x-openrouter-cache": "true",
  "x-openrouter-provider": "other",
  "x-ai-eg-model": OTHER,
  "x-gateway-model-name": OTHER,
  "x-model": OTHER,
  "model": OTHER,
  "x-bt-use-cache": "always",
  "azureml-model-deployment": OTHER,
  "extra-parameters": "pass-through",
  "x-ms-oai-image-generation-deployment": OTHER,
  "x-amzn-bedrock-service-tier": "priority",
  "x-vertex-ai-llm-shared-request-type": "priority",
  "x-vertex-ai-llm-request-type": "dedicated",
  "x-goog-request-params": "model=dear",
  "x-goog-user-project": "other",
  "openai-organization": "org-other",
  "openai-project": "proj_other",
  "anthropic-workspace-id": "wrkspc_other",
  "anthropic-user-profile-id": "other",
  "groq-model-version": "latest",
  "x-target-url": "https://evil.example",
  "x-http-method-override": "DELETE",
  "x-original-url": "/v1/files",
  "x-rewrite-url": "/v1/files",
  "x-envoy-original-path": "/v1/files",
  "x-goog-fieldmask": "candidates",
  "content-encoding": "gzip",
  "if-none-match": '"1"',
  "range": "bytes=0-1",
  "x-unheard-of": OTHER,
};

/** Headers that real clients send, which change none of these. */
const HARMLESS: Record<string, Record<string, string>> = {
  openai: {
    "openai-beta": "responses=experimental",
    "originator": "codex_exec",
    "session-id": "s1",
    "x-codex-window-id": "s1:0",
    "x-codex-turn-metadata": "{}",
    "x-codex-beta-features": "remote_compaction_v2",
    "x-openai-subagent": "review",
    "x-client-request-id": "r1",
    "x-session-affinity": "ses_1",
    "x-stainless-retry-count": "0",
    "traceparent": "00-f7f0a11ec5b8c5e5fa1eec04ad68a9ac-28e3bbe7680f7cd3-01",
    "http-referer": "https://app.example",
    "x-title": "App",
    "x-openrouter-title": "App",
    "idempotency-key": "k1",
    "user-agent": "OpenAI/JS 6.49.0",
    "accept": "application/json",
  },
  anthropic: {
    "anthropic-version": "2023-06-01",
    "anthropic-beta": "claude-code-20250219,context-1m-2025-08-07,fast-mode-2026-02-01",
    "anthropic-dangerous-direct-browser-access": "true",
    "x-claude-code-session-id": "s1",
    "x-claude-code-agent-id": "a1",
    "x-app": "cli",
    "x-stainless-lang": "js",
    "user-agent": "claude-cli/2.1.332 (external, cli)",
    "accept": "text/event-stream, */*;q=0.5",
  },
  gemini: {
    "x-goog-api-client": "google-genai-sdk/2.32.0 gl-node/v26",
    "x-server-timeout": "600",
    "user-agent": "GeminiCLI/0.61.0",
    "accept": "*/*",
  },
};

const CHAT = { model: "cheap", messages: [{ role: "user", content: "Hi" }] };
const ANSWER = {
  object: "chat.completion",
  choices: [{ index: 0, finish_reason: "stop", message: { role: "assistant", content: "Hi" } }],
  usage: { prompt_tokens: 1_000, completion_tokens: 1_000 },
};

const CALLS: Record<string, { path: string; body: Record<string, unknown> }> = {
  lite: { path: "/lite/v1/chat/completions", body: CHAT },
  openai: { path: "/openai/v1/responses", body: { model: "gpt-4o-mini", input: "Hi" } },
  embeddings: { path: "/lite/v1/embeddings", body: { model: "cheap", input: "Hi" } },
  anthropic: {
    path: "/anthropic/v1/messages",
    body: { model: "claude-haiku-4-5", max_tokens: 9, messages: [] },
  },
  gemini: { path: "/gemini/v1beta/models/gemini-2.5-flash:generateContent", body: { contents: [] } },
};

/** Returns the model that a proxy like LiteLLM calls. */
function modelOf({ path, headers, body }: PlainRequest): string {
  const { searchParams } = new URL(path, "http://x");
  return searchParams.get("model") ?? headers.get("x-litellm-model") ?? headers.get("x-ai-eg-model") ??
    JSON.parse(body).model;
}

interface Gateway {
  purser: TestPurser;
  provider: PlainProvider;
  called: string[];
  send(
    path: string,
    body?: unknown,
    headers?: Record<string, string>,
  ): Promise<{ status: number; text: string }>;
}

async function withProxy(
  test: (gateway: Gateway) => Promise<void>,
  more: Partial<ProviderSettings> = {},
): Promise<void> {
  const called: string[] = [];
  await using provider = startPlainProvider((request) => {
    if (request.method === "POST") called.push(modelOf(request));
    return Response.json(ANSWER);
  });
  const price = (model: string, usd: number) => ({
    provider: "lite",
    model,
    input_usd_per_million: usd,
    output_usd_per_million: usd,
  });
  await using purser = await openTestPurser({
    fake: provider,
    config: {
      prices: [price("cheap", 1), price("dear", 100_000)],
      providers: {
        lite: { baseUrl: provider.baseUrls.compatible, apiKey: "sk-lite-1234567890", ...more },
        azure: {
          baseUrl: `${provider.baseUrls.compatible.replace("/v1", "/openai/v1/")}?api-version=preview`,
          apiKey: "0123456789abcdef",
        },
      },
    },
  });
  await test({
    ...{ purser, provider, called },
    async send(path, body, headers = {}) {
      const response = await purser.app.request(path, {
        method: body === undefined ? "GET" : "POST",
        headers: { "content-type": "application/json", ...headers },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      });
      return { status: response.status, text: await response.text() };
    },
  });
}

Deno.test("no query parameter chooses another model: every one that isn't known is refused by its name", () =>
  withProxy(async ({ provider, purser, send }) => {
    const names = ["model", "Model", "mod%65l", "model[]", "deployment", "api-version", "engine", "tags"];
    const more = [
      "api_base",
      "fallbacks",
      "key2",
      "provider",
      "stream",
      "userProject",
      "$userProject",
      "a b",
    ];
    for (const { path, body } of Object.values(CALLS)) {
      for (const name of [...names, ...more]) {
        const { status, text } = await send(`${path}?${name}=dear`, body);
        assert.equal(status, 400, `${path}?${name}`);
        const shown = new URLSearchParams(`${name}=`).keys().next().value!;
        const { error } = JSON.parse(text);
        assert.match(error.message, new RegExp(`with "${shown.replace(/[[\]$]/g, "\\$&")}" in its address`));
      }
      // Of a parameter that passes, too, a value that parsers may read as a further one.
      for (const value of ["true;model=dear", "true%26model=dear", "sse%20", "x".repeat(600)]) {
        assert.equal((await send(`${path}?beta=${value}`, body)).status, 400, value);
        assert.equal((await send(`${path}?alt=${value}`, body)).status, 400, value);
      }
    }
    const free = [
      "/lite/v1/models?team_id=1",
      "/openai/v1/responses/r1?model=dear",
      "/gemini/v1beta/models?fields=x",
    ];
    for (const path of [...free, "/anthropic/v1/models/m?workspace_id=w"]) {
      assert.equal((await send(path)).status, 400, path);
    }
    assert.deepEqual([provider.requests, await readCalls(purser)], [[], []]);
  }));

Deno.test("the parameters that clients send pass as they are", () =>
  withProxy(async ({ provider, send }) => {
    const { anthropic, gemini } = CALLS;
    const rows: [path: string, body?: unknown][] = [
      [`${anthropic!.path}?beta=true`, anthropic!.body],
      ["/anthropic/v1/messages/count_tokens?beta=true", anthropic!.body],
      ["/anthropic/v1/models?limit=1000"],
      ["/anthropic/v1/models?after_id=claude-a&limit=20&beta=true"],
      [`${gemini!.path}?alt=sse`, gemini!.body],
      [`${gemini!.path}?$alt=json&prettyPrint=false`, gemini!.body],
      ["/gemini/v1beta/models?pageSize=100&pageToken=Q2c%3D"],
      ["/openai/v1/models?client_version=0.171.0"],
      ["/openai/v1/responses/resp_1?include[]=file_search_call.results&include_obfuscation=false"],
      ["/openai/v1/responses/resp_1?include%5B%5D=a&stream=true&starting_after=42"],
      ["/openai/v1/responses/resp_1/input_items?after=msg_1&limit=20&order=asc&include=x"],
      ["/lite/v1/models?category=programming&supported_parameters=tools"],
    ];
    for (const [path, body] of rows) {
      const { status, text } = await send(path, body);
      assert.equal(status, 200, `${path} ${text}`);
      assert.equal(provider.requests.at(-1)!.path, path.replace(/^\/\w+/, ""));
    }
  }));

Deno.test("no header chooses another model, provider, price or account: those that are not known stay here", () =>
  withProxy(async ({ provider, purser, called, send }) => {
    for (const { path, body } of Object.values(CALLS)) {
      assert.equal((await send(path, body, REDIRECTING)).status, 200);
      const sent = [...provider.requests.at(-1)!.headers.keys()];
      assert.deepEqual(sent.filter((name) => Object.hasOwn(REDIRECTING, name)), [], path);
    }
    assert.deepEqual(called, ["cheap", "gpt-4o-mini", "cheap", "claude-haiku-4-5", undefined]);
    // 1,000 tokens in and out at $1 a million.
    assert.equal((await readCalls(purser))[0]!.cost, 2_000_000n);
    const line = purser.logs.find(({ message }) => message === "Headers of a client were not passed on");
    assert.deepEqual([line?.level, line?.fields.provider], ["debug", "lite"]);
    assert.match(String(line?.fields.headers), /azureml-model-deployment/);
  }));

Deno.test("the headers that clients send pass to their provider as they are", () =>
  withProxy(async ({ provider, send }) => {
    for (const [name, headers] of Object.entries(HARMLESS)) {
      const { path, body } = CALLS[name]!;
      assert.equal((await send(path, body, headers)).status, 200);
      for (const [header, value] of Object.entries(headers)) {
        assert.equal(provider.requests.at(-1)!.headers.get(header), value, `${name}: ${header}`);
      }
    }
  }));

Deno.test("a body is always sent as JSON: as a form, a proxy would read another model in it", () =>
  withProxy(async ({ provider, send }) => {
    const { path, body } = CALLS.lite!;
    for (
      const type of [
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "application/json; charset=utf-16",
        "application/json, application/x-www-form-urlencoded",
        "text/plain",
        "application/x-ndjson",
      ]
    ) {
      assert.equal((await send(path, body, { "content-type": type })).status, 200);
      assert.equal(provider.requests.at(-1)!.headers.get("content-type"), "application/json", type);
    }
    for (
      const type of ["application/json", "application/json; charset=utf-8", "Application/JSON;charset=UTF-8"]
    ) {
      await send(path, body, { "content-type": type });
      assert.equal(provider.requests.at(-1)!.headers.get("content-type"), type);
    }
    await send(path, body, { accept: "application/x-protobuf" });
    assert.doesNotMatch(provider.requests.at(-1)!.headers.get("accept") ?? "", /protobuf/);
  }));

Deno.test("a configured provider gets the further headers that the config names, and never a credential", () =>
  withProxy(
    async ({ provider, send }) => {
      const headers = {
        "x-litellm-tags": "search",
        "helicone-property-app": "a",
        "helicone-auth": "no",
        "x-portkey-config": "no",
        "x-purser-session": "s1",
        "cookie": "a=b",
      };
      await send(CALLS.lite!.path, CHAT, headers);
      const sent = [...provider.requests.at(-1)!.headers.keys()].filter((name) =>
        Object.hasOwn(headers, name)
      );
      assert.deepEqual(sent.sort(), ["helicone-property-app", "x-litellm-tags"]);
    },
    {
      passHeaders: ["x-litellm-tags", "helicone-property-*", "c*", "x-p*"].filter((name) => name !== "x-p*"),
    },
  ));

Deno.test("a key of Purser's reaches no provider, whatever stands around it and however it is encoded", () =>
  withProxy(async ({ purser, provider }) => {
    const { body: { key } } = await purser.api("POST", "/keys", { name: "k", scopes: ["call"] });
    const { raw } = openHttpClient(purser);
    const forms = [
      ...["", "z", "Bearer ", "0", "é", "_", "x-", "Basic u:"].map((before) => `${before}${key}z`),
      `zpsr_${key.slice(4, 30)}`, // and a part of one
      key.toUpperCase(),
      btoa(`user:${key}`),
      btoa(`us:${key}`),
      encodeURIComponent(key).replace("_", "%5F"),
      JSON.stringify({ key }),
    ];
    for (const value of forms) {
      const headers = { "x-request-id": value, "user-agent": value, "x-stainless-x": value };
      const response = await raw("POST", CALLS.lite!.path, { key, body: CHAT, headers });
      assert.equal(response.status, 200, await response.text());
      const sent = JSON.stringify([...provider.requests.at(-1)!.headers]);
      assert.ok(!sent.includes(JSON.stringify(value).slice(1, -1)), value);
      assert.equal(provider.requests.at(-1)!.headers.get("x-request-id"), null, value);
    }
    const inAddress = await raw("GET", `/lite/v1/models?after=z${key}`, { key });
    assert.equal(inAddress.status, 400);
  }));

Deno.test("a key of some models reaches no other one by a list, nor by what a proxy merges into the body", () =>
  withProxy(async ({ purser, provider }) => {
    const { body: { key } } = await purser.api("POST", "/keys", {
      name: "k",
      scopes: ["call"],
      models: ["cheap*"],
    });
    const { raw } = openHttpClient(purser);
    const bodies: [status: number, body: Record<string, unknown>][] = [
      [400, { ...CHAT, model: "cheap,dear" }],
      [403, { ...CHAT, extra_body: { model: "dear" } }],
      [403, { ...CHAT, router_settings_override: { fallbacks: [{ cheap: ["dear"] }] } }],
      [403, {
        ...CHAT,
        user_config: { model_list: [{ model_name: "cheap", litellm_params: { model: "dear" } }] },
      }],
      [403, { ...CHAT, litellm_params: { default_fallbacks: ["dear"] } }],
      [403, { ...CHAT, provider_options: { a: [[{ models: ["cheap", "dear"] }]] } }],
      [403, { ...CHAT, model_fallback: "dear" }],
      [403, { ...CHAT, plugins: [{ id: "fusion", judge: { model: "dear" } }] }],
    ];
    for (const [status, body] of bodies) {
      const response = await raw("POST", CALLS.lite!.path, { key, body });
      assert.equal(response.status, status, `${JSON.stringify(body)} ${await response.text()}`);
    }
    assert.deepEqual(provider.requests, []);
    const usual = {
      ...CHAT,
      extra_body: { model: "cheap-2", top_k: 1 },
      tools: [{
        type: "function",
        function: { name: "f", parameters: { properties: { model: { type: "string" } } } },
      }],
      metadata: { model: "any" },
    };
    assert.equal((await raw("POST", CALLS.lite!.path, { key, body: usual })).status, 200);
  }));

Deno.test("a strict budget refuses a beta that may raise the cost of a call, and passes those that don't", () =>
  withProxy(async ({ purser, provider, send }) => {
    await purser.api("POST", "/budgets", { name: "Day", limit_usd: 1, per: "day", mode: "strict" });
    const { path, body } = CALLS.anthropic!;
    const betaOf = (beta: string) => send(path, body, { "anthropic-beta": beta });
    for (
      const beta of [
        "fast-mode-2026-02-01",
        "code-execution-2025-05-22",
        "server-side-fallback-2026-07-01",
        "advisor-tool-2026-03-01",
        "compact-2026-09-04",
        "mcp-client-2025-11-20",
        "unheard-of-2027-01-01",
        "claude-code-20250219, fast-mode-2026-02-01",
        "Context-1M-2025-08-07",
      ]
    ) {
      const { status, text } = await betaOf(beta);
      assert.equal(status, 402, beta);
      const name = beta.split(", ").at(-1)!;
      assert.ok(JSON.parse(text).error.message.includes(`its header anthropic-beta names "${name}"`), text);
    }
    const responses = { path: CALLS.openai!.path, body: { ...CALLS.openai!.body, max_output_tokens: 99 } };
    const agents = await send(responses.path, responses.body, { "openai-beta": "responses_multi_agent=v1" });
    assert.equal(agents.status, 402);
    assert.deepEqual(provider.requests, []);
    const usual =
      "claude-code-20250219,interleaved-thinking-2025-05-14,context-1m-2025-08-07,effort-2025-11-24,";
    assert.equal((await betaOf(usual)).status, 200);
    purser.clock.advance(24 * 3_600_000); // its answer is that of another API, so that its cost has no bound
    const known = await send(responses.path, responses.body, { "openai-beta": "responses=experimental" });
    assert.equal(known.status, 200);
  }));

Deno.test("the query of a base URL, such as Azure's api-version, goes with every call, and no client changes it", () =>
  withProxy(async ({ purser, provider, send }) => {
    const sent = () => provider.requests.at(-1)!.path;
    const chat = "/openai/v1/chat/completions?api-version=preview";
    assert.equal((await send("/azure/v1/chat/completions", CHAT)).status, 200);
    assert.equal(sent(), chat);
    assert.equal((await send("/azure/v1/models?limit=1")).status, 200);
    assert.equal(sent(), "/openai/v1/models?limit=1&api-version=preview");
    assert.equal((await send("/azure/v1/models?api-version=2020-01-01")).status, 400);
    const count = provider.requests.length;
    const run = await purser.run({ model: "azure:cheap" }, "Hi");
    assert.equal(run.status, "completed");
    assert.deepEqual(provider.requests.slice(count).map(({ path }) => path), [chat], "of a run, too");
  }));
