import assert from "node:assert/strict";
import { answerTo } from "../../harness/answers.ts";
import type { RestApi, RestCase } from "../rest_case.ts";

const MESSAGES = [{ role: "user", content: "Hi" }];
const usage = { inputTokens: 1_000, outputTokens: 500 };

/** Sends a call through the gateway, as an agent of this case. */
function call(
  api: RestApi,
  path: string,
  body: unknown,
  headers: Record<string, string> = {},
): Promise<Response> {
  return api.fetch("POST", path, {
    body,
    isUndeclared: true,
    headers: { "x-purser-agent": `${api.prefix}-agent`, ...headers },
  });
}

async function readCosts(api: RestApi) {
  const [costs] = await api.expect(200, "GET", `/costs?agent_id=${api.prefix}-agent`);
  return costs;
}

export const gatewayCases: RestCase[] = [
  {
    name: "calls of every wire pass the gateway, whole and streamed, and are booked",
    async run(api) {
      const contents = { contents: [{ role: "user", parts: [{ text: "Hi" }] }] };
      const requests: [path: string, body: unknown][] = [
        ["/openai/v1/chat/completions", { model: "gpt-4o-mini", messages: MESSAGES }],
        ["/v1/chat/completions", { model: "gpt-4o-mini", messages: MESSAGES, stream: true }],
        ["/v1/responses", { model: "gpt-4o-mini", input: "Hi" }],
        ["/v1/responses", { model: "gpt-4o-mini", input: "Hi", stream: true }],
        ["/anthropic/v1/messages", { model: "claude-sonnet-4-5", max_tokens: 9, messages: MESSAGES }],
        ["/v1/messages", { model: "claude-sonnet-4-5", max_tokens: 9, messages: MESSAGES, stream: true }],
        ["/gemini/v1beta/models/gemini-2.5-flash:generateContent", contents],
        ["/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse", contents],
        ["/local/v1/chat/completions", { model: "my-model", messages: MESSAGES }],
      ];
      for (const [path, body] of requests) {
        const response = await call(api, path, body);
        const text = await response.text();
        assert.equal(response.status, 200, `${path}: ${text}`);
        assert.match(text, /An a/, path);
        assert.match(response.headers.get("x-purser-call-id")!, /^call_/);
      }
      const costs = await api.until(() => readCosts(api), (costs) => costs?.model_calls === requests.length);
      assert.ok(costs.cost_usd > 0);
      assert.equal(costs.unpriced_calls, 0);
    },
  },
  {
    name: "a budget refuses a call of the gateway in the form of its wire, before the provider is called",
    async run(api) {
      const agent_id = `${api.prefix}-agent`;
      const budget = await api.expect(201, "POST", "/budgets", {
        name: "Day",
        per: "day",
        limit_usd: 0.0004,
        agent_id,
      });
      const body = { model: "gpt-4o-mini", messages: MESSAGES };
      api.fake.enqueue(answerTo({ api: "openai-chat", model: "gpt-4o-mini" }, { text: "Hi", usage }));
      assert.equal((await call(api, "/v1/chat/completions", body)).status, 200);
      const before = api.fake.calls;
      const refused = await call(api, "/v1/chat/completions", body);
      assert.equal(refused.status, 402);
      assert.equal(refused.headers.get("x-should-retry"), "false");
      assert.match((await refused.json()).error.message, /the budget “Day”/);
      assert.equal(api.fake.calls, before);
      await api.expect(204, "DELETE", `/budgets/${budget.budget_id}`);
    },
  },
  {
    name: "a stream whose client leaves is booked once",
    needs: "gateway_streams",
    async run(api) {
      const { answer } = answerTo({ api: "openai-chat", model: "gpt-4o-mini" }, { text: "Hello" });
      api.fake.enqueue({ paced: [answer.frames[0]!, answer.frames[1]!, new Promise(() => {})] });
      const leaving = new AbortController();
      const response = await api.fetch("POST", "/v1/chat/completions", {
        body: { model: "gpt-4o-mini", messages: MESSAGES, stream: true },
        headers: { "x-purser-agent": `${api.prefix}-agent` },
        isUndeclared: true,
        signal: leaving.signal,
      });
      const reader = response.body!.getReader();
      await reader.read();
      leaving.abort();
      await assert.rejects(async () => {
        for (;;) await reader.read();
      });
      const costs = await api.until(() => readCosts(api), (costs) => costs !== undefined);
      assert.equal(costs.model_calls, 1);
    },
  },
  {
    name: "a key of one agent and some models calls no other, and shows in the form of the wire why",
    async run(api) {
      const { key } = await api.expect(201, "POST", "/keys", {
        name: "narrow",
        scopes: ["call"],
        agent_id: `${api.prefix}-agent`,
        models: ["gpt-4o-*"],
      });
      const authorization = `Bearer ${key}`;
      const body = { model: "gpt-4o-mini", messages: MESSAGES };
      assert.equal((await call(api, "/v1/chat/completions", body, { authorization })).status, 200);
      const other = await call(api, "/v1/chat/completions", { ...body, model: "gpt-4.1" }, { authorization });
      assert.equal(other.status, 403);
      assert.match((await other.json()).error.message, /may call gpt-4o-\* only/);
      await api.expect(403, "GET", "/costs", undefined, { authorization });
      const wrong = await call(api, "/v1/messages", body, { authorization: "Bearer psr_wrong" });
      assert.equal(wrong.status, 401);
      assert.equal((await wrong.json()).error.type, "authentication_error");
    },
  },
];
