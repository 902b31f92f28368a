import assert from "node:assert/strict";
import { answerTo } from "../harness/answers.ts";
import { startFakeProvider } from "../harness/fake_provider.ts";
import { openTestPurser } from "../harness/test_purser.ts";
import { allEnded, readCalls, sendTo } from "./requests.ts";

const CHAT = {
  path: "/v1/chat/completions",
  body: { model: "gpt-4o-mini", max_completion_tokens: 100, messages: [{ role: "user", content: "Hi" }] },
};
/** A call of 1,000 tokens in and 500 out costs 0.00045 USD. */
const usage = { inputTokens: 1_000, outputTokens: 500 };

Deno.test("a call over a spent budget is refused in the wire's form, and reaches no provider", async () => {
  await using fake = await startFakeProvider((request) => answerTo(request, { text: "Hi", usage }));
  await using purser = await openTestPurser({ fake });
  await purser.api("POST", "/budgets", { name: "Day", per: "day", limit_usd: 0.0004 });
  assert.equal((await sendTo(purser, CHAT)).status, 200);
  const refused = await sendTo(purser, CHAT);
  assert.equal(refused.status, 402);
  assert.equal(refused.headers.get("x-should-retry"), "false");
  assert.equal(refused.headers.get("retry-after"), null);
  const { error } = await refused.json();
  assert.equal(error.type, "budget_exceeded");
  assert.equal(error.code, "budget_exceeded");
  assert.match(error.message, /the budget “Day” \(\$0\.0004 per UTC day, all agents\) has \$0\.00045 spent/);
  assert.equal(error.details.refused_by[0].reason, "spent");
  const anthropic = await sendTo(purser, {
    path: "/v1/messages",
    body: { model: "claude-sonnet-4-5", max_tokens: 10, messages: CHAT.body.messages },
  });
  assert.equal(anthropic.status, 402);
  assert.equal((await anthropic.json()).error.type, "billing_error");
  const gemini = await sendTo(purser, {
    path: "/gemini/v1beta/models/gemini-2.5-flash:generateContent",
    body: { contents: [{ role: "user", parts: [{ text: "Hi" }] }] },
  });
  assert.equal((await gemini.json()).error.status, "RESOURCE_EXHAUSTED");
  assert.equal(fake.calls, 1);
});

Deno.test("budgets of a key, an agent, a session and a run each count the gateway's calls", async () => {
  await using fake = await startFakeProvider((request) => answerTo(request, { text: "Hi", usage }));
  await using purser = await openTestPurser({ fake });
  const budgets = [
    { name: "Agent", per: "day", agent_id: "coder" },
    { name: "Session", per: "session" },
    { name: "Run", per: "run" },
  ];
  for (const budget of budgets) {
    const { body } = await purser.api("POST", "/budgets", { ...budget, limit_usd: 0.0004 });
    const labels = {
      "x-purser-agent": "coder",
      "x-purser-session": `s${budget.name}`,
      "x-purser-run": `r${budget.name}`,
    };
    assert.equal((await sendTo(purser, CHAT, { headers: labels })).status, 200, budget.name);
    const refused = await sendTo(purser, CHAT, { headers: labels });
    assert.equal(refused.status, 402, budget.name);
    assert.match((await refused.json()).error.message, new RegExp(`“${budget.name}”`));
    assert.equal((await purser.api("DELETE", `/budgets/${body.budget_id}`)).status, 204);
  }
});

Deno.test("a strict budget bounds a call by its bytes and its output limit, and names the limit that would fit", async () => {
  await using fake = await startFakeProvider((request) => answerTo(request, { text: "Hi" }));
  await using purser = await openTestPurser({ fake });
  await purser.api("POST", "/budgets", { name: "Strict", per: "day", limit_usd: 0.001, mode: "strict" });
  const large = await sendTo(purser, { ...CHAT, body: { ...CHAT.body, max_completion_tokens: 9_999 } });
  assert.equal(large.status, 402);
  const { error } = await large.json();
  const fits = error.details.refused_by[0].fitting_output_tokens;
  assert.match(error.message, new RegExp(`an output limit of ${fits} tokens would fit`));
  assert.equal(
    (await sendTo(purser, { ...CHAT, body: { ...CHAT.body, max_completion_tokens: fits + 1 } })).status,
    402,
  );
  assert.equal(
    (await sendTo(purser, { ...CHAT, body: { ...CHAT.body, max_completion_tokens: fits } })).status,
    200,
  );
  const { max_completion_tokens: _none, ...unlimited } = CHAT.body;
  const unbounded: [Record<string, unknown>, RegExp][] = [
    [unlimited, /this one sets no output limit \(max_completion_tokens\)/],
    [{
      ...CHAT.body,
      messages: [{ role: "user", content: [{ type: "image_url", image_url: { url: "x" } }] }],
    }, /image_url/],
    [{ ...CHAT.body, web_search_options: {} }, /it searches the web/],
  ];
  for (const [body, message] of unbounded) {
    const refused = await sendTo(purser, { ...CHAT, body });
    assert.equal(refused.status, 402);
    const { error } = await refused.json();
    assert.match(error.message, message);
    assert.equal(error.details.refused_by[0].reason, "unbounded");
  }
  assert.equal(fake.calls, 1);
  assert.deepEqual(fake.requests[0]!.body, { ...CHAT.body, max_completion_tokens: fits });
});

Deno.test("a strict budget bounds a call by the service tier that it asks for", async () => {
  await using fake = await startFakeProvider((request) => answerTo(request, { text: "Hi" }));
  await using purser = await openTestPurser({ fake });
  await purser.api("POST", "/budgets", { name: "Strict", per: "day", limit_usd: 1e-6, mode: "strict" });
  const neededFor = async (more: object) => {
    const refused = await sendTo(purser, {
      path: "/gemini/v1beta/models/gemini-3.8-flash:generateContent",
      body: {
        contents: [{ role: "user", parts: [{ text: "Hi" }] }],
        generationConfig: { maxOutputTokens: 100 },
        ...more,
      },
    });
    assert.equal(refused.status, 402);
    return Number(/might cost \$([\d.]+)/.exec(await refused.text())![1]);
  };
  // A body of the same length: priority costs 1.8x. https://ai.google.dev/gemini-api/docs/pricing
  const [standard, priority] = [
    await neededFor({ serviceTier: "standard" }),
    await neededFor({ serviceTier: "priority" }),
  ];
  assert.ok(Math.abs(priority - standard * 1.8) < 1e-9, `${standard} -> ${priority}`);
});

Deno.test("a model without a price is refused under any budget, and passes without one", async () => {
  await using fake = await startFakeProvider((request) => answerTo(request, { text: "Hi" }));
  await using purser = await openTestPurser({ fake });
  const unknown = { ...CHAT, body: { ...CHAT.body, model: "gpt-unknown" } };
  assert.equal((await sendTo(purser, unknown)).status, 200);
  assert.equal((await readCalls(purser))[0]!.cost, null);
  await purser.api("POST", "/budgets", { name: "Day", per: "day", limit_usd: 1 });
  const refused = await sendTo(purser, unknown);
  assert.equal(refused.status, 402);
  assert.equal((await refused.json()).error.details.refused_by[0].reason, "unpriced");
});

Deno.test("a call that waits for what others hold is refused after 30 s as one to send again", async () => {
  const { promise: held, resolve } = Promise.withResolvers<void>();
  await using fake = await startFakeProvider((request) => ({
    ...answerTo(request, { text: "Hi", usage }),
    after: held,
  }));
  await using purser = await openTestPurser({ fake });
  await purser.api("POST", "/budgets", { name: "Day", per: "day", limit_usd: 0.0001 });
  const first = sendTo(purser, CHAT);
  while (fake.calls === 0) await new Promise((resolve) => setTimeout(resolve, 1));
  const second = sendTo(purser, CHAT);
  let isAnswered = false;
  void second.then(() => isAnswered = true);
  while (!isAnswered) {
    purser.clock.advance(500);
    await new Promise((resolve) => setTimeout(resolve, 0));
  }
  const refused = await second;
  assert.equal(refused.status, 402);
  assert.equal(refused.headers.get("x-should-retry"), "true");
  assert.equal(refused.headers.get("retry-after"), "2");
  assert.equal((await refused.json()).error.code, "budget_in_flight");
  resolve();
  assert.equal((await first).status, 200);
});

Deno.test("nothing stays reserved, whatever becomes of a call", async () => {
  await using fake = await startFakeProvider();
  await using purser = await openTestPurser({ fake });
  await purser.api("POST", "/budgets", { name: "Day", per: "day", limit_usd: 10 });
  const { answer } = answerTo({ api: "openai-chat", model: "gpt-4o-mini" }, { text: "Hello", usage });
  const streamed = { ...CHAT, body: { ...CHAT.body, stream: true } };
  fake.enqueue({ answer }, { status: 500 }, { text: "not JSON" }, { brokenAfter: [] }, { answer }, {
    brokenAfter: answer.frames.slice(0, 2),
  });
  for (const request of [CHAT, CHAT, CHAT, CHAT, streamed, streamed]) {
    await (await sendTo(purser, request)).text().catch(() => {});
  }
  fake.enqueue({ paced: [answer.frames[0]!, new Promise(() => {})] });
  const left = await sendTo(purser, streamed);
  await left.body!.cancel();
  await allEnded(purser);
  const { rows } = await purser.core.store.read({ sql: "SELECT count(*) FROM reservations" });
  assert.deepEqual(rows, [[0n]]);
  const { body: [budget] } = await purser.api("GET", "/budgets");
  assert.equal(budget.reserved_usd, 0);
  // Two whole answers of which one could not be read, a broken one, and three streams.
  assert.equal((await readCalls(purser)).length, 6);
});

Deno.test("a cheap call before it in a session makes no dear call seem cheap: a stop budget lets one through", async () => {
  const answering = Promise.withResolvers<void>();
  await using fake = await startFakeProvider(async (request) => {
    if (request.model === "dear") await answering.promise;
    return answerTo(request, { text: "Hi", usage });
  });
  const priceOf = (model: string, usd: number) => ({
    provider: "local",
    model,
    input_usd_per_million: usd,
    output_usd_per_million: usd,
  });
  await using purser = await openTestPurser({
    fake,
    config: { prices: [priceOf("cheap", 0.001), priceOf("dear", 10_000)] },
  });
  await purser.api("POST", "/budgets", { name: "Day", per: "day", limit_usd: 1 });
  const ask = (model: string) =>
    sendTo(purser, { path: "/local/v1/chat/completions", body: { ...CHAT.body, model } }, {
      headers: { "x-purser-session": "mine" },
    });
  assert.equal((await ask("cheap")).status, 200);
  const dear = Array.from({ length: 30 }, () => ask("dear"));
  const reserved = async () => {
    const { rows } = await purser.core.store.read({
      sql: "SELECT sum(estimate_nano_usd) / 1000000000 FROM reservations WHERE scope = ''",
    });
    return Number(rows[0]![0] ?? 0n);
  };
  while (fake.calls < 2) await new Promise<void>((resolve) => setTimeout(resolve, 0));
  // By its size: some 20 tokens in and 100 out, of a cent each.
  assert.ok(await reserved() >= 1, `${await reserved()}`);
  answering.resolve();
  const statuses = (await Promise.all(dear)).map(({ status }) => status).sort();
  assert.deepEqual(statuses, [200, ...Array.from({ length: 29 }, () => 402)]);
  assert.equal(fake.calls, 2);
});

Deno.test("a request that names fallbacks is decided for each model that may be called", async () => {
  await using fake = await startFakeProvider((request) => answerTo(request, { text: "Hi", usage }));
  await using purser = await openTestPurser({ fake });
  const dear = { ...CHAT, body: { ...CHAT.body, model: "gpt-4o" } };
  await purser.api("POST", "/budgets", { name: "Dear", per: "day", limit_usd: 0.0004, model: "gpt-4o" });
  assert.equal((await sendTo(purser, dear)).status, 200);
  const sendWith = (fields: object) => sendTo(purser, { ...CHAT, body: { ...CHAT.body, ...fields } });
  for (
    const fields of [{ models: ["gpt-4o-mini", "gpt-4o"] }, { fallbacks: [{ "gpt-4o-mini": ["gpt-4o"] }] }]
  ) {
    const refused = await sendWith(fields);
    assert.equal(refused.status, 402, JSON.stringify(fields));
    assert.match(
      (await refused.json()).error.message,
      /the budget “Dear” \(\$0\.0004 per UTC day, model gpt-4o\)/,
    );
  }
  const anthropic = await sendTo(purser, {
    path: "/v1/messages",
    body: {
      model: "claude-haiku-4-5",
      max_tokens: 10,
      messages: CHAT.body.messages,
      fallbacks: [{ model: "claude-opus-4-1" }],
    },
  });
  assert.equal(anthropic.status, 200, "that of another model is not asked");
  assert.equal((await sendWith({ models: ["gpt-4o-mini", "gpt-4.1-mini"] })).status, 200);
  const { body: [refusal] } = await purser.api("GET", "/budgets/refusals");
  assert.deepEqual([refusal.model, refusal.reason], ["gpt-4o", "spent"]);
  await purser.api("POST", "/budgets", {
    name: "Strict",
    per: "day",
    limit_usd: 9,
    model: "gpt-4.1-mini",
    mode: "strict",
  });
  const unbounded = await sendWith({ models: ["gpt-4.1-mini"] });
  assert.equal((await unbounded.json()).error.details.refused_by[0].reason, "unbounded");
  const many = await sendWith({ models: Array.from({ length: 11 }, (_, n) => `m${n}`) });
  assert.equal(many.status, 400);
  assert.equal(fake.calls, 3);
});
