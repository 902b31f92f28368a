import type { LanguageModelV4 } from "@ai-sdk/provider";
import { generateText, streamText } from "ai";
import { MockLanguageModelV4 } from "ai/test";
import assert from "node:assert/strict";
import { openDroppingServer } from "../../../tests/harness/dropping_server.ts";
import { createModelResolver, type ModelResolverOptions } from "./mod.ts";

const KEYS = {
  OPENAI_API_KEY: "openai-key",
  ANTHROPIC_API_KEY: "anthropic-key",
  GOOGLE_GENERATIVE_AI_API_KEY: "google-key",
};
const local = { baseUrl: "http://127.0.0.1:11434/v1/", apiKey: "local-key", headers: { "x-team": "a" } };

interface Sent {
  url: string;
  headers: Headers;
  body: Record<string, unknown>;
}

/** Calls a model and catches the request that it sends; no provider is reached. */
async function catchRequest(name: string, options: ModelResolverOptions, stream = false): Promise<Sent> {
  let sent: Sent | undefined;
  const { model } = await createModelResolver({
    ...options,
    fetch: (url, init) => {
      sent = {
        url: String(url),
        headers: new Headers(init?.headers),
        body: JSON.parse(String(init?.body)),
      };
      return Promise.resolve(Response.json({ error: { message: "no" } }, { status: 400 }));
    },
  }).resolve(name);
  const call = { model, prompt: "hi", maxRetries: 0 };
  if (stream) await streamText({ ...call, onError: () => {} }).consumeStream();
  else await assert.rejects(generateText(call));
  return sent!;
}

Deno.test("resolve() sends each provider's key to its own API", async () => {
  const google = "https://generativelanguage.googleapis.com/v1beta/models/gemini-2.5-flash:generateContent";
  const cases: [string, string, [string, string]][] = [
    ["openai:gpt-5-mini", "https://api.openai.com/v1/responses", ["authorization", "Bearer openai-key"]],
    ["openai.responses:gpt-5-mini", "https://api.openai.com/v1/responses", [
      "authorization",
      "Bearer openai-key",
    ]],
    ["openai.chat:gpt-4o", "https://api.openai.com/v1/chat/completions", [
      "authorization",
      "Bearer openai-key",
    ]],
    ["anthropic:claude-sonnet-4-5", "https://api.anthropic.com/v1/messages", ["x-api-key", "anthropic-key"]],
    ["google:gemini-2.5-flash", google, ["x-goog-api-key", "google-key"]],
    ["local:llama3:8b", "http://127.0.0.1:11434/v1/chat/completions", ["authorization", "Bearer local-key"]],
  ];
  for (const [name, url, [header, value]] of cases) {
    const sent = await catchRequest(name, { env: KEYS, providers: { local } });
    assert.equal(sent.url, url);
    assert.equal(sent.headers.get(header), value, name);
  }
});

Deno.test("resolve() takes base URLs from the environment it is given", async () => {
  const env = {
    ...KEYS,
    OPENAI_BASE_URL: "http://127.0.0.1:1/v1/",
    ANTHROPIC_BASE_URL: "http://127.0.0.1:2/v1",
    GOOGLE_GENERATIVE_AI_BASE_URL: "http://127.0.0.1:3/v1beta",
  };
  const cases = [
    ["openai:gpt-5", "http://127.0.0.1:1/v1/responses"],
    ["anthropic:claude-haiku-4-5", "http://127.0.0.1:2/v1/messages"],
    ["google:gemini-2.5-pro", "http://127.0.0.1:3/v1beta/models/gemini-2.5-pro:generateContent"],
  ] as const;
  for (const [name, url] of cases) assert.equal((await catchRequest(name, { env })).url, url);
  await assert.rejects(createModelResolver({ env: { ...KEYS, OPENAI_BASE_URL: "proxy" } }).resolve("gpt-5"), {
    code: "invalid",
    message: "Cannot use OPENAI_BASE_URL: it must be an http:// or https:// URL",
  });
});

Deno.test("resolve() asks a configured server for its usage and sends its headers", async () => {
  const { body, headers } = await catchRequest("local:my-model", { providers: { local } }, true);
  assert.equal(body.model, "my-model");
  assert.deepEqual(body.stream_options, { include_usage: true });
  assert.equal(headers.get("x-team"), "a");
  const { headers: keyless } = await catchRequest("free:m", {
    providers: { free: { baseUrl: "http://a/v1" } },
  });
  assert.equal(keyless.get("authorization"), null);
});

Deno.test("resolve() finds the provider of a bare name where it is clear", async () => {
  const resolver = createModelResolver({ env: KEYS });
  const cases: [string, string][] = [
    ["gpt-5-mini", "openai"],
    ["chatgpt-4o-latest", "openai"],
    ["o3", "openai"],
    ["o4-mini", "openai"],
    ["ft:gpt-4o-mini:acme::1", "openai"],
    ["claude-opus-4-5", "anthropic"],
    ["gemini-2.5-flash", "google"],
  ];
  for (const [name, provider] of cases) {
    const { model, paidWith, ...names } = await resolver.resolve(name);
    assert.deepEqual(names, { provider, modelId: name });
    assert.match(paidWith?.credential ?? "", new RegExp(`^${provider.toUpperCase()}.*_API_KEY$`));
    assert.match(paidWith?.keyHash ?? "", /^[0-9a-f]{16}$/);
    assert.equal(model.modelId, name);
  }
});

Deno.test("resolve() says how to write a name that is not clear", async () => {
  const resolver = createModelResolver({ env: KEYS, providers: { local } });
  const known = "known providers are openai, anthropic, google, demo, local";
  const cases: [string, string][] = [
    [
      "llama3",
      `Cannot use the model llama3: its provider is not clear; write it as PROVIDER:llama3; ${known}`,
    ],
    [
      "gpt-oss-20b",
      `Cannot use the model gpt-oss-20b: its provider is not clear; write it as PROVIDER:gpt-oss-20b; ${known}`,
    ],
    ["mistral:large", `Cannot use the model mistral:large: the provider mistral is not known; ${known}`],
    ["constructor:a", `Cannot use the model constructor:a: the provider constructor is not known; ${known}`],
    ["openai:", "Cannot use the model openai:: it names no model; write it as in openai:MODEL"],
    [
      "demo:chat",
      "Cannot use the model demo:chat: it does not exist; the demo models are demo:echo, demo:loop, demo:fail",
    ],
    [
      "gpt 5",
      "Cannot use the model: its name must be 1 to 200 characters without blanks, as in openai:gpt-6-luna",
    ],
  ];
  for (const [name, message] of cases) {
    await assert.rejects(resolver.resolve(name), { code: "invalid", message });
    assert.throws(() => createModelResolver({ providers: { local } }).check(name), {
      code: "invalid",
      message,
    });
  }
});

Deno.test("resolve() names the variable of a missing key", async () => {
  const resolver = createModelResolver({ env: { ANTHROPIC_API_KEY: "  " } });
  const cases = [["gpt-5", "OPENAI_API_KEY"], ["claude-x", "ANTHROPIC_API_KEY"], [
    "gemini-x",
    "GOOGLE_GENERATIVE_AI_API_KEY",
  ]] as const;
  for (const [name, variable] of cases) {
    await assert.rejects(resolver.resolve(name), {
      code: "invalid",
      message: new RegExp(`: ${variable} is not set; set it in the environment of Purser$`),
    });
  }
});

Deno.test("resolve() makes a model once", async () => {
  const resolver = createModelResolver({ env: KEYS });
  assert.equal(await resolver.resolve("gpt-5"), await resolver.resolve("gpt-5"));
  assert.equal((await resolver.resolve("demo:echo")).provider, "demo");
});

Deno.test("resolve() prefers a library user's models and books them under their names", async () => {
  const model: LanguageModelV4 = new MockLanguageModelV4({ provider: "acme.chat", modelId: "m-1" });
  const resolver = createModelResolver({ custom: { "openai:gpt-5": model, mine: model } });
  assert.deepEqual(await resolver.resolve("openai:gpt-5"), { provider: "openai", modelId: "gpt-5", model });
  assert.deepEqual(await resolver.resolve("mine"), { provider: "acme", modelId: "m-1", model });
  createModelResolver({ custom: { mine: model } }).check("mine");
  assert.throws(() => createModelResolver({}).check("mine"), { code: "invalid" });
});

Deno.test("check() needs no key", () => {
  for (const name of ["openai:gpt-5", "claude-x", "demo:loop", "local:a:b"]) {
    createModelResolver({ providers: { local } }).check(name);
  }
});

Deno.test("createModelResolver() refuses providers that take a built-in name or can't be named", () => {
  for (const name of ["demo", "openai", "anthropic", "google"]) {
    assert.throws(() => createModelResolver({ providers: { [name]: local } }), {
      code: "invalid",
      message: `Cannot add the provider ${name}: it is built in; choose another name`,
    });
  }
  assert.throws(() => createModelResolver({ providers: { "a:b": local } }), { code: "invalid" });
});

Deno.test("a model's requests reach its server once each, also where a reused connection ends without an answer", async () => {
  await using server = await openDroppingServer();
  const { model } = await createModelResolver({
    providers: { local: { baseUrl: server.url.replace(/\/$/, "") } },
    env: {},
  }).resolve("local:any");
  const prompt = [{ role: "user" as const, content: [{ type: "text" as const, text: "Hello" }] }];
  // The response is not that of a model, so that each request fails; the test counts the requests.
  for (let i = 0; i < 3; i++) await assert.rejects(Promise.resolve(model.doGenerate({ prompt })));
  assert.deepEqual(server.arrived, ["POST", "POST", "POST"]);
});
