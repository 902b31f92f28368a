import assert from "node:assert/strict";
import { answerTo } from "../harness/answers.ts";
import { type FakeProvider, startFakeProvider } from "../harness/fake_provider.ts";
import { openTestPurser, type TestPurser } from "../harness/test_purser.ts";
import { allEnded, readCalls, sendTo } from "./requests.ts";

/** A run that a client names with `x-purser-run` has the budget of its agent, as one that Purser makes. */

const CHAT = {
  path: "/v1/chat/completions",
  body: { model: "gpt-4o-mini", max_completion_tokens: 500, messages: [{ role: "user", content: "Hi" }] },
};
/** A call of 1,000 tokens in and 500 out costs 0.00045 USD. */
const usage = { inputTokens: 1_000, outputTokens: 500 };
const run = (id: string, agent = "coder") => ({ headers: { "x-purser-agent": agent, "x-purser-run": id } });

async function withAgent(
  definition: Record<string, unknown>,
  test: (purser: TestPurser, fake: FakeProvider) => Promise<void>,
): Promise<void> {
  await using fake = await startFakeProvider((request) => answerTo(request, { text: "Hi", usage }));
  await using purser = await openTestPurser({ fake });
  await purser.api("PUT", "/agents/coder", { model: "demo:echo", ...definition });
  await test(purser, fake);
}

Deno.test("a run of an agent ends at the agent's budget, and another run has its own", () =>
  withAgent({ cost_budget_usd: 0.0005 }, async (purser, fake) => {
    assert.equal((await sendTo(purser, CHAT, run("r1"))).status, 200);
    assert.equal((await sendTo(purser, CHAT, run("r1"))).status, 200);
    const refused = await sendTo(purser, CHAT, run("r1"));
    assert.deepEqual([refused.status, refused.headers.get("x-should-retry")], [402, "false"]);
    const { error } = await refused.json();
    assert.match(error.message, /^Cannot make the next model call of run r1: .*\$0\.0005/);
    assert.deepEqual(error.details, { cost_usd_so_far: 0.0009, budget_usd: 0.0005 });
    assert.equal((await sendTo(purser, CHAT, run("r2"))).status, 200);
    assert.equal((await sendTo(purser, CHAT, run("r1", "other"))).status, 200, "not the agent's");
    assert.equal(
      (await sendTo(purser, CHAT, { headers: { "x-purser-agent": "coder" } })).status,
      200,
      "no run",
    );
    assert.equal(fake.calls, 5);
  }));

Deno.test("a strict budget of an agent bounds the calls of its runs, also at once", () =>
  withAgent({ cost_budget_usd: 0.003, budget_mode: "strict" }, async (purser, fake) => {
    const unbounded = { ...CHAT, body: { ...CHAT.body, max_completion_tokens: undefined } };
    assert.equal((await sendTo(purser, unbounded, run("r1"))).status, 402);
    assert.equal(fake.calls, 0);
    const statuses = await Promise.all(
      Array.from({ length: 8 }, async () => (await sendTo(purser, CHAT, run("r1"))).status),
    );
    await allEnded(purser);
    const cost = (await readCalls(purser)).reduce((sum, call) => sum + call.cost!, 0n);
    assert.ok(cost <= 3_000_000n, String(cost));
    assert.ok(statuses.includes(200) && statuses.includes(402), statuses.join());
  }));

Deno.test("a model without a price is refused in a run with a budget, unless its agent allows it", async () => {
  const unpriced = { ...CHAT, body: { ...CHAT.body, model: "unheard-of" } };
  for (const allow_unpriced of [false, true]) {
    await withAgent({ cost_budget_usd: 1, allow_unpriced }, async (purser) => {
      assert.equal((await sendTo(purser, unpriced, run("r1"))).status, allow_unpriced ? 200 : 402);
    });
  }
});
