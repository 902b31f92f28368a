import assert from "node:assert/strict";
import { type Check, check } from "./harness/doctor.ts";
import { openTestPurser } from "./harness/test_purser.ts";

/** The doctor requests the models of each provider. */

const RESTART = "Correct its key or its base URL in the settings of Purser, and restart it";

/** A `fetch` that answers each provider's request for its models, and keeps it. */
function fakeModels(answer: (url: URL) => Response | Promise<Response>) {
  const requests: { url: URL; headers: Headers }[] = [];
  const fetch = (async (input: string, init: RequestInit) => {
    const url = new URL(input);
    requests.push({ url, headers: new Headers(init.headers) });
    return await answer(url);
  }) as typeof globalThis.fetch;
  return { requests, fetch };
}

const ENV = {
  OPENAI_API_KEY: "sk-secret1",
  ANTHROPIC_API_KEY: "sk-secret2",
  GOOGLE_GENERATIVE_AI_API_KEY: "secret3",
};

Deno.test("the models of each provider with a key, and of each in the config, are requested with its own key", async () => {
  const { requests, fetch } = fakeModels(() => Response.json({ data: [] }));
  const providers = {
    local: { baseUrl: "http://10.1.2.3:11434/v1" },
    proxy: { baseUrl: "https://llm.example.com/v1/", apiKey: "secret4", headers: { "x-team": "a" } },
  };
  await using purser = await openTestPurser({ env: ENV, fetch, config: { providers } });
  const { body } = await purser.api("GET", "/doctor");
  const found: Check[] = body.filter(({ name }: Check) => name.startsWith("provider "));
  assert.deepEqual(found.map(({ name, status, detail }) => [name, status, detail]), [
    ["provider openai", "ok", "api.openai.com answers, and accepts its key"],
    ["provider anthropic", "ok", "api.anthropic.com answers, and accepts its key"],
    ["provider google", "ok", "generativelanguage.googleapis.com answers, and accepts its key"],
    ["provider local", "ok", "10.1.2.3:11434 answers"],
    ["provider proxy", "ok", "llm.example.com answers, and accepts its key"],
  ]);
  const sent = new Map(requests.map(({ url, headers }) => [url.href, Object.fromEntries(headers)]));
  assert.deepEqual(Object.fromEntries(sent), {
    "https://api.openai.com/v1/models": { authorization: "Bearer sk-secret1" },
    "https://api.anthropic.com/v1/models?limit=1": {
      "anthropic-version": "2023-06-01",
      "x-api-key": "sk-secret2",
    },
    "https://generativelanguage.googleapis.com/v1beta/models?pageSize=1": { "x-goog-api-key": "secret3" },
    "http://10.1.2.3:11434/v1/models": {},
    "https://llm.example.com/v1/models": { authorization: "Bearer secret4", "x-team": "a" },
  });
  assert.doesNotMatch(JSON.stringify(body), /secret\d/);
});

for (
  const [title, env, answer, expected] of [
    ["a refused key", { OPENAI_API_KEY: "sk-1" }, () => new Response("", { status: 401 }), {
      name: "provider openai",
      status: "failed",
      detail: "api.openai.com refuses its key (status 401)",
      advice: RESTART,
    }],
    [
      "Google's refusal of a key",
      { GOOGLE_GENERATIVE_AI_API_KEY: "1" },
      () => new Response("", { status: 400 }),
      {
        name: "provider google",
        status: "failed",
        detail: "generativelanguage.googleapis.com refuses its key (status 400)",
        advice: RESTART,
      },
    ],
    ["a malformed key", { OPENAI_API_KEY: "sk 1" }, () => assert.fail(), {
      name: "provider openai",
      status: "failed",
      detail: "Cannot use the provider openai: OPENAI_API_KEY holds blanks or characters that no key has",
      advice: RESTART,
    }],
    [
      "no connection",
      { OPENAI_API_KEY: "sk-hunter2" },
      () => Promise.reject(new TypeError("no route for sk-hunter2")),
      {
        name: "provider openai",
        status: "warning",
        detail: "it can't be reached: no route for [redacted:configured_secret]",
        advice: "Check its base URL, and the network of the machine",
      },
    ],
    [
      "a base URL without its version",
      {
        ANTHROPIC_API_KEY: "sk-1",
        ANTHROPIC_BASE_URL: "https://api.anthropic.com",
      },
      () => new Response("", { status: 404 }),
      {
        name: "provider anthropic",
        status: "warning",
        detail: "api.anthropic.com answers a request for its models with status 404",
        advice: "Check the path of its base URL, which ends with the version",
      },
    ],
    ["a redirect", { OPENAI_API_KEY: "sk-1" }, () => Response.redirect("https://other.example.com/"), {
      name: "provider openai",
      status: "warning",
      detail:
        "it can't be reached: Cannot get an answer from the provider: https://api.openai.com redirects to " +
        "https://other.example.com, which is not followed; set its base URL to the address that answers",
      advice: "Check its base URL, and the network of the machine",
    }],
  ] as const
) {
  Deno.test(`the doctor reports ${title}`, async () => {
    const { fetch } = fakeModels(answer);
    await using purser = await openTestPurser({ env, fetch });
    assert.deepEqual(await check(purser, expected.name), expected);
  });
}

Deno.test("a provider that does not answer is waited for 5 s", async () => {
  const asked = Promise.withResolvers<void>();
  const fetch = (_: unknown, init?: RequestInit) =>
    new Promise<Response>((_, reject) => {
      init!.signal!.addEventListener("abort", () => reject(init!.signal!.reason));
      asked.resolve();
    });
  await using purser = await openTestPurser({ env: { OPENAI_API_KEY: "sk-1" }, fetch });
  const found = check(purser, "provider openai");
  await asked.promise;
  purser.clock.advance(5_000);
  const { status, detail } = await found;
  assert.deepEqual([status, detail], ["warning", "it can't be reached: no answer within 5 s"]);
});

Deno.test("a provider whose address is this server's is a failed check, and is not called", async () => {
  const { requests, fetch } = fakeModels(() => Response.json({}));
  const settings = { host: "127.0.0.1", port: 8420 };
  const env = { OPENAI_API_KEY: "psr_1", OPENAI_BASE_URL: "http://localhost:8420/openai/v1" };
  await using purser = await openTestPurser({ env, fetch, config: settings });
  assert.deepEqual(await check(purser, "provider openai"), {
    name: "provider openai",
    status: "failed",
    detail: "OPENAI_BASE_URL is the address of this server: each call would call itself",
    advice: "Unset it in the environment of the server: it is for its clients",
  });
  assert.equal(requests.length, 0);
});
