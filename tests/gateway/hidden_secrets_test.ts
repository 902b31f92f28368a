import assert from "node:assert/strict";
import { openTestPurser, type TestPurser } from "../harness/test_purser.ts";
import { startPlainProvider } from "./plain_provider.ts";
import { readCalls } from "./requests.ts";

/** The server's credentials, which a provider repeats: no client gets them, and every other byte stays as it is. */

const KEYS = {
  openai: "sk-proj-Ab12_Cd34-Ef56Gh78Ij90",
  anthropic: "sk-ant-api03-Zz98Yy76Xx54",
  google: "AIzaSyMARKED0123456789abcdef",
  lite: 'k"e/y+=&<é>-0123456789',
};
const TOKEN = "tok_0123456789abcdef";
const SECRET = "caf\u00e9-0123456789";
const PASSWORD = "pass-word-0123456789";
const HIDDEN = "[redacted:configured_secret]";

const bytesOf = (text: string) => new TextEncoder().encode(text);
const base64 = (text: string) => btoa(String.fromCharCode(...bytesOf(text)));

/** The forms in which an answer may have a value. */
const FORMS: Record<string, (value: string) => string> = {
  "as it is": (value) => value,
  "escaped as JSON": (value) => JSON.stringify(value).slice(1, -1),
  "escaped as JSON, in ASCII": (value) =>
    JSON.stringify(value).slice(1, -1)
      .replace(/[^ -~]/g, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`),
  "URL-encoded": encodeURIComponent,
  "in base64": base64,
};

/** The text around a value: characters of one to four bytes, and an end that begins like a key. */
const AROUND: [before: string, after: string] = ['{"a":"é\u2028😀 sk-pr ', ' sk-proj-Ab12 \u0000","b":1.00}'];

interface Case {
  name: keyof typeof KEYS;
  path: string;
  body?: object;
}

const MESSAGES = [{ role: "user", content: "Hi" }];
const CASES: Case[] = [
  { name: "openai", path: "/openai/v1/chat/completions", body: { model: "gpt-4o-mini", messages: MESSAGES } },
  { name: "openai", path: "/openai/v1/responses", body: { model: "gpt-4o-mini", input: "Hi" } },
  { name: "openai", path: "/openai/v1/models" },
  {
    name: "anthropic",
    path: "/anthropic/v1/messages",
    body: { model: "claude-haiku-4-5", max_tokens: 9, messages: MESSAGES },
  },
  {
    name: "anthropic",
    path: "/anthropic/v1/messages/count_tokens",
    body: { model: "claude-haiku-4-5", messages: MESSAGES },
  },
  { name: "google", path: "/gemini/v1beta/models/gemini-2.5-flash:generateContent", body: { contents: [] } },
  { name: "lite", path: "/lite/v1/chat/completions", body: { model: "m", messages: MESSAGES } },
  { name: "lite", path: "/lite/v1/embeddings", body: { model: "m", input: "Hi" } },
];

async function withProvider(
  test: (
    gateway: {
      purser: TestPurser;
      answer(next: () => Response): void;
      send(one: Pick<Case, "path" | "body">): Promise<Response>;
    },
  ) => Promise<void>,
): Promise<void> {
  let answer = () => new Response();
  await using provider = startPlainProvider(() => answer());
  const { openai, anthropic, google, compatible } = provider.baseUrls;
  await using purser = await openTestPurser({
    env: {
      ...{ OPENAI_API_KEY: KEYS.openai, OPENAI_BASE_URL: openai },
      ...{ ANTHROPIC_API_KEY: KEYS.anthropic, ANTHROPIC_BASE_URL: anthropic },
      ...{ GOOGLE_GENERATIVE_AI_API_KEY: KEYS.google, GOOGLE_GENERATIVE_AI_BASE_URL: google },
    },
    config: {
      providers: {
        lite: {
          baseUrl: `${compatible}?api_key=${PASSWORD}&api-version=2025-04-01-preview`,
          apiKey: encodeURIComponent(KEYS.lite),
          headers: { "x-auth-token": `Bearer ${TOKEN}`, "x-team": "team-0123456789", "x-secret": SECRET },
        },
        local: { baseUrl: compatible, apiKey: "placeholder" },
        "lm-studio": { baseUrl: compatible, apiKey: "lm-studio" },
      },
    },
  });
  await test({
    purser,
    answer: (next) => void (answer = next),
    send: async ({ path, body }) =>
      await purser.app.request(path, {
        method: body ? "POST" : "GET",
        ...(body && { body: JSON.stringify(body) }),
      }),
  });
}

for (const status of [200, 201, 400, 402, 403, 404, 429, 500, 503, 529]) {
  Deno.test(`in an answer with the status ${status}, the server's key is replaced in body and headers, and no other byte`, () =>
    withProvider(async ({ answer, send }) => {
      const [before, after] = AROUND;
      for (const one of CASES) {
        const key = one.name === "lite" ? encodeURIComponent(KEYS.lite) : KEYS[one.name];
        for (const [form, encode] of Object.entries(FORMS)) {
          const written = encode(key);
          answer(() =>
            new Response(before + written + after, {
              status,
              headers: {
                "content-type": "application/json",
                "x-echo": `a ${written} b`,
                "x-request-id": "req_1",
                "link": `<https://a/?k:${written}>; rel=next`,
              },
            })
          );
          const response = await send(one);
          const what = `${one.path}, ${form}`;
          assert.equal(response.status, status, what);
          const bytes = new Uint8Array(await response.arrayBuffer());
          assert.deepEqual(bytes, bytesOf(before + HIDDEN + after), what);
          assert.equal(response.headers.get("x-echo"), `a ${HIDDEN} b`, what);
          assert.equal(response.headers.get("x-request-id"), "req_1");
          assert.equal(response.headers.get("link"), `<https://a/?k:${HIDDEN}>; rel=next`, what);
        }
      }
    }));
}

Deno.test("an answer without a credential passes byte for byte, also one that is no text", () =>
  withProvider(async ({ answer, send }) => {
    const bytes = Uint8Array.from({ length: 70_000 }, (_, index) => index * 7 % 256);
    for (const one of CASES) {
      answer(() => new Response(bytes, { headers: { "content-type": "application/octet-stream" } }));
      assert.deepEqual(new Uint8Array(await (await send(one)).arrayBuffer()), bytes, one.path);
    }
  }));

Deno.test("the length of an answer is that of what is left of it", () =>
  withProvider(async ({ purser, answer, send }) => {
    answer(() =>
      Response.json({ error: { message: `Incorrect API key provided: ${KEYS.openai}` } }, { status: 400 })
    );
    const { serve } = await import("../../src/http/server/mod.ts");
    const server = await serve(purser.core, purser.app, { host: "127.0.0.1", port: 0 });
    const response = await fetch(`${server.url}/openai/v1/chat/completions`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(CASES[0]!.body),
    });
    const text = await response.text();
    assert.equal(text, `{"error":{"message":"Incorrect API key provided: ${HIDDEN}"}}`);
    assert.equal(response.headers.get("content-length"), String(text.length));
    await server.shutdown();
    assert.equal((await send(CASES[0]!)).status, 400);
  }));

Deno.test("credentials in the headers and the address of a configured provider are replaced, and nothing else of them", () =>
  withProvider(async ({ answer, send }) => {
    const shown = "api-version=2025-04-01-preview team-0123456789";
    answer(() => new Response(`${TOKEN} ${PASSWORD} ${SECRET} \u00e9 ${shown}`));
    const response = await send({ path: "/lite/v1/chat/completions", body: { model: "m", messages: [] } });
    assert.equal(await response.text(), `${HIDDEN} ${HIDDEN} ${HIDDEN} \u00e9 ${shown}`);
  }));

Deno.test("the key of a server that needs none, such as its name or a word, is no secret in its answers", () =>
  withProvider(async ({ answer, send }) => {
    const html = '<input placeholder="lm-studio">';
    answer(() => new Response(html));
    for (const name of ["local", "lm-studio"]) {
      const response = await send({
        path: `/${name}/v1/chat/completions`,
        body: { model: "m", messages: [] },
      });
      assert.equal(await response.text(), html, name);
    }
  }));

Deno.test("in a stream, a credential is replaced that is within one event, however its bytes arrive", () =>
  withProvider(async ({ purser, answer, send }) => {
    const events = [
      `data: {"choices":[{"index":0,"delta":{"content":"é ${KEYS.openai} 😀"}}]}\n\n`,
      `: ${KEYS.openai}\n\n`,
      `event: error\r\ndata: {"error":{"message":"Incorrect API key provided: ${KEYS.openai}"}}\r\n\r\n`,
      `data: {"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":2}}\n\n`,
      "data: [DONE]\n\n",
    ];
    const bytes = bytesOf(events.join(""));
    const expected = events.join("").replaceAll(KEYS.openai, HIDDEN);
    const body = {
      ...CASES[0]!.body,
      stream: true,
      stream_options: { include_usage: true },
    };
    for (const size of [1, 2, 3, 7, 50, 100_000]) {
      answer(() => {
        let at = 0;
        const source = new ReadableStream<Uint8Array>({
          pull(controller) {
            if (at >= bytes.length) return controller.close();
            controller.enqueue(bytes.slice(at, at += size));
          },
        });
        return new Response(source, {
          headers: { "content-type": "text/event-stream", "x-echo": KEYS.openai },
        });
      });
      const response = await send({ path: CASES[0]!.path, body });
      assert.equal(await response.text(), expected, `${size} bytes at a time`);
      assert.equal(response.headers.get("x-echo"), HIDDEN);
    }
    assert.equal((await readCalls(purser)).length, 6);
    const list = `[{"candidates":[{"content":{"parts":[{"text":"${KEYS.google}"}]},"finishReason":"STOP"}],` +
      '"usageMetadata":{"promptTokenCount":1,"candidatesTokenCount":1}}]';
    answer(() => new Response(list, { headers: { "content-type": "application/json" } }));
    const path = "/gemini/v1beta/models/gemini-2.5-flash:streamGenerateContent";
    assert.equal(
      await (await send({ path, body: { contents: [] } })).text(),
      list.replace(KEYS.google, HIDDEN),
    );
  }));

Deno.test("no status but 304 that begins with 3 reaches a client, and no header that leads it elsewhere", () =>
  withProvider(async ({ answer, send }) => {
    for (const one of CASES) {
      for (const status of [300, 301, 302, 303, 305, 306, 307, 308, 399]) {
        answer(() => new Response(null, { status, headers: { location: "https://evil.example/v1" } }));
        const response = await send(one);
        const text = await response.text();
        assert.equal(response.status, 502, `${one.path} ${status}`);
        assert.match(text, /redirects to https:\/\/evil\.example, which is not followed/);
        assert.equal(response.headers.get("location"), null);
      }
      for (const status of [200, 201, 400, 503]) {
        const headers = {
          "location": "https://evil.example/v1",
          "content-location": "https://evil.example/v1",
          "refresh": "0;url=https://evil.example",
          "x-accel-redirect": "/internal",
          "x-sendfile": "/etc/passwd",
          "retry-after": "3",
        };
        answer(() => Response.json({}, { status, headers }));
        const response = await send(one);
        await response.body?.cancel();
        assert.deepEqual(
          Object.keys(headers).filter((name) => response.headers.has(name)),
          ["retry-after"],
          `${one.path} ${status}`,
        );
      }
    }
  }));
