import assert from "node:assert/strict";
import { generateText } from "ai";
import { openPurser } from "../src/mod.ts";
import { meter } from "../src/runner/mod.ts";
import { answerTo } from "./harness/answers.ts";
import { startFakeProvider } from "./harness/fake_provider.ts";
import { realModel } from "./harness/metered_models.ts";
import { openTestPurser, rejection } from "./harness/test_purser.ts";

const ECHO = { name: "echo", model: "demo:echo" };

Deno.test("runAgent() adds the tags of a run to those of its agent, and refuses invalid ones", async () => {
  const purser = await openPurser({ db: ":memory:", env: {} });
  const read = async (path: string) => await (await purser.app.request(path)).json();
  const tags = { customer: "acme" };
  const { run_id } = await purser.runAgent({ ...ECHO, tags: { team: "a", customer: "b" } }, "Hi", { tags });
  assert.deepEqual((await read(`/runs/${run_id}`)).tags, { team: "a", customer: "acme" });
  const bare = await purser.runAgent(ECHO, "Hi");
  assert.equal("tags" in await read(`/runs/${bare.run_id}`), false);
  const invalid: Record<string, string>[] = [{ "a b": "c" }, { a: "" }, { a: 1 as never }, { a: "\ud800" }];
  for (const wrong of invalid) {
    const error = await rejection(purser.runAgent(ECHO, "Hi", { tags: wrong }));
    assert.equal(error.code, "invalid");
    assert.match(error.message, /^Cannot use the tags of the run: a/);
  }
  assert.equal((await read("/costs?group_by=run")).length, 2, "a refused run makes no call");
  await purser.close();
});

Deno.test("meter() books its tags with each call", async () => {
  await using fake = await startFakeProvider((request) => answerTo(request, { text: "Hello" }));
  await using purser = await openTestPurser();
  await purser.core.prices.ready?.();
  const real = realModel(fake, "openai-chat", "gpt-4o-mini");
  const model = meter(purser.core, real, { agentId: "outside", tags: { feature: "search" } });
  await generateText({ model, prompt: "Hi" });
  await generateText({ model: meter(purser.core, real, { agentId: "outside" }), prompt: "Hi" });
  const { body } = await purser.api("GET", "/costs?group_by=tag:feature");
  assert.deepEqual(
    body.map((row: { tag_value: string; model_calls: number }) => [row.tag_value, row.model_calls]),
    [[null, 1], ["search", 1]],
  );
  assert.deepEqual(purser.published.map(({ payload }) => payload.tags), [{ feature: "search" }, undefined]);
  assert.throws(() => meter(purser.core, real, { agentId: "a", tags: { "": "x" } }), /the tags of the meter/);
});

Deno.test("a request under an Idempotency-Key with other tags is another request", async () => {
  await using purser = await openTestPurser();
  await purser.api("PUT", "/agents/echo", { model: "demo:echo" });
  const send = (tags?: object) =>
    purser.api("POST", "/agents/echo/runs", { input: "Hi", tags }, { "idempotency-key": '"k"' });
  const first = await send({ b: "2", a: "1" });
  assert.equal(first.status, 200);
  assert.equal((await send({ a: "1", b: "2" })).body.run_id, first.body.run_id);
  assert.equal((await send({ a: "1" })).body.code, "idempotency_mismatch");
  assert.equal((await send()).body.code, "idempotency_mismatch");
});

Deno.test("a snapshot carries the tags of its agent and of its events, and refuses invalid ones", async () => {
  const from = await openPurser({ db: ":memory:", env: {} });
  await from.defineAgent({ ...ECHO, tags: { team: "a" } });
  await from.runAgent({ ...ECHO, tags: { team: "a" } }, "Hi", {
    sessionId: "s1",
    tags: { customer: "acme" },
  });
  const snapshot = await from.exportSession("echo", "s1", { withEvents: true });
  await from.close();
  assert.deepEqual(snapshot.agent!.tags, { team: "a" });
  assert.deepEqual(snapshot.tags, {}, "those of a snapshot are its own");
  const recorded = snapshot.events!.find(({ type }) => type === "cost.recorded")!;
  assert.deepEqual(recorded.payload.tags, { customer: "acme", team: "a" });

  const to = await openPurser({ db: ":memory:", env: {} });
  const bad = { ...snapshot, integrity: undefined, agent: { ...snapshot.agent!, tags: { "a b": "c" } } };
  assert.match((await rejection(to.importSession(bad))).message, /agent\.tags/);
  await to.importSession(snapshot);
  const agent = await (await to.app.request("/agents/echo")).json();
  assert.deepEqual(agent.tags, { team: "a" });
  assert.deepEqual((await to.exportSession("echo", "s1")).agent!.tags, { team: "a" });
  await to.close();
});

Deno.test("tags hold no configured secret", async () => {
  const secret = "a-secret-of-a-provider-1";
  const purser = await openPurser({
    db: ":memory:",
    env: {},
    providers: { local: { baseUrl: "http://127.0.0.1:1/v1", apiKey: secret } },
  });
  const tags = { customer: secret };
  const { run_id } = await purser.runAgent(ECHO, "Hi", { tags });
  const json = (method: string, body: unknown) => ({
    method,
    body: JSON.stringify(body),
    headers: { "content-type": "application/json" },
  });
  const call = { call_id: "one", at: "2026-11-21T09:30:00.000Z", agent_id: "bot", tags };
  const usage = { provider: "demo", model: "echo", input_tokens: 1, output_tokens: 1 };
  const report = json("POST", [{ ...call, ...usage }]);
  const answers = [];
  for (
    const [path, init] of [
      [`/runs/${run_id}`],
      ["/agents/bot", json("PUT", { model: "demo:echo", tags })],
      ["/agents/bot"],
      ["/costs/events", report],
      ["/costs/events", report],
      ["/costs/calls/one"],
    ] as const
  ) {
    const answer = await purser.app.request(path, init);
    answers.push(await answer.text());
    assert.ok(answer.ok, answers.at(-1));
  }
  await purser.close();
  for (const text of answers) assert.ok(!text.includes(secret), text);
  assert.match(answers.at(-2)!, /"duplicates":1/);
});
