import assert from "node:assert/strict";
import type { BudgetRefusal } from "../src/contract/budgets/budget_refusals.ts";
import { BudgetExceededError } from "../src/kernel/errors.ts";
import { answerTo } from "./harness/answers.ts";
import { startFakeProvider } from "./harness/fake_provider.ts";
import { openTestPurser, rejection } from "./harness/test_purser.ts";

const MODEL = "openai.chat:gpt-4o-mini";
const CALL = { id: "c1", name: "calculator", input: { expression: "1+1" } };
/** The cost of one response of 10 tokens in and 2 out of gpt-4o-mini: 10 x 150 + 2 x 600. */
const ONE_CALL = 2_700n;

const askingAgain = () => startFakeProvider((request) => answerTo(request, { toolCall: CALL }));

for (const more of [{}, { onPart() {} }]) {
  const way = more.onPart ? "streamed" : "whole";
  Deno.test(`a run stops before the next call once its budget is reached exactly, ${way}`, async () => {
    await using fake = await askingAgain();
    await using purser = await openTestPurser({ fake });
    const agent = { model: MODEL, tools: ["calculator"], costBudgetNanoUsd: 3n * ONE_CALL };
    const error = await rejection(purser.run(agent, "Go", { sessionId: "s1", ...more }));
    assert.ok(error instanceof BudgetExceededError);
    assert.deepEqual(error.details, { cost_usd_so_far: 0.0000081, budget_usd: 0.0000081 });
    assert.match(error.message, /^Cannot make the next model call of run run_\d+: it has cost \$0\.0000081/);
    assert.equal(fake.calls, 3);
    const { body: run } = await purser.api("GET", `/runs/${error.extensions.run_id}`);
    assert.equal(run.status, "budget_exceeded");
    assert.equal(run.steps, 3);
    assert.equal(run.token_usage.cost_usd, 0.0000081);
    assert.equal(run.error.code, "budget_exceeded");
    assert.equal((await purser.api("GET", "/sessions/s1")).body.status, "budget_exceeded");
    const events = await purser.events("s1");
    const last = events.at(-1)!;
    assert.equal(last.type, "budget.exceeded");
    assert.equal(last.payload.cost_usd_so_far, 0.0000081);
    assert.deepEqual(events.slice(-3, -1).map(({ type }) => type), ["tool.returned", "budget.refused"]);
    const { body: refusals } = await purser.api("GET", "/budgets/refusals");
    assert.deepEqual(
      refusals.map(({ run_id, reason, cost_usd_so_far, budget_usd, refused_by }: BudgetRefusal) => [
        ...[run_id, reason, cost_usd_so_far, budget_usd, refused_by],
      ]),
      [[error.extensions.run_id, "spent", 0.0000081, 0.0000081, []]],
    );
    assert.equal((await purser.messages("s1")).length, 7);
  });
}

Deno.test("an exhausted budget is 402 with its title and details, and the next run starts with a new one", async () => {
  await using fake = await askingAgain();
  await using purser = await openTestPurser({ fake });
  await purser.api("PUT", "/agents/a", { model: MODEL, tools: ["calculator"], cost_budget_usd: 0.000003 });
  const { status, body } = await purser.api("POST", "/agents/a/runs", { input: "Go", session_id: "s1" });
  assert.equal(status, 402);
  assert.equal(body.title, "BudgetExceededError");
  assert.equal(body.code, "budget_exceeded");
  assert.deepEqual(body.details, { cost_usd_so_far: 0.0000054, budget_usd: 0.000003 });
  assert.equal(body.session_id, "s1");
  assert.match(body.run_id, /^run_/);
  fake.enqueue(answerTo({ api: "openai-chat", model: "m" }, { text: "Yes" }));
  const again = await purser.api("POST", "/agents/a/runs", { input: "Once more", session_id: "s1" });
  assert.equal(again.body.output, "Yes");
});

for (const budgetMode of ["stop", "strict"] as const) {
  Deno.test(`a budget of 0 makes no call at all, ${budgetMode}`, async () => {
    await using fake = await askingAgain();
    await using purser = await openTestPurser({ fake });
    const error = await rejection(purser.run({ model: MODEL, costBudgetNanoUsd: 0n, budgetMode }, "Go"));
    assert.equal(error.code, "budget_exceeded");
    assert.deepEqual(error.details, { cost_usd_so_far: 0, budget_usd: 0 });
    assert.equal(fake.calls, 0);
    const { body } = await purser.api("GET", `/runs/${error.extensions.run_id}`);
    assert.equal(body.token_usage.cost_usd, 0);
  });
}

Deno.test("a run whose last response reaches the budget is completed", async () => {
  await using fake = await startFakeProvider((request) => answerTo(request, { text: "Done" }));
  await using purser = await openTestPurser({ fake });
  const result = await purser.run({ model: MODEL, costBudgetNanoUsd: 1n }, "Go");
  assert.equal(result.status, "completed");
});

for (const budgetMode of ["stop", "strict"] as const) {
  Deno.test(`a budget over a model without a price is refused before the run starts, ${budgetMode}`, async () => {
    await using fake = await askingAgain();
    await using purser = await openTestPurser({ fake });
    await purser.api("PUT", "/agents/a", {
      model: "local:unheard-of",
      cost_budget_usd: 1,
      budget_mode: budgetMode,
    });
    const { status, body } = await purser.api("POST", "/agents/a/runs", { input: "Go", session_id: "s1" });
    assert.equal(status, 400);
    assert.match(
      body.detail,
      /no price is known for local:unheard-of; set it by purser prices set local:unheard-of /,
    );
    assert.equal(fake.calls, 0);
    assert.equal((await purser.api("GET", "/sessions/s1")).status, 404);
  });
}

Deno.test("allow_unpriced lets a model without a price run under a budget; its cost is null everywhere", async () => {
  await using fake = await startFakeProvider((request) => answerTo(request, { text: "Free?" }));
  await using purser = await openTestPurser({ fake });
  const agent = { model: "local:unheard-of", cost_budget_usd: 1, allow_unpriced: true };
  await purser.api("PUT", "/agents/a", agent);
  const { status, body } = await purser.api("POST", "/agents/a/runs", { input: "Go", session_id: "s1" });
  assert.equal(status, 200);
  const usage = body.token_usage;
  assert.deepEqual([usage.cost_usd, usage.unpriced_calls, usage.model_calls], [null, 1, 1]);
  assert.deepEqual([usage.input_tokens, usage.output_tokens], [10, 2]);
  const { body: costs } = await purser.api("GET", "/sessions/s1/costs");
  assert.deepEqual([costs.calls[0].cost_usd, costs.calls[0].price_source], [null, "none"]);
  assert.deepEqual([costs.steps[0].cost_usd, costs.steps[0].unpriced_calls], [null, 1]);
  assert.equal(costs.token_usage.cost_usd, null);
  assert.equal((await purser.api("GET", "/agents/a")).body.token_usage.cost_usd, null);
  for (const grouping of ["agent", "session", "run", "model", "hour", "day"]) {
    const { body: [row] } = await purser.api("GET", `/costs?group_by=${grouping}`);
    assert.deepEqual([row.cost_usd, row.unpriced_calls], [null, 1], grouping);
  }
  const recorded = purser.published.find(({ type }) => type === "cost.recorded")!;
  assert.equal(recorded.payload.cost_usd, null);
  assert.ok(purser.logs.some(({ level }) => level === "warn"), "an unpriced call is warned about");
});

/** The field of each API's request that limits the output. */
const LIMITS = {
  "openai.chat:gpt-4o-mini": (body: Record<string, number>) => body.max_tokens ?? body.max_completion_tokens,
  "openai:gpt-5-mini": (body: Record<string, number>) => body.max_output_tokens,
  "anthropic:claude-haiku-4-5": (body: Record<string, number>) => body.max_tokens,
  "google:gemini-2.5-flash": (body: { generationConfig: Record<string, number> }) =>
    body.generationConfig.maxOutputTokens,
  "local:my-model": (body: Record<string, number>) => body.max_tokens,
};

for (const [model, limitOf] of Object.entries(LIMITS)) {
  Deno.test(`strict lowers the output limit of ${model} on the wire to what the budget allows`, async () => {
    await using fake = await startFakeProvider((request) => answerTo(request, { text: "Short" }));
    await using purser = await openTestPurser({ fake });
    const strict = { model, budgetMode: "strict" as const, maxOutputTokens: 100_000 };
    await purser.run({ ...strict, costBudgetNanoUsd: 10_000_000_000n }, "Go");
    await purser.run({ ...strict, costBudgetNanoUsd: 20_000_000n }, "Go");
    const [wide, narrow] = fake.requests.map(({ body }) => limitOf(body)!);
    // The SDK itself caps the output of known models.
    assert.ok(wide! >= 8_192 && wide! <= 100_000, `wide: ${wide}`);
    assert.ok(narrow! >= 1 && narrow! < wide!, `narrow: ${narrow}, wide: ${wide}`);
  });
}

Deno.test("strict refuses a call that could cost more than the budget, with the reason", async () => {
  await using fake = await askingAgain();
  await using purser = await openTestPurser({ fake });
  const agent = { model: MODEL, budgetMode: "strict" as const, costBudgetNanoUsd: 100n };
  const error = await rejection(purser.run(agent, "Go"));
  assert.equal(error.code, "budget_exceeded");
  assert.match(error.message, /might cost more than is left of its strict budget of \$0\.0000001/);
  assert.deepEqual(error.details, { cost_usd_so_far: 0, budget_usd: 1e-7 });
  assert.equal(fake.calls, 0);
});

for (const more of [{}, { onPart() {} }]) {
  const way = more.onPart ? "streamed" : "whole";
  Deno.test(`usage beyond the bound is booked in full, and the run stops, ${way}`, async () => {
    const usage = { inputTokens: 900_000, outputTokens: 50 };
    await using fake = await startFakeProvider((request) => answerTo(request, { toolCall: CALL, usage }));
    await using purser = await openTestPurser({ fake });
    const agent = {
      model: MODEL,
      tools: ["calculator"],
      budgetMode: "strict" as const,
      costBudgetNanoUsd: 1_000_000_000n,
    };
    const error = await rejection(purser.run(agent, "Go", { sessionId: "s1", ...more }));
    assert.equal(error.code, "budget_exceeded");
    // 900,000 x 150 + 50 x 600
    assert.equal(error.details.cost_usd_so_far, 0.13503);
    assert.equal(error.details.budget_usd, 1);
    assert.equal(fake.calls, 1);
    const overshot = (await purser.events("s1")).find(({ type }) => type === "budget.overshot")!;
    assert.equal(overshot.payload.cost_usd, "0.13503");
    assert.match(error.message, /cost more than its bound/);
    assert.ok(purser.logs.some(({ message }) => message.includes("cost more than its bound")));
  });
}

Deno.test("strict reserves for each attempt anew, and leaves nothing reserved after failed ones", async () => {
  await using fake = await startFakeProvider((request) => answerTo(request, { text: "Yes" }));
  await using purser = await openTestPurser({ fake });
  const again = { status: 500, headers: { "retry-after-ms": "1" } };
  fake.enqueue(again, again);
  const agent = { model: MODEL, budgetMode: "strict" as const, costBudgetNanoUsd: 400_000n };
  const result = await purser.run(agent, "Go");
  assert.equal(result.status, "completed");
  const limits = fake.requests.map(({ body }) => body.max_tokens ?? body.max_completion_tokens);
  assert.equal(new Set(limits).size, 1);
});
