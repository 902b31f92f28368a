import assert from "node:assert/strict";
import { openHttpClient } from "../harness/http_client.ts";
import { CALLS, CHAT, withProxy } from "./redirecting_proxy.ts";

/** API keys and strict budgets refuse what a provider or a proxy would take besides the model of the body. */

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
