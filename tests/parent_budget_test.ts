import assert from "node:assert/strict";
import { answerTo } from "./harness/answers.ts";
import { startFakeProvider } from "./harness/fake_provider.ts";
import { makeKey, openHttpClient } from "./harness/http_client.ts";
import { openTestPurser } from "./harness/test_purser.ts";

/** Budgets of a run that another run makes: those of the runs above it count it, and name the run whose they are. */

const MODEL = "openai.chat:gpt-4o-mini";
/** Two calls of 0.0000027 USD reach it. */
const LIMIT = 0.000005;

/** Agent `boss` makes a run, in which `ann` makes another: the next one below it is refused. */
async function openWithRuns(boss: object) {
  const fake = await startFakeProvider((request) => answerTo(request, { text: "Yes" }));
  const purser = await openTestPurser({ fake });
  await purser.api("PUT", "/agents/boss", { model: MODEL, ...boss });
  await purser.api("PUT", "/agents/ann", { model: MODEL });
  const run = async (agent: string, parent_run_id?: string) =>
    (await purser.api("POST", `/agents/${agent}/runs`, { input: "Go", parent_run_id })).body;
  return {
    purser,
    run,
    async [Symbol.asyncDispose]() {
      await purser[Symbol.asyncDispose]();
      await fake[Symbol.asyncDispose]();
    },
  };
}

Deno.test("a refusal by the budget of a run above names that run", async () => {
  await using t = await openWithRuns({ cost_budget_usd: LIMIT });
  const above = await t.run("boss");
  await t.run("ann", above.run_id);
  const refused = await t.run("ann", above.run_id);
  assert.equal(
    refused.detail,
    `Cannot make the next model call of run ${refused.run_id}: run ${above.run_id} above it has cost $0.0000054 and its ` +
      "budget is $0.000005",
  );
  const [by, ...others] = refused.details.refused_by;
  assert.deepEqual([by.budget_id, by.scope, by.spent_usd], [null, `run ${above.run_id}`, 0.0000054]);
  assert.equal(others.length, 0);
});

Deno.test("an alert of a budget per run names the run whose cost it is, also for the call of a run below", async () => {
  await using t = await openWithRuns({});
  await t.purser.api("POST", "/budgets", { name: "Each", limit_usd: LIMIT, per: "run", warn_at: [1] });
  const above = await t.run("boss");
  await t.run("ann", above.run_id);
  const { body } = await t.purser.api("GET", "/alerts/history");
  assert.deepEqual(
    body.map((alert: Record<string, unknown>) => [
      ...[alert.agent_id, alert.session_id, alert.run_id, alert.value_usd],
    ]),
    [["boss", above.session_id, above.run_id, 0.0000054]],
  );
});

for (
  const [title, agent, budget] of [
    ["by its agent", { cost_budget_usd: LIMIT }, undefined],
    ["per run", {}, { name: "Each", limit_usd: LIMIT, per: "run", agent_id: "boss" }],
  ] as const
) {
  Deno.test(`a key of one agent sees no amounts of another agent's run above, of a budget ${title}`, async () => {
    await using t = await openWithRuns(agent);
    if (budget) await t.purser.api("POST", "/budgets", budget);
    const above = await t.run("boss");
    const own = await t.run("ann", above.run_id);
    const { key } = await makeKey(t.purser, ["read", "run"], { agent_id: "ann" });
    const client = openHttpClient(t.purser);
    const { status, body } = await client.send("POST", "/agents/ann/runs", {
      key,
      body: { input: "Go", parent_run_id: own.run_id },
    });
    assert.equal(status, 402);
    assert.ok(!JSON.stringify(body).includes("0.0000054"), JSON.stringify(body));
    assert.equal(body.details.budget_usd, LIMIT);
    assert.deepEqual((await client.send("GET", "/alerts/history", { key })).body, []);
  });
}
