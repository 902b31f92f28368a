import assert from "node:assert/strict";
import { answerTo } from "./harness/answers.ts";
import { add, BUDGETS, read, spend } from "./harness/budget_requests.ts";
import { startFakeProvider } from "./harness/fake_provider.ts";
import { makeKey, openHttpClient } from "./harness/http_client.ts";
import { openTestPurser, type TestPurser } from "./harness/test_purser.ts";
import { FIXTURE_AT } from "./fixtures/providers/mod.ts";

/** A session with all its sub-agents: its budgets, and its tree. */

const MODEL = "openai.chat:gpt-4o-mini";
const AT = new Date(FIXTURE_AT).toISOString();
/** The cost of a call of the fake provider, in USD. */
const CALL = 0.0000027;
/** Two calls reach it. */
const LIMIT = 0.000005;

/** Agents `boss` and `ann`; `run()` makes a run of one of them, below another run if one is named. */
async function openWithAgents() {
  const fake = await startFakeProvider((request) => answerTo(request, { text: "Yes" }));
  const purser = await openTestPurser({ fake });
  for (const agent of ["boss", "ann"]) await purser.api("PUT", `/agents/${agent}`, { model: MODEL });
  const run = async (agent: string, parent_run_id?: string, session_id?: string) =>
    (await purser.api("POST", `/agents/${agent}/runs`, { input: "Go", parent_run_id, session_id })).body;
  return {
    ...{ fake, purser, run },
    async [Symbol.asyncDispose]() {
      await purser[Symbol.asyncDispose]();
      await fake[Symbol.asyncDispose]();
    },
  };
}

const treeOf = async ({ api }: TestPurser, session: string) =>
  (await api("GET", `/sessions/${session}/tree`)).body;
const shownIn = ({ agents }: { agents: Record<string, unknown>[] }) =>
  agents.map(({ depth, session_id, subagent, cost_usd, with_subagents }) => [
    ...[depth, session_id, subagent, cost_usd, (with_subagents as { cost_usd: number }).cost_usd],
  ]);

Deno.test("a budget per tree counts a session with the runs below it, and names the tree that has spent it", async () => {
  await using t = await openWithAgents();
  const budget = await add(t.purser, { name: "Tree", limit_usd: LIMIT, per: "tree" });
  const root = await t.run("boss");
  const below = await t.run("ann", root.run_id);
  const refused = await t.run("ann", below.run_id);
  assert.equal(refused.code, "budget_exceeded");
  assert.match(refused.detail, new RegExp(`per session with its sub-agents, tree ${root.session_id}\\)`));
  const [by] = refused.details.refused_by;
  assert.deepEqual([by.per, by.scope, by.spent_usd], ["tree", `tree ${root.session_id}`, 2 * CALL]);
  // Another tree has a counter of its own; a session of a sub-agent that is continued by itself is one.
  assert.equal((await t.run("ann")).status, "completed");
  assert.equal((await t.run("ann", undefined, below.session_id)).status, "completed");
  const { body: counters } = await t.purser.api("GET", `${BUDGETS}/${budget.budget_id}/counters`);
  assert.deepEqual(
    counters.map(({ kind, id, spent_usd }: Record<string, unknown>) => [kind, id, spent_usd]).slice(0, 1),
    [["tree", root.session_id, 2 * CALL]],
  );
  assert.equal(counters.length, 3);
  const { counter, spent_usd } = await read(t.purser, budget.budget_id);
  assert.deepEqual([counter, spent_usd], [{ kind: "tree", id: root.session_id }, 2 * CALL]);
});

Deno.test("a budget per tree warns once for each tree, and names it", async () => {
  await using t = await openWithAgents();
  await add(t.purser, { name: "Tree", limit_usd: LIMIT, per: "tree", warn_at: [1], action: "watch" });
  const root = await t.run("boss");
  for (let runs = 0; runs < 3; runs++) await t.run("ann", root.run_id);
  const { body: alerts } = await t.purser.api("GET", "/alerts/history");
  assert.deepEqual(
    alerts.map(({ threshold_type, counter }: Record<string, unknown>) => [threshold_type, counter]),
    [["budget_per_tree_usd", { kind: "tree", id: root.session_id }]],
  );
});

Deno.test("a key of one agent is refused by a budget per tree, and sees no amounts of it", async () => {
  await using t = await openWithAgents();
  const budget = await add(t.purser, { name: "Tree", limit_usd: LIMIT, per: "tree" });
  const root = await t.run("boss");
  const below = await t.run("ann", root.run_id);
  const { key } = await makeKey(t.purser, ["read", "run"], { agent_id: "ann" });
  const client = openHttpClient(t.purser);
  const refused = await client.send("POST", "/agents/ann/runs", {
    key,
    body: { input: "Go", parent_run_id: below.run_id },
  });
  assert.equal(refused.status, 402);
  const shown = JSON.stringify([
    refused.body,
    (await client.send("GET", `${BUDGETS}/${budget.budget_id}`, { key })).body,
    (await client.send("GET", `${BUDGETS}/${budget.budget_id}/counters`, { key })).body,
    (await client.send("GET", `${BUDGETS}/check?agent_id=ann&session_id=${below.session_id}`, { key })).body,
  ]);
  assert.ok(!shown.includes(String(2 * CALL)), shown);
  assert.equal((await client.send("GET", `/sessions/${root.session_id}/tree`, { key })).status, 404);
});

Deno.test("a budget of one tree names the session at its root, and can be raised, checked and explained", async () => {
  await using t = await openWithAgents();
  const root = await t.run("boss");
  const below = await t.run("ann", root.run_id);
  const one = await add(t.purser, {
    name: "One",
    limit_usd: LIMIT,
    per: "tree",
    session_id: root.session_id,
  });
  assert.deepEqual([one.session_id, one.spent_usd, one.unknown], [root.session_id, 2 * CALL, undefined]);
  assert.equal((await t.run("ann", root.run_id)).code, "budget_exceeded");
  const { body: checked } = await t.purser.api("GET", `${BUDGETS}/check?session_id=${below.session_id}`);
  assert.deepEqual(
    checked.map(({ name, scope, state }: Record<string, unknown>) => [name, scope, state]),
    [["One", `tree ${root.session_id}`, "reached"]],
  );
  await t.purser.api("POST", `${BUDGETS}/${one.budget_id}/raises`, { extra_usd: LIMIT });
  assert.equal((await t.run("ann", root.run_id)).status, "completed");
  const each = await add(t.purser, { name: "Each", limit_usd: LIMIT, per: "tree" });
  const raised = await t.purser.api("POST", `${BUDGETS}/${each.budget_id}/raises`, {
    ...{ extra_usd: LIMIT, counter: root.session_id },
  });
  assert.equal(raised.status, 201);
  assert.equal((await read(t.purser, each.budget_id)).extra_usd, LIMIT);
  const { status, body } = await t.purser.api("PATCH", `${BUDGETS}/${one.budget_id}`, { each: "agent" });
  assert.deepEqual([status, body.details.issues[0].path], [400, "each"]);
});

Deno.test("the tree of a session has its runs below the runs that have made them", async () => {
  await using t = await openWithAgents();
  const root = await t.run("boss");
  const first = await t.run("ann", root.run_id);
  const nested = await t.run("boss", first.run_id);
  const second = await t.run("ann", root.run_id);
  const tree = await treeOf(t.purser, root.session_id);
  assert.deepEqual([tree.root_session_id, tree.more_agents], [root.session_id, 0]);
  assert.deepEqual(shownIn(tree), [
    [0, root.session_id, null, CALL, 4 * CALL],
    [1, first.session_id, null, CALL, 2 * CALL],
    [2, nested.session_id, null, CALL, CALL],
    [1, second.session_id, null, CALL, CALL],
  ]);
  assert.equal((await treeOf(t.purser, nested.session_id)).root_session_id, root.session_id);
  // A key of one agent gets no sessions of others.
  const { key } = await makeKey(t.purser, ["read"], { agent_id: "boss" });
  const { body } = await openHttpClient(t.purser).send("GET", `/sessions/${root.session_id}/tree`, { key });
  assert.deepEqual(shownIn(body).map(([, session]) => session), [root.session_id, nested.session_id]);
  assert.equal((await t.purser.api("GET", "/sessions/ses_none/tree")).status, 404);
});

Deno.test("a report of a call of a run counts in the tree of the run", async () => {
  await using t = await openWithAgents();
  const root = await t.run("boss");
  const below = await t.run("ann", root.run_id);
  const budget = await add(t.purser, { name: "Tree", limit_usd: 1, per: "tree" });
  await spend(t.purser, 0.5, { agent_id: "ann", session_id: "elsewhere", run_id: below.run_id });
  await spend(t.purser, 0.25, { agent_id: "ann", session_id: "alone" });
  const { counter, spent_usd } = await read(t.purser, budget.budget_id);
  assert.deepEqual([counter, spent_usd], [{ kind: "tree", id: root.session_id }, 0.5 + 2 * CALL]);
});

const SIGHTING = { provider: "anthropic", model: "claude-sonnet-4-5", input_tokens: 1000, output_tokens: 10 };
const sight = async (purser: TestPurser, source: string, sighting: object) => {
  const origin = { source, name: "claude-code", agent_id: "claude-code" };
  const { status, body } = await purser.api("POST", "/sightings", {
    origin,
    sightings: [{ at: AT, ...SIGHTING, ...sighting }],
  });
  assert.equal(status, 200, JSON.stringify(body));
};

Deno.test("a call whose root becomes known later moves to its tree, whatever has told it first", async () => {
  const told = { response_id: "msg_1" };
  const byExporter = { ref: "span:1", session: "child", ...told };
  const byLog = { ref: "msg_1", session: "root", subagent: { id: "child" }, ...told };
  for (const isLogFirst of [false, true]) {
    await using purser = await openTestPurser();
    const budget = await add(purser, { name: "Tree", limit_usd: 1, per: "tree" });
    if (isLogFirst) await sight(purser, "log", byLog);
    await sight(purser, "otlp", byExporter);
    if (!isLogFirst) {
      assert.equal((await read(purser, budget.budget_id)).counter?.id, "child");
      await sight(purser, "log", byLog);
    }
    const { body } = await purser.api("GET", `${BUDGETS}/${budget.budget_id}/counters`);
    const spent = body.filter(({ spent_usd }: { spent_usd: number }) => spent_usd > 0);
    assert.deepEqual(spent.map(({ id }: { id: string }) => id), ["root"], String(isLogFirst));
    assert.deepEqual(shownIn(await treeOf(purser, "root")).map(([depth, , agent]) => [depth, agent]), [
      [0, null],
      [1, "child"],
    ]);
  }
});

Deno.test("a tree with loops, thousands of levels or of agents is shown, and its sums are right", async () => {
  await using purser = await openTestPurser();
  const calls: [id: string, parent: string | undefined][] = [
    ["itself", "itself"],
    ["a", "b"],
    ["b", "a"],
    ["orphan", "unknown"],
    ...Array.from({ length: 60 }, (_, level): [string, string] => [`level ${level}`, `level ${level - 1}`]),
    ...Array.from({ length: 1_000 }, (_, index): [string, undefined] => [`many ${index}`, undefined]),
  ];
  for (let start = 0; start < calls.length; start += 500) {
    const events = calls.slice(start, start + 500).map(([subagent, subagent_of], index) => ({
      ...{
        call_id: `call_${start + index}`,
        at: AT,
        agent_id: "coder",
        session_id: "s",
      },
      ...{ provider: "openai", model: "m", input_tokens: 1, output_tokens: 1, cost_usd: 1 },
      tags: { subagent, ...(subagent_of !== undefined && { subagent_of }) },
    }));
    const { status, body } = await purser.api("POST", "/costs/events", events);
    assert.equal(status, 201, JSON.stringify(body));
  }
  const tree = await treeOf(purser, "s");
  assert.equal(tree.agents.length + tree.more_agents, 1 + calls.length);
  assert.ok(tree.more_agents > 0);
  assert.equal(tree.agents[0].with_subagents.cost_usd, calls.length);
  assert.equal(tree.agents[0].with_subagents.model_calls, calls.length);
  assert.ok(tree.agents.every(({ depth }: { depth: number }) => depth <= 32));
});
