import assert from "node:assert/strict";
import { withAccessCheck } from "../../src/http/server/mod.ts";
import { answerTo } from "../harness/answers.ts";
import { type FakeProvider, type Reply, startFakeProvider } from "../harness/fake_provider.ts";
import { makeKey } from "../harness/http_client.ts";
import { openTestPurser, type TestPurser } from "../harness/test_purser.ts";
import { allEnded } from "./requests.ts";

/** The line that the log has of each request through the gateway. */

const SAID = "a prompt that no log may have";
const MESSAGES = [{ role: "user", content: SAID }];

/** A request of each wire. */
const WIRES: Record<
  string,
  { path: string; provider: string; model: string; body: Record<string, unknown> }
> = {
  chat: {
    path: "/v1/chat/completions",
    provider: "openai",
    model: "gpt-4o-mini",
    body: { model: "gpt-4o-mini", messages: MESSAGES },
  },
  responses: {
    path: "/v1/responses",
    provider: "openai",
    model: "gpt-5-mini",
    body: { model: "gpt-5-mini", input: SAID },
  },
  messages: {
    path: "/v1/messages",
    provider: "anthropic",
    model: "claude-sonnet-4-5",
    body: { model: "claude-sonnet-4-5", max_tokens: 64, messages: MESSAGES },
  },
  gemini: {
    path: "/v1beta/models/gemini-2.5-flash:generateContent",
    provider: "google",
    model: "gemini-2.5-flash",
    body: { contents: [{ role: "user", parts: [{ text: SAID }] }] },
  },
};

interface Gateway {
  purser: TestPurser;
  fake: FakeProvider;
  keyId: string;
  /** Sends a request by the key, reads its answer, and returns the fields of its line. */
  lineOf(path: string, body: unknown, more?: { reply?: Reply; key?: string; method?: string }): Promise<{
    line: Record<string, unknown>;
    status: number;
  }>;
}

async function withGateway(test: (gateway: Gateway) => Promise<void>): Promise<void> {
  await using fake = await startFakeProvider((request) => answerTo(request, { text: "Hello" }));
  await using purser = await openTestPurser({ fake });
  const { key, keyId } = await makeKey(purser, ["call"], { name: "laptop" });
  const handle = withAccessCheck(purser.core, purser.app);
  await test({
    ...{ purser, fake, keyId },
    async lineOf(path, body, { reply, key: other = key, method = "POST" } = {}) {
      purser.logs.length = 0;
      if (reply) fake.enqueue(reply);
      const response = await handle(
        new Request(`http://purser.example${path}`, {
          method,
          headers: {
            ...(other && { authorization: `Bearer ${other}` }),
            "content-type": "application/json",
            "x-claude-code-session-id": "s-1",
          },
          ...(body !== undefined && { body: JSON.stringify(body) }),
        }),
        "192.0.2.1",
      );
      await response.text().catch(() => "");
      await allEnded(purser);
      await Promise.resolve();
      const lines = purser.logs.filter(({ message }) => message === "Answered a request");
      assert.equal(lines.length, 1, path);
      assert.ok(!JSON.stringify(purser.logs).includes(SAID), path);
      assert.ok(!JSON.stringify(purser.logs).includes(key), path);
      return { line: lines[0]!.fields, status: response.status };
    },
  });
}

Deno.test("the line of a call has its key, agent, session, provider, model and call, on every wire, streamed or not", () =>
  withGateway(async ({ lineOf, keyId }) => {
    for (const [wire, { path, provider, model, body }] of Object.entries(WIRES)) {
      for (const isStreamed of [false, true]) {
        const streamed = wire === "gemini"
          ? [path.replace("generateContent", "streamGenerateContent?alt=sse"), body] as const
          : [path, { ...body, stream: true }] as const;
        const { line } = await lineOf(...(isStreamed ? streamed : [path, body] as const));
        const { call_id, duration_ms: _, request_id: __, ...fields } = line;
        assert.match(String(call_id), /^call_/, path);
        assert.deepEqual(fields, {
          ...{ method: "POST", route: wire === "gemini" ? "/v1beta/{path}" : "/v1/{path}", status: 200 },
          ...{ key_id: keyId, key_name: "laptop", agent_id: "laptop", session_id: "s-1", provider, model },
        });
      }
    }
  }));

Deno.test("the line of a refused call has the reason: of a budget, a model without a price, a key and a body", () =>
  withGateway(async ({ purser, lineOf, keyId }) => {
    const { path, body } = WIRES.chat!;
    const { body: budget } = await purser.api("POST", "/budgets", { name: "Day", per: "day", limit_usd: 0 });
    const spent = await lineOf(path, body);
    assert.equal(spent.status, 402);
    assert.match(String(spent.line.reason), /the budget “Day” \(\$0 per UTC day, all agents\) has \$0 spent/);
    assert.deepEqual(
      [spent.line.error_code, spent.line.key_name, spent.line.model, spent.line.provider],
      ["budget_exceeded", "laptop", "gpt-4o-mini", "openai"],
    );
    await purser.api("PATCH", `/budgets/${budget.budget_id}`, { limit_usd: 1 });
    const unpriced = await lineOf(path, { ...body, model: "gpt-5-minni" });
    assert.equal(unpriced.status, 402);
    assert.match(String(unpriced.line.reason), /gpt-5-minni.*gpt-5-mini/);
    assert.equal(unpriced.line.model, "gpt-5-minni");

    const bad = await lineOf(path, { messages: MESSAGES });
    assert.deepEqual([bad.status, bad.line.error_code, bad.line.key_name], [400, "invalid", "laptop"]);
    assert.match(String(bad.line.reason), /model/);
    const nowhere = await lineOf("/nowhere/v1/chat/completions", body);
    assert.equal(nowhere.status, 404);
    assert.match(String(nowhere.line.reason), /there is no provider nowhere/);

    const none = await lineOf(path, body, { key: "" });
    assert.deepEqual([none.status, none.line.error_code, none.line.key_id], [401, "unauthorized", undefined]);
    assert.match(String(none.line.reason), /without an API key/);
    const reader = await makeKey(purser, ["read"], { name: "reader" });
    const forbidden = await lineOf(path, body, { key: reader.key });
    assert.deepEqual([forbidden.status, forbidden.line.error_code], [403, "forbidden"]);
    assert.match(String(forbidden.line.reason), /scope/);
    const gone = await makeKey(purser, ["call"], { name: "gone" });
    await purser.api("DELETE", `/keys/${gone.keyId}`);
    const revoked = await lineOf(path, body, { key: gone.key });
    assert.deepEqual([revoked.status, revoked.line.key_id, revoked.line.key_name], [401, gone.keyId, "gone"]);
    assert.match(String(revoked.line.reason), /it was revoked/);
    const { key: restricted } = (await purser.api("POST", "/keys", {
      ...{ name: "haiku", scopes: ["call"], models: ["claude-haiku-*"] },
    })).body;
    const model = await lineOf(path, body, { key: restricted });
    assert.deepEqual([model.status, model.line.key_name, model.line.model], [403, "haiku", "gpt-4o-mini"]);
    assert.match(String(model.line.reason), /gpt-4o-mini/);
    assert.notEqual(keyId, gone.keyId);
  }));

Deno.test("the line of a call that its provider refuses has the status and the kind of the error, never its text", () =>
  withGateway(async ({ lineOf }) => {
    for (const { path, body, provider } of Object.values(WIRES)) {
      for (const status of [400, 404, 429, 500, 529]) {
        const { line } = await lineOf(path, body, { reply: { status, message: `${SAID}: refused` } });
        assert.equal(line.status, status);
        assert.equal(line.error_code, "provider_error");
        assert.match(String(line.reason), new RegExp(`^${provider} answered ${status}: [A-Za-z][\\w.-]+$`));
        assert.equal(line.key_name, "laptop");
      }
      const own = await lineOf(path, body, { reply: { status: 401, message: SAID } });
      assert.equal(own.line.error_code, "provider_error");
      assert.match(String(own.line.reason), /it refused the key that Purser has for it/);
    }
  }));

Deno.test("the line of an answer that breaks off or ends with an error has the reason, and is written at its end", () =>
  withGateway(async ({ fake, purser, lineOf }) => {
    const { path, body } = WIRES.messages!;
    const { frames } = answerTo({ api: "anthropic", model: "claude-sonnet-4-5" }, { text: "Hello" }).answer;
    const streamed = { ...body, stream: true };
    const broken = await lineOf(path, streamed, { reply: { brokenAfter: frames.slice(0, 3) } });
    assert.deepEqual([broken.line.status, broken.line.error_code], [200, "provider_error"]);
    assert.match(String(broken.line.reason), /^anthropic: \S/);
    const failed = [
      ...frames.slice(0, 3),
      `event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"${SAID}"}}\n\n`,
    ];
    const overloaded = await lineOf(path, streamed, { reply: { paced: failed } });
    assert.deepEqual([overloaded.line.error_code, overloaded.line.reason], [
      "provider_error",
      "anthropic: it ended with overloaded_error",
    ]);
    assert.equal(overloaded.line.model, "claude-sonnet-4-5");
    // Written once it has ended, with the time that it took.
    const gate = Promise.withResolvers<void>();
    fake.enqueue({ paced: [...frames.slice(0, 2), gate.promise, ...frames.slice(2)] });
    purser.logs.length = 0;
    const { key } = await makeKey(purser, ["call"]);
    const response = await withAccessCheck(purser.core, purser.app)(
      new Request(`http://purser.example${path}`, {
        method: "POST",
        headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
        body: JSON.stringify(streamed),
      }),
      "192.0.2.1",
    );
    const count = () => purser.logs.filter(({ message }) => message === "Answered a request").length;
    assert.equal(count(), 0);
    purser.clock.advance(5_000);
    gate.resolve();
    await response.text();
    await allEnded(purser);
    await Promise.resolve();
    assert.equal(count(), 1);
    assert.equal(
      purser.logs.findLast(({ message }) => message === "Answered a request")!.fields.duration_ms,
      5_000,
    );
  }));

Deno.test("the line of a call without an answer, and of one that can't be booked, has the reason", () =>
  withGateway(async ({ fake, purser, lineOf }) => {
    const { path, body } = WIRES.chat!;
    const { writeInSet } = purser.core.store;
    purser.core.store.writeInSet = () => Promise.reject(new Error("no disk"));
    for (const stream of [false, true]) {
      const lost = await lineOf(path, { ...body, stream });
      assert.deepEqual([lost.line.error_code, lost.line.reason], [
        "internal",
        "it could not be booked: no disk",
      ]);
      assert.deepEqual([lost.line.key_name, lost.line.model], ["laptop", "gpt-4o-mini"]);
    }
    purser.core.store.writeInSet = writeInSet;
    await fake.close();
    const down = await lineOf(path, body);
    assert.deepEqual([down.line.error_code, down.line.model], ["provider_error", "gpt-4o-mini"]);
    assert.match(String(down.line.reason), /^Cannot get an answer from openai: \S/);
  }));
