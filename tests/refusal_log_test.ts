import assert from "node:assert/strict";
import { meter } from "../src/runner/mod.ts";
import { EVENT } from "./harness/bodies.ts";
import { type ClientRequest, makeKey, openHttpClient } from "./harness/http_client.ts";
import { fakeModel } from "./harness/fake_model.ts";
import { readSse } from "./harness/sse_reader.ts";
import { openTestPurser } from "./harness/test_purser.ts";

/** The amounts of budgets over other agents, after a refusal of a call that somebody else has made for the agent. */

/** Is in no other amount. */
const SPENT = 0.777;

async function openWithSpending() {
  const purser = await openTestPurser();
  for (const agent of ["mine", "theirs"]) await purser.api("PUT", `/agents/${agent}`, { model: "demo:echo" });
  await purser.api("POST", "/agents/mine/runs", { input: "Hi", session_id: "s" });
  for (const budget of [{ name: "Day", per: "day" }, { name: "Life", per: "lifetime", agent_id: "theirs" }]) {
    const { status } = await purser.api("POST", "/budgets", { limit_usd: 0.5, ...budget });
    assert.equal(status, 201);
  }
  const call = { ...EVENT, call_id: "theirs:1", agent_id: "theirs", session_id: "theirs:s", cost_usd: SPENT };
  assert.equal((await purser.api("POST", "/costs/events", [call])).status, 201);
  const { key } = await makeKey(purser, ["read", "run"], { agent_id: "mine" });
  const client = openHttpClient(purser);
  return {
    purser,
    client,
    async read(path: string, more: ClientRequest = {}): Promise<string> {
      const { status, body } = await client.send("GET", path, { key, ...more });
      assert.equal(status, 200, path);
      return typeof body === "string" ? body : JSON.stringify(body);
    },
    async readStream(): Promise<string> {
      const reader = readSse(await client.fetch("GET", "/events?after=0", { key }));
      let text = "";
      while (!text.includes("cost_usd_so_far")) text += JSON.stringify((await reader.next())!);
      await reader.leave();
      return text;
    },
    [Symbol.asyncDispose]: () => purser.core.close(),
  };
}

/** Asserts that a text has the refusal, and no amounts of others. */
function assertHidden(text: string, where: string): void {
  assert.match(text, /budget “Day” \(\$0\.5 per UTC day, all agents\) has nothing left/, where);
  assert.ok(!text.includes(String(SPENT)), `${where}: ${text}`);
}

Deno.test("a refused run that another caller has made shows a key of its agent no amounts of other agents, by any way of reading", async () => {
  await using t = await openWithSpending();
  const headers = { "idempotency-key": "once" };
  const run = () => t.purser.api("POST", "/agents/mine/runs", { input: "More", session_id: "s" }, headers);
  const refused = await run();
  assert.equal(refused.status, 402);
  assert.match(refused.body.detail, /has \$0\.777\d* spent/, "the caller itself may see them");
  assert.ok(refused.body.details.refused_by[0].spent_usd > SPENT);
  const { run_id } = refused.body;

  assertHidden(await t.read("/sessions/s/events"), "events");
  assertHidden(await t.read(`/runs/${run_id}`), "run");
  assertHidden(await t.readStream(), "stream");
  const snapshot = await t.read("/agents/s/snapshot?with_events=true");
  assertHidden(snapshot, "snapshot");
  for (
    const path of ["/sessions/s", "/sessions", "/agents/mine/sessions", "/sessions/s/costs", "/anomalies"]
  ) {
    assert.ok(!(await t.read(path)).includes(String(SPENT)), path);
  }
  assertHidden(JSON.stringify((await run()).body), "the repeated request, which is answered from the run");

  await using elsewhere = await openTestPurser();
  const restored = await elsewhere.api("POST", "/agents/snapshot/restore", snapshot, {
    "content-type": "application/json",
  });
  assert.equal(restored.status, 200, JSON.stringify(restored.body));
  const imported = await elsewhere.api("GET", `/sessions/${restored.body.session_id}/events/imported`);
  assertHidden(JSON.stringify(imported.body), "imported events");
});

Deno.test("a refused run's own events have no amounts of other agents while it is followed", async () => {
  await using t = await openWithSpending();
  const response = await t.purser.fetch("POST", "/agents/mine/runs", {
    body: { input: "More", session_id: "s" },
    headers: { accept: "text/event-stream" },
  });
  const frames = await readSse(response).rest();
  const refusals = frames.filter(({ event }) => event?.startsWith("budget."));
  assert.deepEqual(refusals.map(({ event }) => event), ["budget.refused", "budget.exceeded"]);
  for (const { event, data } of refusals) assertHidden(JSON.stringify(data), event!);
  assert.match(frames.at(-1)!.data.detail, /has \$0\.777\d* spent/, "the caller gets them with the error");
});

for (const agentId of ["mine", "theirs"]) {
  Deno.test(`a refused reservation of agent ${agentId} in a session shows its agent's key no amounts of others`, async () => {
    await using t = await openWithSpending();
    const body = { agent_id: agentId, session_id: "s", estimate_usd: 0.1 };
    const refused = await t.purser.api("POST", "/budgets/reservations", body);
    assert.match(refused.body.detail, /\$0\.777/);
    assert.equal(refused.body.details.refused_by.length, agentId === "mine" ? 1 : 2);
    assert.ok(!(await t.read("/sessions/s/events")).includes(String(SPENT)));
    if (agentId === "mine") assertHidden(await t.readStream(), "stream");
  });

  Deno.test(`a refused call of a program's model of agent ${agentId} shows the session's key no amounts of others`, async () => {
    await using t = await openWithSpending();
    const fake = fakeModel(() => Promise.reject(new Error("is not called")));
    const model = meter(t.purser.core, fake.model, { agentId, sessionId: "s" });
    await assert.rejects(
      async () =>
        await model.doGenerate({ prompt: [{ role: "user", content: [{ type: "text", text: "Hi" }] }] }),
      /has \$0\.777\d* spent/,
    );
    assert.ok(!(await t.read("/sessions/s/events")).includes(String(SPENT)));
  });
}

Deno.test("a refusal by a budget of the agent itself keeps its amounts in the log", async () => {
  await using purser = await openTestPurser();
  await purser.api("PUT", "/agents/mine", { model: "demo:echo" });
  await purser.api("POST", "/agents/mine/runs", { input: "Hi", session_id: "s" });
  await purser.api("POST", "/budgets", { name: "Own", limit_usd: 0.000001, per: "day", agent_id: "mine" });
  const { body } = await purser.api("POST", "/agents/mine/runs", { input: "More", session_id: "s" });
  const { error } = (await purser.api("GET", `/runs/${body.run_id}`)).body;
  assert.deepEqual([error.message, error.details], [body.detail, body.details]);
  assert.ok(body.details.refused_by[0].spent_usd > 0);
});
