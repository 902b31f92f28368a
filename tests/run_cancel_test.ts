import assert from "node:assert/strict";
import type { ToolSet } from "ai";
import { z } from "zod";
import { answerTo } from "./harness/answers.ts";
import { type Reply, startFakeProvider } from "./harness/fake_provider.ts";
import { openTestPurser, type TestPurser } from "./harness/test_purser.ts";

const MODEL = "openai.chat:gpt-4o-mini";

/** A fake provider that reports when it has received a request. */
async function startAsked(reply: Reply) {
  const asked = Promise.withResolvers<void>();
  const fake = await startFakeProvider(() => {
    asked.resolve();
    return reply;
  });
  return { fake, asked: asked.promise };
}

async function cancel(purser: TestPurser) {
  const [runId] = purser.core.liveRuns.keys();
  const { status, body } = await purser.api("POST", `/runs/${runId}/cancel`);
  assert.equal(status, 202);
  assert.deepEqual(body, { run_id: runId });
  return runId!;
}

Deno.test("a run that hangs can be cancelled: 200, cancelled, and its session is free", async () => {
  const { fake, asked } = await startAsked({ hang: true });
  await using _closing = fake;
  await using purser = await openTestPurser({ fake });
  await purser.api("PUT", "/agents/a", { model: MODEL });
  const answer = purser.api("POST", "/agents/a/runs", { input: "Hi", session_id: "s1" });
  await asked;
  const busy = await purser.api("POST", "/agents/a/runs", { input: "Me too", session_id: "s1" });
  assert.equal(busy.status, 409);
  const runId = await cancel(purser);
  assert.equal(busy.body.details.active_run_id, runId);
  const { status, body } = await answer;
  assert.equal(status, 200);
  assert.equal(body.status, "cancelled");
  assert.equal(body.output, null);
  // The provider has read the prompt, so it will charge for it: booked as an estimate.
  assert.ok(body.token_usage.cost_usd > 0);
  const { calls } = (await purser.api("GET", "/sessions/s1/costs")).body;
  assert.deepEqual(calls.map((call: { estimated: boolean }) => call.estimated), [true]);
  const { body: session } = await purser.api("GET", "/sessions/s1");
  assert.deepEqual([session.status, session.active_run_id], ["cancelled", null]);
  assert.equal((await purser.events("s1")).at(-1)!.type, "run.cancelled");
  assert.deepEqual((await purser.messages("s1")).map(({ content }) => content), ["Hi"]);

  fake.enqueue(answerTo({ api: "openai-chat", model: "gpt-4o-mini" }, { text: "Back" }));
  const again = await purser.api("POST", "/agents/a/runs", { input: "Again", session_id: "s1" });
  assert.equal(again.body.output, "Back");
  assert.equal((await purser.api("POST", `/runs/${runId}/cancel`)).status, 409);
});

Deno.test("a cancelled stream is booked up to its last chunk", async () => {
  const { frames } = answerTo({ api: "openai-chat", model: "gpt-4o-mini" }, { text: "Half and half" }).answer;
  await using fake = await startFakeProvider(({ signal }) => ({
    paced: [...frames.slice(0, 2), new Promise((resolve) => signal.addEventListener("abort", resolve))],
  }));
  await using purser = await openTestPurser({ fake });
  const caller = new AbortController();
  const result = await purser.run({ model: MODEL }, "Hi", {
    sessionId: "s1",
    signal: caller.signal,
    onPart: (part) => part.type === "text" && part.text !== "" ? caller.abort() : undefined,
  });
  assert.equal(result.status, "cancelled");
  assert.equal(result.token_usage.model_calls, 1);
  assert.ok(result.token_usage.cost_usd! > 0);
  const { body } = await purser.api("GET", "/sessions/s1/costs");
  assert.equal(body.calls[0].estimated, true);
  const called = (await purser.events("s1")).find(({ type }) => type === "model.called")!;
  assert.equal(called.payload.text, "Half an");
});

Deno.test("a streamed call cancelled before the response begins is booked: its prompt was processed", async () => {
  const { fake, asked } = await startAsked({ hang: true });
  await using _closing = fake;
  await using purser = await openTestPurser({ fake });
  const caller = new AbortController();
  const running = purser.run({ model: MODEL }, "Hi", {
    sessionId: "s1",
    signal: caller.signal,
    onPart: () => {},
  });
  await asked;
  caller.abort();
  const { status, token_usage } = await running;
  assert.deepEqual([status, token_usage.model_calls], ["cancelled", 1]);
  assert.ok(token_usage.cost_usd! > 0);
  const { body } = await purser.api("GET", "/sessions/s1/costs");
  assert.deepEqual(body.calls.map((call: { estimated: boolean }) => call.estimated), [true]);
  assert.deepEqual((await purser.events("s1")).map(({ type }) => type), [
    "session.created",
    "run.started",
    "model.called",
    "cost.recorded",
    "run.cancelled",
  ]);
});

for (const honors of [true, false]) {
  Deno.test(`a run is cancelled while a tool runs that ${honors ? "honors" : "ignores"} its signal`, async () => {
    const running = Promise.withResolvers<void>();
    const tools: ToolSet = {
      slow: {
        description: "Takes for ever",
        inputSchema: z.object({}),
        execute: (_input: unknown, { abortSignal }: { abortSignal?: AbortSignal }) => {
          running.resolve();
          return new Promise((_, reject) => {
            if (honors) abortSignal!.addEventListener("abort", () => reject(new Error("stopped early")));
          });
        },
      },
    };
    await using purser = await openTestPurser({ tools });
    await purser.api("PUT", "/agents/a", { model: "demo:loop", tools: ["slow"] });
    const answer = purser.api("POST", "/agents/a/runs", { input: "Go", session_id: "s1" });
    await running.promise;
    await cancel(purser);
    const { status, body } = await answer;
    assert.equal(status, 200);
    assert.equal(body.status, "cancelled");
    assert.equal(body.steps, 1);
    const events = await purser.events("s1");
    assert.deepEqual(events.slice(-3).map(({ type }) => type), [
      "tool.called",
      "tool.returned",
      "run.cancelled",
    ]);
    assert.match(String(events.at(-2)!.payload.error), honors ? /stopped early/ : /cancelled on request/);
    assert.equal(purser.core.liveRuns.size, 0);
    // Each tool call has its result: a model must be able to continue the session.
    const roles = (await purser.messages("s1")).map(({ role }) => role);
    assert.equal(
      roles.filter((role) => role === "assistant").length,
      roles.filter((role) => role === "tool").length,
    );
    await purser.api("PUT", "/agents/a", { model: "demo:echo" });
    const again = await purser.api("POST", "/agents/a/runs", { input: "Again", session_id: "s1" });
    assert.equal(again.body.output, "You said: Again");
  });
}

Deno.test("a run whose caller aborts before it starts is cancelled without a call", async () => {
  await using fake = await startFakeProvider();
  await using purser = await openTestPurser({ fake });
  for (const onPart of [undefined, () => {}]) {
    const result = await purser.run({ model: MODEL }, "Hi", { signal: AbortSignal.abort(), onPart });
    assert.equal(result.status, "cancelled");
  }
  assert.equal(fake.calls, 0);
});

Deno.test("a run that waits for its next attempt can be cancelled", async () => {
  const { fake, asked } = await startAsked({ status: 429, headers: { "retry-after": "50" } });
  await using _closing = fake;
  await using purser = await openTestPurser({ fake });
  const result = purser.run({ model: MODEL }, "Hi", { sessionId: "s1" });
  await asked;
  await cancel(purser);
  assert.equal((await result).status, "cancelled");
  assert.equal(fake.calls, 1);
});

Deno.test("an unknown run cannot be cancelled", async () => {
  await using purser = await openTestPurser();
  const { status, body } = await purser.api("POST", "/runs/run_nowhere/cancel");
  assert.equal(status, 404);
  assert.equal(body.detail, "Cannot find run run_nowhere");
});

Deno.test("closing with a grace period cancels runs that take longer, and records them", async () => {
  const { fake, asked } = await startAsked({ hang: true });
  await using _closing = fake;
  await using purser = await openTestPurser({ fake });
  const result = purser.run({ model: MODEL }, "Hi");
  await asked;
  const closed = purser.core.close({ graceMs: 1_000 });
  purser.clock.advance(1_000);
  await closed;
  assert.equal((await result).status, "cancelled");
});
