import assert from "node:assert/strict";
import { fakeEnvironment, openTestPurser, type TestPurser } from "../harness/test_purser.ts";
import { answerTo } from "../harness/answers.ts";
import { type FakeProvider, startFakeProvider } from "../harness/fake_provider.ts";
import { makeKey, openHttpClient } from "../harness/http_client.ts";
import { readCalls } from "./requests.ts";

const CHAT = { model: "gpt-4o-mini", messages: [{ role: "user", content: "Hi" }] };
const MESSAGES = { model: "claude-sonnet-4-5", max_tokens: 64, messages: CHAT.messages };
const CONTENTS = { contents: [{ role: "user", parts: [{ text: "Hi" }] }] };

async function withGateway(
  test: (
    gateway: { purser: TestPurser; fake: FakeProvider; send: ReturnType<typeof openHttpClient>["raw"] },
  ) => Promise<void>,
): Promise<void> {
  await using fake = await startFakeProvider((request) => answerTo(request, { text: "Hello" }));
  await using purser = await openTestPurser({ fake });
  await test({ purser, fake, send: openHttpClient(purser).raw });
}

const json = async (response: Response) => ({ status: response.status, body: await response.json() });

Deno.test("a key in the header of any wire is the caller's, and reaches no provider", () =>
  withGateway(async ({ purser, fake, send }) => {
    const { key, keyId } = await makeKey(purser, ["call"], { name: "laptop", agent_id: "coder" });
    const requests: [string, unknown, Record<string, string>][] = [
      ["/v1/chat/completions", CHAT, { authorization: `Bearer ${key}` }],
      ["/v1/messages?beta=true", MESSAGES, { "x-api-key": key, "anthropic-version": "2023-06-01" }],
      ["/v1/messages", MESSAGES, { authorization: `Bearer ${key}`, "x-api-key": key }],
      ["/v1beta/models/gemini-2.5-flash:generateContent", CONTENTS, { "x-goog-api-key": key }],
      ["/v1/chat/completions", CHAT, { authorization: `Bearer ${key}`, "api-key": key }],
      ["/v1/messages", MESSAGES, { authorization: "", "x-api-key": key }],
      ["/v1/messages", MESSAGES, { authorization: "Bearer ", "x-api-key": key }],
    ];
    for (const [path, body, headers] of requests) {
      const response = await send("POST", path, { body, headers });
      assert.equal(response.status, 200, await response.text());
      const sent = JSON.stringify(fake.requests.at(-1)!.headers);
      assert.ok(!sent.includes("psr_"), sent);
    }
    const calls = await readCalls(purser);
    assert.deepEqual(calls.map(({ agent }) => agent), requests.map(() => "coder"));
    const { rows } = await purser.core.store.read({ sql: "SELECT DISTINCT key_id FROM calls" });
    assert.deepEqual(rows, [[keyId]]);
  }));

Deno.test("errors have the form of each wire, and say whether to send the request again", () =>
  withGateway(async ({ purser, send }) => {
    await makeKey(purser, ["call"]);
    const openai = await send("POST", "/v1/chat/completions", { body: CHAT });
    assert.equal(openai.headers.get("x-should-retry"), "false");
    const { error } = (await json(openai)).body;
    assert.match(error.message, /^Cannot answer without an API key/);
    assert.deepEqual({ ...error, message: "" }, {
      message: "",
      type: "authentication_error",
      param: null,
      code: "unauthorized",
    });
    const anthropic = await json(await send("POST", "/v1/messages", { body: MESSAGES }));
    assert.equal(anthropic.status, 401);
    assert.equal(anthropic.body.type, "error");
    assert.equal(anthropic.body.error.type, "authentication_error");
    const gemini = await json(
      await send("POST", "/gemini/v1beta/models/gemini-2.5-flash:generateContent", { body: CONTENTS }),
    );
    assert.equal(gemini.body.error.code, 401);
    assert.equal(gemini.body.error.status, "UNAUTHENTICATED");
  }));

Deno.test("two different keys, and a key in the address, are refused", () =>
  withGateway(async ({ purser, send }) => {
    const { key } = await makeKey(purser, ["call"]);
    const other = await makeKey(purser, ["call"]);
    const two = await send("POST", "/v1/messages", {
      body: MESSAGES,
      headers: { authorization: `Bearer ${key}`, "x-api-key": other.key },
    });
    assert.equal(two.status, 401);
    assert.match((await two.json()).error.message, /hold different ones/);
    const inAddress = await send("POST", `/v1beta/models/gemini-2.5-flash:generateContent?key=${key}`, {
      body: CONTENTS,
    });
    assert.equal(inAddress.status, 400);
    assert.match((await inAddress.json()).error.message, /send it as x-goog-api-key/);
  }));

Deno.test("the scope call is for models alone, and no other scope but admin calls them", () =>
  withGateway(async ({ purser, fake, send }) => {
    const call = await makeKey(purser, ["call"]);
    for (const path of ["/agents", "/costs", "/sessions", "/budgets", "/keys", "/events"]) {
      assert.equal((await send("GET", path, { key: call.key })).status, 403, path);
    }
    for (const scope of ["read", "run"] as const) {
      const { key } = await makeKey(purser, [scope]);
      const refused = await send("POST", "/v1/chat/completions", { key, body: CHAT });
      assert.equal(refused.status, 403, scope);
      assert.equal((await refused.json()).error.type, "permission_error");
    }
    assert.equal(fake.calls, 0);
    const admin = await makeKey(purser, ["admin"]);
    assert.equal((await send("POST", "/v1/chat/completions", { key: admin.key, body: CHAT })).status, 200);
  }));

Deno.test("a key of some models calls no other one", () =>
  withGateway(async ({ purser, fake, send }) => {
    const { body } = await purser.api("POST", "/keys", {
      name: "cheap",
      scopes: ["call"],
      models: ["gpt-4o-mini", "claude-*"],
    });
    assert.deepEqual(body.models, ["gpt-4o-mini", "claude-*"]);
    const { key } = body;
    assert.equal((await send("POST", "/v1/chat/completions", { key, body: CHAT })).status, 200);
    assert.equal((await send("POST", "/v1/messages", { key, body: MESSAGES })).status, 200);
    const dear = await send("POST", "/v1/chat/completions", { key, body: { ...CHAT, model: "gpt-4o" } });
    assert.equal(dear.status, 403);
    assert.match((await dear.json()).error.message, /may call gpt-4o-mini, claude-\* only/);
    const gemini = await send("POST", "/v1beta/models/gemini-2.5-pro:generateContent", {
      key,
      body: CONTENTS,
    });
    assert.equal(gemini.status, 403);
    assert.equal(fake.calls, 2);
  }));

Deno.test("headers and the key name the agent, the session, the run and the tags of a call", () =>
  withGateway(async ({ purser, send }) => {
    const open = await makeKey(purser, ["call"], { name: "Ada's laptop" });
    const narrow = await makeKey(purser, ["call"], { agent_id: "coder" });
    const session = "0b4a9c1e-8d63-4a8f-9f6f-6f2a3b1c2d3e";
    const rows: [string, Record<string, string>, [string, string | null, string | null]][] = [
      [open.key, {}, ["Ada-s-laptop-", null, null]],
      [open.key, { "x-purser-agent": "helper" }, ["helper", null, null]],
      [open.key, { "x-claude-code-session-id": session }, ["Ada-s-laptop-", session, null]],
      [open.key, { "session-id": "one", "x-purser-session": "two" }, ["Ada-s-laptop-", "two", null]],
      [narrow.key, { "session-id": session }, ["coder", `coder:${session}`, null]],
      [narrow.key, { "x-purser-session": "coder:a", "x-purser-run": "r1" }, ["coder", "coder:a", "coder:r1"]],
    ];
    for (const [key, headers, [agent, id, run]] of rows) {
      const response = await send("POST", "/v1/chat/completions", { key, body: CHAT, headers });
      assert.equal(response.status, 200, await response.text());
      const call = (await readCalls(purser)).at(-1)!;
      assert.ok(call.agent.startsWith(agent), call.agent);
      assert.deepEqual([call.session, call.run], [id, run]);
    }
    const long = "x".repeat(300);
    await send("POST", "/v1/chat/completions", {
      key: open.key,
      body: CHAT,
      headers: { "x-session-id": long },
    });
    assert.match((await readCalls(purser)).at(-1)!.session!, /^x{80}-[0-9a-f]{16}$/);
    const tags = { "x-purser-tags": "customer=acme, team=search" };
    await send("POST", "/v1/chat/completions", { key: open.key, body: CHAT, headers: tags });
    const { rows: tagged } = await purser.core.store.read({
      sql: "SELECT tags FROM calls ORDER BY position DESC LIMIT 1",
    });
    assert.deepEqual(tagged, [['{"customer":"acme","team":"search"}']]);
  }));

Deno.test("a key of one agent adds to no session or run of another, whatever their names have in common", () =>
  withGateway(async ({ purser, send }) => {
    const [short, long] = await Promise.all(
      ["team", "team:web"].map((agent_id) => makeKey(purser, ["call"], { agent_id })),
    );
    const name = async (key: string, id: string) => {
      const headers = { "x-purser-session": id, "x-purser-run": id };
      assert.equal((await send("POST", "/v1/chat/completions", { key, body: CHAT, headers })).status, 200);
      const { session, run } = (await readCalls(purser)).at(-1)!;
      assert.equal(run, session);
      return session;
    };
    assert.equal(await name(long!.key, "chat"), "team:web:chat");
    assert.equal(await name(long!.key, "team:web:chat"), "team:web:chat");
    assert.match((await name(short!.key, "team:web:chat"))!, /^team:web-chat-[0-9a-f]{16}$/);
    assert.match((await name(short!.key, "web:chat"))!, /^team:web-chat-[0-9a-f]{16}$/);
  }));

Deno.test("labels that can't be read are refused, and so is another agent than the key's", () =>
  withGateway(async ({ purser, fake, send }) => {
    const { key } = await makeKey(purser, ["call"], { agent_id: "coder" });
    const wrong: [Record<string, string>, number, RegExp][] = [
      [{ "x-purser-agent": "other" }, 403, /this API key is for agent coder only/],
      [{ "x-purser-agent": "not a name" }, 400, /header x-purser-agent/],
      [{ "x-purser-run": "a b" }, 400, /header x-purser-run/],
      [{ "x-purser-tags": "acme" }, 400, /write it as customer=acme/],
      [{ "x-purser-tags": "{" }, 400, /not JSON/],
    ];
    for (const [headers, status, message] of wrong) {
      const response = await send("POST", "/v1/chat/completions", { key, body: CHAT, headers });
      assert.equal(response.status, status);
      assert.match((await response.json()).error.message, message);
    }
    assert.equal(fake.calls, 0);
  }));

Deno.test("what can't be booked is refused with what to do instead", () =>
  withGateway(async ({ fake, purser }) => {
    const wrong: [string, unknown, number, RegExp][] = [
      ["/v1/files", {}, 404, /its cost could not be booked/],
      ["/v1/messages/batches", {}, 404, /Call the provider directly/],
      ["/v1/responses", { model: "gpt-4o-mini", input: "Hi", background: true }, 400, /"background": true/],
      ["/v1/chat/completions", "[]", 400, /its body has to be a JSON object/],
      ["/v1/chat/completions", "{", 400, /its body has to be a JSON object/],
      ["/v1/chat/completions", { messages: [] }, 400, /"model" must be/],
      ["/v1/chat/completions", '{"model":"gpt-4o-mini","model":"gpt-4o"}', 400, /has "model" twice/],
      ["/v1beta/models/%ff:generateContent", CONTENTS, 400, /not valid percent-encoding/],
      ["/nowhere/v1/chat/completions", CHAT, 404, /there is no provider nowhere/],
    ];
    for (const [path, body, status, message] of wrong) {
      const response = await purser.app.request(path, {
        method: "POST",
        body: typeof body === "string" ? body : JSON.stringify(body),
      });
      const text = await response.text();
      assert.equal(response.status, status, text);
      assert.match(text.replaceAll('\\"', '"'), message);
    }
    const upgrade = await purser.app.request("/v1/responses", { headers: { upgrade: "websocket" } });
    assert.equal(upgrade.status, 426);
    assert.equal((await upgrade.json()).error.details, undefined);
    assert.equal(fake.calls, 0);
  }));

Deno.test("a provider without a key is named with its variable, and its own refusal of the key is not the client's", async () => {
  await using fake = await startFakeProvider();
  await using purser = await openTestPurser({
    fake,
    env: { ...fakeEnvironment(fake), ANTHROPIC_API_KEY: "" },
  });
  const missing = await purser.app.request("/v1/messages", {
    method: "POST",
    body: JSON.stringify(MESSAGES),
  });
  assert.equal(missing.status, 400);
  assert.match((await missing.json()).error.message, /ANTHROPIC_API_KEY is not set/);
  fake.enqueue({ status: 401 });
  const refused = await purser.app.request("/v1/chat/completions", {
    method: "POST",
    body: JSON.stringify(CHAT),
  });
  assert.equal(refused.status, 502);
  assert.match((await refused.json()).error.message, /it refused the key that Purser has for it/);
  assert.deepEqual(await readCalls(purser), []);
});

Deno.test("an error of a provider passes as it is, and is not booked", async () => {
  await using fake = await startFakeProvider();
  await using purser = await openTestPurser({ fake });
  fake.enqueue({
    status: 429,
    message: "Slow down",
    headers: { "retry-after": "7", "x-request-id": "req_theirs" },
  });
  const response = await openHttpClient(purser).raw("POST", "/v1/chat/completions", {
    body: CHAT,
    from: "127.0.0.1",
    headers: { host: "localhost" },
  });
  assert.equal(response.status, 429);
  assert.equal(response.headers.get("retry-after"), "7");
  assert.equal(response.headers.get("x-request-id"), "req_theirs");
  assert.match(await response.text(), /Slow down/);
  assert.deepEqual(await readCalls(purser), []);
});
