import assert from "node:assert/strict";
import { readCalls } from "./requests.ts";
import { CALLS, CHAT, withProxy } from "./redirecting_proxy.ts";

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
