import assert from "node:assert/strict";
import { answerTo } from "./harness/answers.ts";
import { type ProviderRequest, type Reply, startFakeProvider } from "./harness/fake_provider.ts";
import { openTestPurser, rejection, type TestPurser } from "./harness/test_purser.ts";
import { isInTurn } from "./harness/thorough.ts";

const MODELS = {
  "OpenAI chat": "openai.chat:gpt-4o-mini",
  "OpenAI responses": "openai:gpt-5-mini",
  "Anthropic": "anthropic:claude-haiku-4-5",
  "Gemini": "google:gemini-2.5-flash",
  "OpenAI-compatible": "local:my-model",
};

const WAYS = { whole: {}, streamed: { onPart() {} } };

/** Less than any call costs, so that a leaked reservation would block the next attempt for ever. */
const A_HAIR = 1_000n;

async function calls(purser: TestPurser) {
  const { rows } = await purser.core.store.read({
    sql: "SELECT input_tokens, output_tokens, cost_nano_usd, is_estimated FROM calls ORDER BY step",
  });
  return rows.map(([input, output, cost, estimated]) => ({
    input: Number(input),
    output: Number(output),
    cost: cost as bigint | null,
    estimated: Number(estimated) === 1,
  }));
}

const types = (events: { type: string }[]) => events.map(({ type }) => type);

for (const [way, more] of Object.entries(WAYS)) {
  Deno.test(`a call that succeeds at the third attempt is booked once, ${way}`, async () => {
    await using fake = await startFakeProvider((request) => answerTo(request, { text: "At last" }));
    await using purser = await openTestPurser({ fake });
    fake.enqueue(
      { status: 429, message: "Slow down", headers: { "retry-after": "0" } },
      { status: 500, headers: { "retry-after-ms": "1" } },
    );
    const model = "openai.chat:gpt-4o-mini";
    const result = await purser.run({ model, costBudgetNanoUsd: A_HAIR }, "Hello", more);
    assert.equal(result.output, "At last");
    assert.equal(result.steps, 1);
    assert.equal(fake.calls, 3);
    assert.deepEqual(await calls(purser), [{ input: 10, output: 2, cost: 2_700n, estimated: false }]);
    const events = await purser.events(result.session_id);
    assert.deepEqual(types(events), [
      "session.created",
      "run.started",
      "model.failed",
      "model.failed",
      "model.called",
      "cost.recorded",
      "run.completed",
    ]);
    assert.deepEqual(events[2]!.payload, { step: 1, error: "Slow down" });
  });

  Deno.test(`a run ends with the last failure if all retries fail, ${way}`, async () => {
    await using fake = await startFakeProvider(() => ({ status: 503, headers: { "retry-after": "0" } }));
    await using purser = await openTestPurser({ fake });
    const error = await rejection(purser.run({ model: "openai:gpt-5-mini" }, "Hello", more));
    assert.equal(error.code, "provider_error");
    assert.match(error.message, /^Cannot get an answer from the model: status 503: Refused with 503$/);
    assert.deepEqual(error.details, { provider_status: 503 });
    assert.equal(fake.calls, 3);
    assert.deepEqual(await calls(purser), []);
  });
}

for (const [turn, [name, model]] of Object.entries(MODELS).entries()) {
  Deno.test(`a refusal of ${name} is a 502 that names the run, and is not retried`, async () => {
    await using fake = await startFakeProvider(() => ({ status: 400, message: "Bad request" }));
    await using purser = await openTestPurser({ fake });
    await purser.api("PUT", "/agents/a", { model });
    const { status, body } = await purser.api("POST", "/agents/a/runs", { input: "Hi", session_id: "s1" });
    assert.equal(status, 502);
    assert.equal(fake.calls, 1);
    const { run_id, ...problem } = body;
    assert.deepEqual(problem, {
      type: "about:blank",
      title: "Provider error",
      status: 502,
      detail: "Cannot get an answer from the model: status 400: Bad request",
      instance: "/agents/a/runs",
      code: "provider_error",
      details: { provider_status: 400 },
      session_id: "s1",
    });
    const { body: run } = await purser.api("GET", `/runs/${run_id}`);
    assert.equal(run.status, "failed");
    assert.equal(run.error.code, "provider_error");
    assert.equal((await purser.api("GET", "/sessions/s1")).body.status, "failed");
    assert.deepEqual(types(await purser.events("s1")), [
      "session.created",
      "run.started",
      "model.failed",
      "run.failed",
    ]);
  });

  for (const [way, more] of Object.entries(WAYS)) {
    Deno.test(`an invalid response of ${name} fails the run, and is booked by an estimate, ${way}`, async () => {
      for (const [place, text] of ["<html>Bad gateway</html>", "[]", "", '{"surprise":'].entries()) {
        if (!isInTurn(turn + place)) continue;
        await using fake = await startFakeProvider(() => ({ text }));
        await using purser = await openTestPurser({ fake });
        const error = await rejection(purser.run({ model }, "Hello", { sessionId: "s1", ...more }));
        assert.equal(error.code, "provider_error", `${text}: ${error.stack}`);
        assert.equal(error.extensions.session_id, "s1");
        const [call, ...others] = await calls(purser);
        assert.deepEqual([call?.estimated, others.length], [true, 0], text);
        assert.ok(call!.input > 0 && call!.cost! > 0n, Deno.inspect(call));
        const { body } = await purser.api("GET", "/sessions/s1");
        assert.equal(body.status, "failed");
        assert.equal(body.active_run_id, null);
      }
    });
  }

  Deno.test(`a stream of ${name} that breaks before its usage is booked by an estimate`, async () => {
    await using fake = await startFakeProvider((request) => {
      const { frames } = answerTo(request, { text: "Half an answer of some length" }).answer;
      return { brokenAfter: frames.slice(0, beforeUsage(request)) };
    });
    await using purser = await openTestPurser({ fake });
    let text = "";
    const error = await rejection(purser.run({ model }, "Say something", {
      sessionId: "s1",
      onPart: (part) => part.type === "text" ? text += part.text : undefined,
    }));
    assert.equal(error.code, "provider_error");
    assert.notEqual(text, "");
    const [call, ...others] = await calls(purser);
    assert.equal(others.length, 0);
    assert.equal(call!.estimated, true);
    assert.ok(call!.input > 0 && call!.output > 0 && call!.cost! > 0n, Deno.inspect(call));
    // Usage that Anthropic and Gemini report at the start of a stream is used, and not estimated.
    if (name === "Anthropic" || name === "Gemini") assert.equal(call!.input, 10);
    const events = await purser.events("s1");
    assert.deepEqual(types(events), [
      "session.created",
      "run.started",
      "model.called",
      "cost.recorded",
      "run.failed",
    ]);
    assert.equal(events[2]!.payload.text, text);
    assert.equal(events[3]!.payload.estimated, true);
    const { body } = await purser.api("GET", `/runs/${error.extensions.run_id}`);
    assert.equal(body.status, "failed");
    assert.equal(body.token_usage.model_calls, 1);
    assert.equal(body.steps, 1);
  });

  Deno.test(`a stream of ${name} that breaks after its final usage is booked exactly`, async () => {
    await using fake = await startFakeProvider((request) => {
      const { frames } = answerTo(request, {
        text: "All of it",
        usage: { inputTokens: 1000, outputTokens: 7, cacheReadTokens: 200 },
      }).answer;
      return { brokenAfter: frames.slice(0, afterUsage(request)) };
    });
    await using purser = await openTestPurser({ fake });
    const outcome = await purser.run({ model }, "Hi", { sessionId: "s1", onPart() {} }).catch((e) => e);
    // A stream whose last frame is its usage has nothing left to lose.
    if (outcome instanceof Error) assert.equal((outcome as { code?: string }).code, "provider_error");
    const [call] = await calls(purser);
    assert.deepEqual([call!.input, call!.output, call!.estimated], [1000, 7, false]);
  });
}

for (const [name, model] of Object.entries(MODELS)) {
  Deno.test(`a stream of ${name} that is closed in the middle is not taken for a complete response`, async () => {
    await using fake = await startFakeProvider((request) => {
      const { frames } = answerTo(request, { text: "Half an answer of some length" }).answer;
      return { paced: frames.slice(0, beforeUsage(request)) };
    });
    await using purser = await openTestPurser({ fake });
    const error = await rejection(purser.run({ model }, "Hi", { sessionId: "s1", onPart() {} }));
    assert.equal(error.code, "provider_error");
    assert.match(error.message, /broke off|without a finish reason/);
    const [call] = await calls(purser);
    assert.equal(call!.estimated, true);
    assert.deepEqual((await purser.messages("s1")).map(({ role }) => role), ["user"]);
  });
}

function beforeUsage({ api }: ProviderRequest): number {
  return { "openai-chat": 3, "openai-responses": 6, "anthropic": 5, "google": 1 }[api];
}

function afterUsage({ api }: ProviderRequest): number {
  return { "openai-chat": -1, "openai-responses": 99, "anthropic": -1, "google": 99 }[api];
}

const withoutUsage = (request: ProviderRequest): Reply => {
  const { body, frames } = answerTo(request, { text: "Free of charge?" }).answer;
  const kept = frames.filter((frame) => !/"prompt_tokens"/.test(frame)).map((frame) =>
    frame.replace(/,"usageMetadata":\{[^{}]*\}/, "")
  );
  const { usage: _usage, usageMetadata: _metadata, ...rest } = body as Record<string, unknown>;
  return { answer: { body: rest, frames: kept } };
};

for (const name of ["OpenAI chat", "Gemini", "OpenAI-compatible"] as const) {
  for (const [way, more] of Object.entries(WAYS)) {
    Deno.test(`a response of ${name} without usage is booked by an estimate, not as free, ${way}`, async () => {
      await using fake = await startFakeProvider(withoutUsage);
      await using purser = await openTestPurser({ fake });
      const result = await purser.run({ model: MODELS[name] }, "Is this free?", more);
      assert.equal(result.output, "Free of charge?");
      const [call] = await calls(purser);
      assert.equal(call!.estimated, true);
      assert.ok(call!.input > 0 && call!.output === 4 && call!.cost! > 0n, Deno.inspect(call));
    });
  }
}

Deno.test("a run that failed leaves its session ready for the next", async () => {
  await using fake = await startFakeProvider((request) => answerTo(request, { text: "Yes" }));
  await using purser = await openTestPurser({ fake });
  fake.enqueue({ status: 400 });
  const agent = { model: "anthropic:claude-haiku-4-5" };
  await rejection(purser.run(agent, "First", { sessionId: "s1" }));
  const result = await purser.run(agent, "Second", { sessionId: "s1" });
  assert.equal(result.output, "Yes");
  assert.deepEqual((await purser.messages("s1")).map(({ role }) => role), ["user", "user", "assistant"]);
});

Deno.test("a long response of a provider is truncated in the error, without the key", async () => {
  await using fake = await startFakeProvider(() => ({ status: 400, message: "x".repeat(5_000) }));
  await using purser = await openTestPurser({ fake });
  const error = await rejection(purser.run({ model: "openai:gpt-5-mini" }, "Hi"));
  assert.ok(error.message.length < 600);
  assert.doesNotMatch(JSON.stringify(error), /not-a-key/);
});

Deno.test("a missing key is the caller's error, names the variable, and starts no run", async () => {
  await using purser = await openTestPurser({ env: {} });
  const error = await rejection(purser.run({ model: "openai:gpt-5-mini" }, "Hi", { sessionId: "s1" }));
  assert.equal(error.code, "invalid");
  assert.match(error.message, /OPENAI_API_KEY/);
  assert.deepEqual(await purser.events("s1"), []);
});

/** The frame with which each API reports a failure in the middle of a stream. */
const FAILURE_FRAMES: Record<string, string> = {
  "OpenAI chat":
    `data: {"error":{"message":"Overloaded","type":"server_error","code":null,"param":null}}\n\n`,
  "OpenAI responses":
    `event: error\ndata: {"type":"error","sequence_number":9,"code":"server_error","message":"Overloaded","param":null}\n\n`,
  "Anthropic":
    `event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}\n\n`,
  "Gemini": `data: {"error":{"code":503,"message":"Overloaded","status":"UNAVAILABLE"}}\n\n`,
  "OpenAI-compatible": `data: {"error":{"message":"Overloaded"}}\n\n`,
};

for (const [name, frame] of Object.entries(FAILURE_FRAMES)) {
  Deno.test(`a failure that ${name} reports in the middle of its stream ends the run, booked up to there`, async () => {
    await using fake = await startFakeProvider((request) => {
      const { frames } = answerTo(request, { text: "Half an answer of some length" }).answer;
      return { paced: [...frames.slice(0, beforeUsage(request)), frame] };
    });
    await using purser = await openTestPurser({ fake });
    const model = MODELS[name as keyof typeof MODELS];
    const error = await rejection(purser.run({ model }, "Hi", { sessionId: "s1", onPart() {} }));
    assert.equal(error.code, "provider_error");
    assert.match(error.message, /Overloaded/);
    const booked = await calls(purser);
    assert.equal(booked.length, 1);
    assert.equal(booked[0]!.estimated, true);
    assert.ok(booked[0]!.input > 0 && booked[0]!.output >= 2, Deno.inspect(booked));
    assert.deepEqual((await purser.messages("s1")).map(({ role }) => role), ["user"]);
    assert.equal((await purser.events("s1")).at(-1)!.type, "run.failed");
  });
}
