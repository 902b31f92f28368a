import assert from "node:assert/strict";
import type { LanguageModelV4 } from "@ai-sdk/provider";
import { generateText, streamText } from "ai";
import { BudgetExceededError } from "../src/kernel/errors.ts";
import { meter, type MeterContext } from "../src/runner/mod.ts";
import { answerTo } from "./harness/answers.ts";
import { startFakeProvider } from "./harness/fake_provider.ts";
import { realModel } from "./harness/metered_models.ts";
import { openTestPurser, rejection } from "./harness/test_purser.ts";

/** The cost of one response of 10 tokens in and 2 out of gpt-4o-mini. */
const ONE_CALL_USD = 0.0000027;

async function openMeter(context: Partial<MeterContext> = {}) {
  const fake = await startFakeProvider((request) => answerTo(request, { text: "Hello" }));
  const purser = await openTestPurser();
  await purser.core.prices.ready?.(); // as openPurser does
  const real = realModel(fake, "openai-chat", "gpt-4o-mini");
  const metered = (more: Partial<MeterContext> = {}) =>
    meter(purser.core, real, { agentId: "outside", ...context, ...more });
  return {
    fake,
    purser,
    metered,
    async [Symbol.asyncDispose]() {
      await purser[Symbol.asyncDispose]();
      await fake.close();
    },
  };
}

Deno.test("meter() books a call of generateText under the agent, without a session of its own", async () => {
  await using test = await openMeter();
  const { text } = await generateText({ model: test.metered(), prompt: "Hi" });
  assert.equal(text, "Hello");
  const { body } = await test.purser.api("GET", "/costs");
  assert.equal(body[0].agent_id, "outside");
  assert.equal(body[0].cost_usd, ONE_CALL_USD);
  assert.deepEqual((await test.purser.api("GET", "/sessions")).body, []);
  const [recorded] = test.purser.published;
  assert.equal(recorded!.type, "cost.recorded");
  assert.equal(recorded!.seq, null);
  assert.deepEqual(recorded!.payload.provider, "openai");
});

Deno.test("meter() books a call of streamText before its stream has ended", async () => {
  await using test = await openMeter();
  const result = streamText({ model: test.metered(), prompt: "Hi" });
  let text = "";
  for await (const delta of result.textStream) text += delta;
  assert.equal(text, "Hello");
  assert.equal((await test.purser.api("GET", "/costs")).body[0].cost_usd, ONE_CALL_USD);
});

Deno.test("meter() books a stream that its reader abandons half way", async () => {
  await using test = await openMeter();
  const { stream } = await test.metered().doStream({
    prompt: [{ role: "user", content: [{ type: "text", text: "Hi" }] }],
  });
  const reader = stream.getReader();
  for (;;) if ((await reader.read()).value?.type === "text-delta") break;
  await reader.cancel();
  const { body } = await test.purser.api("GET", "/costs");
  assert.equal(body[0].model_calls, 1);
  const recorded = test.purser.published.find(({ type }) => type === "cost.recorded")!;
  assert.equal(recorded.payload.estimated, true);
});

Deno.test("meters of one run share its budget, and a call over it never reaches the provider", async () => {
  await using test = await openMeter({ runId: "run_shared", costBudgetUsd: 3 * ONE_CALL_USD });
  const models = [test.metered(), test.metered()];
  for (let i = 0; i < 3; i++) await generateText({ model: models[i % 2]!, prompt: "Hi" });
  for (const model of models) {
    const error = await rejection(generateText({ model, prompt: "Hi" }));
    assert.ok(error instanceof BudgetExceededError);
    assert.deepEqual(error.details, { cost_usd_so_far: 0.0000081, budget_usd: 0.0000081 });
  }
  assert.equal(test.fake.calls, 3);
});

Deno.test("a meter without a run id gets a run of its own", async () => {
  await using test = await openMeter({ costBudgetUsd: ONE_CALL_USD });
  await generateText({ model: test.metered(), prompt: "Hi" });
  await generateText({ model: test.metered(), prompt: "Hi" });
  assert.equal((await test.purser.api("GET", "/costs?group_by=run")).body.length, 2);
});

Deno.test("sixteen metered calls at once on one run never exceed a strict budget", async () => {
  await using test = await openMeter({ runId: "run_many", costBudgetUsd: 0.001, budgetMode: "strict" });
  const model = test.metered();
  const outcomes = await Promise.allSettled(
    Array.from({ length: 16 }, () => generateText({ model, prompt: "Hi", maxOutputTokens: 100 })),
  );
  assert.ok(outcomes.some(({ status }) => status === "fulfilled"));
  const { body: [row] } = await test.purser.api("GET", "/costs?group_by=run");
  assert.ok(row.cost_usd <= 0.001, `${row.cost_usd}`);
  assert.equal(row.model_calls, outcomes.filter(({ status }) => status === "fulfilled").length);
  // Nothing stays reserved: the rest of the budget can still be spent.
  await generateText({ model, prompt: "Hi", maxOutputTokens: 1 });
});

Deno.test("a metered call that fails books nothing and reserves nothing", async () => {
  await using test = await openMeter({ runId: "run_failing", costBudgetUsd: ONE_CALL_USD });
  test.fake.enqueue({ status: 400 });
  const model = test.metered();
  await rejection(generateText({ model, prompt: "Hi" }));
  assert.equal((await generateText({ model, prompt: "Hi" })).text, "Hello");
});

Deno.test("meter() refuses what it can't book, with the reason", async () => {
  await using test = await openMeter();
  const old = { ...realModel(test.fake, "openai-chat", "gpt-4o-mini"), specificationVersion: "v2" };
  const wrong: [() => unknown, RegExp][] = [
    [() => test.metered({ agentId: "no blanks" }), /agentId must be/],
    [() => test.metered({ sessionId: "" }), /sessionId must be/],
    [() => test.metered({ runId: "ä" }), /runId must be/],
    [() => test.metered({ costBudgetUsd: -1 }), /negative/],
    [() => test.metered({ costBudgetUsd: 1e-10 }), /more than nine decimals/],
    [() => test.metered({ costBudgetUsd: 1, provider: "unknown" }), /no price is known/],
    [() => meter(test.purser.core, old as unknown as LanguageModelV4, { agentId: "a" }), /specification v4/],
  ];
  for (const [make, message] of wrong) assert.throws(make, message);
  test.metered({ costBudgetUsd: 1, provider: "unknown", allowUnpriced: true });
});

Deno.test("a metered call of an existing session is logged in that session", async () => {
  await using test = await openMeter();
  await test.purser.run({ agentId: "outside" }, "Hello", { sessionId: "s1" });
  await generateText({ model: test.metered({ sessionId: "s1" }), prompt: "Hi" });
  const events = await test.purser.events("s1");
  assert.deepEqual(events.slice(-2).map(({ type, seq }) => [type, seq]), [["run.completed", 5], [
    "cost.recorded",
    6,
  ]]);
  assert.equal((await test.purser.api("GET", "/sessions/s1")).body.token_usage.model_calls, 2);
});

Deno.test("a partly priced call of a run ends its strict budget for all meters of that run", async () => {
  await using test = await openMeter({ runId: "run_parts", costBudgetUsd: 1, budgetMode: "strict" });
  const calls = test.metered();
  await generateText({ model: calls, prompt: "Hi" });
  const { status, body } = await test.purser.api("POST", "/costs/events", [{
    ...{ call_id: "spoken", at: "2026-11-01T11:00:00.000Z", agent_id: "outside", run_id: "run_parts" },
    ...{ provider: "openai", model: "gpt-4o-mini", input_tokens: 1, output_tokens: 1 },
    output_audio_tokens: 1,
  }]);
  assert.equal(status, 201, JSON.stringify(body));
  for (const model of [calls, test.metered()]) {
    const refused = await rejection(generateText({ model, prompt: "Hi" }));
    assert.ok(refused instanceof BudgetExceededError, String(refused));
    assert.match(refused.message, /has a part without a known price/);
  }
  await generateText({ model: test.metered({ runId: "run_other" }), prompt: "Hi" });
  await generateText({ model: test.metered({ budgetMode: "stop" }), prompt: "Hi" });
  assert.equal(test.fake.calls, 3);
});
