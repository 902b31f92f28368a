/**
 * Purser inside another program: an agent with a budget, and calls of the AI SDK's own functions in the
 * same ledger. Runs offline: `deno run -RWENS examples/library.ts`
 */
import { generateText } from "ai";
import { MockLanguageModelV4 } from "ai/test";
import { BudgetExceededError, openPurser } from "../src/mod.ts";

// Any AI SDK model will do, such as `openai("gpt-6-luna")`; this one answers without a network.
const model = new MockLanguageModelV4({
  provider: "acme",
  modelId: "poet-1",
  doGenerate: {
    content: [{ type: "text", text: "Ships sail, books balance." }],
    finishReason: { unified: "stop", raw: "stop" },
    usage: {
      inputTokens: { total: 120, noCache: 120, cacheRead: 0, cacheWrite: 0 },
      outputTokens: { total: 8, text: 8, reasoning: 0 },
    },
    warnings: [],
  },
});

const purser = await openPurser({
  db: ":memory:",
  models: { "acme:poet-1": model },
  prices: [{ provider: "acme", model: "poet-1", input_usd_per_million: 1, output_usd_per_million: 4 }],
});

// 1. Run an agent; its result has the cost, exact to the billionth of a dollar.
const poet = { name: "poet", model: "acme:poet-1", system_prompt: "You write one line." };
const result = await purser.runAgent(poet, "Something about the sea");
console.log(`${result.output} ($${result.token_usage.cost_usd})`);

// 2. A run stops before the call that its budget does not allow; its steps so far are kept.
const counter = { name: "counter", model: "demo:loop", tools: ["calculator"], cost_budget_usd: 0.0005 };
try {
  await purser.runAgent(counter, "Count forever");
} catch (error) {
  if (!(error instanceof BudgetExceededError)) throw error;
  const { cost_usd_so_far, budget_usd } = error.details;
  console.log(`Stopped: $${cost_usd_so_far} spent of $${budget_usd}`);
}

// 3. Your own calls of the AI SDK go into the same ledger; those of one run share its budget.
const metered = purser.meter(model, { agentId: "newsletter", runId: "run_issue_42", costBudgetUsd: 0.01 });
const { text } = await generateText({ model: metered, prompt: "A line for the newsletter" });
console.log(text);

// 4. All costs are in one ledger.
for (const { agent_id, cost_usd, model_calls } of await purser.costs({ groupBy: "agent" })) {
  console.log(`${agent_id}: ${model_calls} calls, $${cost_usd}`);
}
await purser.close();
