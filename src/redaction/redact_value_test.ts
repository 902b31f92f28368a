import assert from "node:assert/strict";
import fc from "#dev/fast_check.ts";
import { type Found, redactValue } from "./mod.ts";

/** Put together here, so that no scanner of repositories takes it for a real one. */
const KEY = "sk-" + "ant-api03-" + "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7x".repeat(3);
const RANDOM = "q7Rk2VxT9mLz4HbW8nYc3JfPs6DgKe1A";
const IMAGE = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk";

function redact<T>(value: T): { value: T; found: Record<string, number> } {
  const found: Found = new Map();
  const redacted = redactValue(value, found) as T;
  return { value: redacted, found: Object.fromEntries(found) };
}

Deno.test("redactValue() replaces credentials in a message's text and reasoning, and counts them by kind", () => {
  const message = (text: string) => ({
    id: "msg_01jd8f3k2m4n5p6q7r8s9t0v1w",
    created_at: "2026-01-01T00:00:00.000Z",
    role: "assistant",
    content: [{ type: "text", text: `Use ${text} and ${text}` }, {
      type: "reasoning",
      text: `password=${text}`,
    }],
  });
  assert.deepEqual(redact(message(KEY)), {
    value: message("[redacted:anthropic_key]"),
    found: { anthropic_key: 3 },
  });
  assert.deepEqual(redact({ role: "user", content: `My key: ${KEY}` }).value, {
    role: "user",
    content: "My key: [redacted:anthropic_key]",
  });
});

Deno.test("redactValue() replaces every string of a tool's input and output, by its key too", () => {
  const call = (values: unknown[]) => ({
    role: "assistant",
    content: [{
      type: "tool-call",
      toolCallId: RANDOM,
      toolName: "http",
      input: {
        model: values[0],
        headers: { Authorization: values[1], "x-api-key": values[2] },
        env: [{ name: "DB_PASSWORD", value: values[3] }],
        passwords: [values[4], ""],
        retries: 3,
        nested: [[{ type: values[0] }]],
        json: values[5],
      },
    }],
  });
  const written = [
    RANDOM,
    "Bearer hunter2",
    "hunter2",
    "correct horse",
    "swordfish",
    '{"password":"hunter2"}',
  ];
  const expected = [
    "[redacted:high_entropy_token]",
    "Bearer [redacted:authorization_header]",
    "[redacted:named_secret]",
    "[redacted:named_secret]",
    "[redacted:named_secret]",
    '{"password":"[redacted:named_secret]"}',
  ];
  assert.deepEqual(redact(call(written)), {
    value: call(expected),
    found: { high_entropy_token: 2, authorization_header: 1, named_secret: 4 },
  });

  const result = (output: unknown) => ({
    role: "tool",
    content: [{ type: "tool-result", toolCallId: RANDOM, toolName: "http", output }],
  });
  const outputs = (secret: string) => [
    { type: "text", value: `token: ${secret}` },
    { type: "json", value: { session: { client_secret: secret } } },
    { type: "error-text", value: secret },
    { type: "error-json", value: [secret] },
    { type: "content", value: [{ type: "text", text: secret }] },
  ];
  for (const [i, output] of outputs(KEY).entries()) {
    assert.deepEqual(redact(result(output)).value, result(outputs("[redacted:anthropic_key]")[i]));
  }
});

Deno.test("redactValue() keeps structural fields, so that a session can continue", () => {
  const message = {
    id: RANDOM,
    created_at: "2026-01-01T00:00:00.000Z",
    role: "tool",
    content: [{
      type: "tool-result",
      toolCallId: RANDOM,
      toolName: RANDOM,
      output: { type: "text", value: "sunny" },
    }],
  };
  const event = {
    seq: 3,
    type: "model.called",
    at: "2026-01-01T00:00:00.000Z",
    agent_id: RANDOM,
    session_id: RANDOM,
    run_id: RANDOM,
    call_id: RANDOM,
    payload: {
      model: RANDOM,
      call_id: RANDOM,
      message_id: RANDOM,
      input: "hello",
      definition: { agent_id: RANDOM, name: "a", model: RANDOM, system_prompt: "Be kind." },
      tool_calls: [{ tool_call_id: RANDOM, tool_name: RANDOM, input: {} }],
    },
  };
  for (const value of [message, event, event.payload.definition]) {
    assert.equal(redactValue(value, new Map()), value);
  }
});

Deno.test("redactValue() replaces credentials in an event's payload and in an agent's prompt", () => {
  const event = (secret: string) => ({
    type: "tool.returned",
    call_id: null,
    payload: {
      tool_call_id: RANDOM,
      output: { model: secret, role: secret },
      error: `Cannot log in with ${secret}`,
      tool_calls: [{ tool_call_id: RANDOM, input: { type: secret } }],
      definition: { agent_id: RANDOM, system_prompt: `Log in with ${secret}`, tools: [] },
    },
  });
  assert.deepEqual(redact(event(RANDOM)), {
    value: event("[redacted:high_entropy_token]"),
    found: { high_entropy_token: 5 },
  });
});

Deno.test("redactValue() keeps what providers sign or encrypt, except keys of a known format", () => {
  const part = (key: string) => ({
    type: "reasoning",
    text: "Hm.",
    providerOptions: {
      anthropic: { signature: RANDOM + RANDOM },
      openai: { itemId: `rs_${RANDOM}`, reasoningEncryptedContent: RANDOM.repeat(9), note: key },
    },
  });
  const message = (key: string) => ({
    role: "assistant",
    content: [part(key)],
    providerOptions: { openai: { promptCacheKey: RANDOM, token: RANDOM } },
  });
  assert.deepEqual(redact(message(KEY)), {
    value: message("[redacted:anthropic_key]"),
    found: { anthropic_key: 1 },
  });
});

Deno.test("redactValue() keeps the data of images and files, but neither their URLs nor their texts", () => {
  const content = [
    { type: "image", image: IMAGE, mediaType: "image/png" },
    { type: "image", image: `data:image/png;base64,${IMAGE}` },
    { type: "file", data: IMAGE, mediaType: "application/pdf", filename: "a.pdf" },
    { type: "file", data: { type: "data", data: IMAGE }, mediaType: "application/pdf" },
    {
      type: "tool-result",
      toolCallId: "1",
      toolName: "draw",
      output: {
        type: "content",
        value: [
          { type: "media", data: IMAGE, mediaType: "image/png" },
          { type: "image-data", data: IMAGE, mediaType: "image/png" },
          { type: "file-data", data: IMAGE, mediaType: "image/png" },
        ],
      },
    },
  ];
  const message = { role: "user", content };
  assert.equal(redactValue(message, new Map()), message);

  const shown = (secret: string) => [
    { type: "image", image: `https://user:${secret}@example.com/a.png` },
    {
      type: "file",
      data: { type: "url", url: `https://user:${secret}@example.com/a.pdf` },
      mediaType: "text/plain",
    },
    { type: "file", data: { type: "text", text: `password: ${secret}1` }, mediaType: "text/plain" },
  ];
  const redacted = JSON.stringify(redact(shown("hunter2")).value);
  assert.ok(!redacted.includes("hunter2"), redacted);
});

Deno.test("redactValue() keeps placeholders, empty values, and non-text values of sensitive keys", () => {
  const value = {
    role: "user",
    content: [{
      type: "tool-call",
      input: {
        password: "",
        api_key: "${API_KEY}",
        secret: null,
        token: 42,
        client_secret: ["****"],
        apiKey: {},
      },
    }],
  };
  assert.equal(redactValue(value, new Map()), value);
});

Deno.test("redactValue() never changes a key, not even a credential or a special name of JavaScript", () => {
  const input = JSON.parse(`{"${KEY}": 1, "__proto__": {"password": "hunter2"}, "constructor": "${KEY}"}`);
  const { input: redacted } = redact({ input }).value;
  assert.deepEqual(Object.keys(redacted), [KEY, "__proto__", "constructor"]);
  assert.equal(
    JSON.stringify(redacted),
    `{"${KEY}":1,"__proto__":{"password":"[redacted:named_secret]"},"constructor":"[redacted:anthropic_key]"}`,
  );
});

Deno.test("redactValue() returns the same value where nothing is redacted, and shares unchanged parts", () => {
  const harmless = { type: "text", text: "hello" };
  const value = { role: "user", content: [harmless, { type: "text", text: KEY }] };
  assert.equal(redact(value).value.content[0], harmless);
  assert.equal(value.content[1]!.text, KEY);
  fc.assert(fc.property(fc.jsonValue(), (json) => {
    const found: Found = new Map();
    const redacted = redactValue(json, found);
    if (found.size === 0) assert.equal(redacted, json);
    const again: Found = new Map();
    assert.equal(redactValue(redacted, again), redacted);
    assert.equal(again.size, 0);
  }));
});
