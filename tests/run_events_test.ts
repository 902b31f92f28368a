import assert from "node:assert/strict";
import type { ToolSet } from "ai";
import { z } from "zod";
import { answerTo } from "./harness/answers.ts";
import { failBookings } from "./harness/booking.ts";
import { startFakeProvider } from "./harness/fake_provider.ts";
import { openTestPurser, rejection } from "./harness/test_purser.ts";

const types = (events: { type: string }[]) => events.map(({ type }) => type);

const faulty: ToolSet = {
  broken: {
    description: "Always fails",
    inputSchema: z.object({}),
    execute: () => {
      throw new Error("the pipe is cold");
    },
  },
};

Deno.test("a run with a tool has an exact sequence of events, without a gap, from session.created on", async () => {
  await using purser = await openTestPurser();
  const result = await purser.run({ tools: ["calculator"] }, "What is 17 * 23?", { sessionId: "s1" });
  const events = await purser.events("s1");
  assert.deepEqual(types(events), [
    "session.created",
    "run.started",
    "model.called",
    "cost.recorded",
    "tool.called",
    "tool.returned",
    "model.called",
    "cost.recorded",
    "run.completed",
  ]);
  assert.deepEqual(events.map(({ seq }) => seq), [1, 2, 3, 4, 5, 6, 7, 8, 9]);
  assert.deepEqual(events.map(({ run_id }) => run_id), [null, ...Array(8).fill(result.run_id)]);
  assert.ok(events.every(({ agent_id, session_id }) => agent_id === "tester" && session_id === "s1"));
});

Deno.test("the event log has the prompts, the outputs, the tool calls and their results", async () => {
  await using purser = await openTestPurser();
  const result = await purser.run({ tools: ["calculator"] }, "What is 17 * 23?", { sessionId: "s1" });
  const [, started, asked, cost, called, returned, answered, , completed] = await purser.events("s1");
  assert.equal(started!.payload.input, "What is 17 * 23?");
  assert.equal(started!.payload.model, "demo:echo");
  assert.match(String(started!.payload.message_id), /^msg_/);
  const toolCall = { tool_call_id: "demo_1", tool_name: "calculator", input: { expression: "17 * 23" } };
  assert.deepEqual(asked!.payload.tool_calls, [toolCall]);
  assert.equal(asked!.payload.finish_reason, "tool-calls");
  assert.equal(asked!.payload.call_id, cost!.call_id);
  assert.deepEqual(called!.payload, toolCall);
  assert.deepEqual(returned!.payload.output, { result: 391 });
  assert.equal(answered!.payload.text, result.output);
  assert.deepEqual(completed!.payload, { output: result.output, finish_reason: "stop", steps: 2 });
});

Deno.test("the bus publishes each event once, as stored in the log, and only after its commit", async () => {
  await using purser = await openTestPurser();
  const seen: Promise<unknown>[] = [];
  purser.core.bus.subscribe(({ session_id, seq, type }) => {
    // Reads at once: the store in memory answers before anything else can be committed.
    const sql = "SELECT type FROM events WHERE session_id = ? AND seq = ?";
    seen.push(
      purser.core.store.read({ sql, args: [session_id, seq] }).then(({ rows }) =>
        assert.deepEqual(rows, [[type]])
      ),
    );
  });
  for (const input of ["What is 2 + 2?", "And 3 * 3?"]) {
    await purser.run({ tools: ["calculator"] }, input, { sessionId: "s1" });
  }
  await Promise.all(seen);
  const kept = (await purser.events("s1")).map(({ event_id: _e, call_id: _c, ...event }) => event);
  assert.deepEqual(purser.published, kept);
  assert.equal(kept.length, 17);
});

Deno.test("cost.recorded carries the whole ledger row, also for calls of meter and of reports", async () => {
  await using purser = await openTestPurser();
  await purser.run({}, "Hello", { sessionId: "s1" });
  const [row] = (await purser.api("GET", "/sessions/s1/costs")).body.calls;
  assert.deepEqual(purser.published.filter(({ type }) => type === "cost.recorded").map((e) => e.payload), [
    row,
  ]);
});

Deno.test("a tool's failure is passed to the model and logged, and the run continues", async () => {
  await using fake = await startFakeProvider((request) => answerTo(request, { text: "Never mind" }));
  await using purser = await openTestPurser({ fake, tools: faulty });
  const model = "gpt-4o-mini";
  const asked = answerTo({ api: "openai-responses", model }, {
    toolCall: { id: "c1", name: "broken", input: {} },
  });
  fake.enqueue(asked);
  const result = await purser.run({ model, tools: ["broken"] }, "Try it", { sessionId: "s1" });
  assert.equal(result.output, "Never mind");
  const events = await purser.events("s1");
  const returned = events.find(({ type }) => type === "tool.returned")!;
  assert.equal(returned.payload.error, "the pipe is cold");
  assert.match(JSON.stringify(fake.requests[1]!.body), /the pipe is cold/);
});

const WRONG_CALLS = {
  "of a tool that does not exist": { id: "c1", name: "teleport", input: {} },
  "with invalid input": { id: "c1", name: "calculator", input: { expr: 2 } },
};

for (const [what, toolCall] of Object.entries(WRONG_CALLS)) {
  for (const more of [{}, { onPart() {} }]) {
    Deno.test(`a call ${what} is answered with an error and logged${more.onPart ? ", streamed" : ""}`, async () => {
      await using fake = await startFakeProvider((request) => answerTo(request, { text: "Sorry" }));
      await using purser = await openTestPurser({ fake });
      const model = "anthropic:claude-haiku-4-5";
      fake.enqueue(answerTo({ api: "anthropic", model: "claude-haiku-4-5" }, { toolCall }));
      const result = await purser.run({ model, tools: ["calculator"] }, "Go", { sessionId: "s1", ...more });
      assert.equal(result.status, "completed");
      assert.equal(result.steps, 2);
      const events = await purser.events("s1");
      const returned = events.filter(({ type }) => type === "tool.returned");
      assert.equal(returned.length, 1);
      assert.equal(returned[0]!.payload.tool_call_id, "c1");
      assert.match(String(returned[0]!.payload.error), /teleport|Invalid input/);
      assert.equal(events.filter(({ type }) => type === "tool.called").length, 0);
      assert.deepEqual((await purser.messages("s1")).map(({ role }) => role), [
        "user",
        "assistant",
        "tool",
        "assistant",
      ]);
    });
  }
}

Deno.test("a run that reaches max_steps is completed, with the limit as its reason", async () => {
  await using purser = await openTestPurser();
  const agent = { model: "demo:loop", tools: ["calculator"], maxSteps: 3 };
  const result = await purser.run(agent, "Continue", { sessionId: "s1" });
  assert.equal(result.status, "completed");
  assert.equal(result.steps, 3);
  const events = await purser.events("s1");
  assert.equal(events.at(-1)!.payload.finish_reason, "max_steps");
  assert.equal(events.filter(({ type }) => type === "tool.returned").length, 3);
  assert.equal((await purser.messages("s1")).length, 7);
});

Deno.test("tools of one step run in parallel, and each is logged", async () => {
  const both = Promise.withResolvers<void>();
  let running = 0;
  const tools: ToolSet = Object.fromEntries(["left", "right"].map((name) => [name, {
    description: name,
    inputSchema: z.object({}),
    execute: async () => {
      if (++running === 2) both.resolve();
      await both.promise;
      return name;
    },
  }]));
  await using fake = await startFakeProvider((request) => answerTo(request, { text: "Done" }));
  await using purser = await openTestPurser({ fake, tools });
  const { answer } = answerTo({ api: "anthropic", model: "claude-haiku-4-5" }, {
    toolCall: { id: "c1", name: "left", input: {} },
  });
  const body = structuredClone(answer.body) as { content: Record<string, unknown>[] };
  body.content.push({ ...body.content[0], id: "c2", name: "right" });
  fake.enqueue({ answer: { ...answer, body } });
  await purser.run({ model: "claude-haiku-4-5", tools: ["left", "right"] }, "Go", { sessionId: "s1" });
  const events = await purser.events("s1");
  const returned = events.filter(({ type }) => type === "tool.returned").map(({ payload }) => payload.output);
  assert.deepEqual(returned.sort(), ["left", "right"]);
  const { body: costs } = await purser.api("GET", "/sessions/s1/costs");
  assert.deepEqual(costs.steps.map((step: { tools: string[] }) => step.tools), [["left", "right"], []]);
});

Deno.test("text of any kind passes unchanged through a run, with lone surrogates replaced", async () => {
  await using purser = await openTestPurser();
  const texts = {
    "Grüße 👩‍🚀 שלום": "Grüße 👩‍🚀 שלום",
    "a\u0000b": "a\u0000b",
    "half \ud83d a pair": "half \ufffd a pair",
    "line\r\nline\u2028line": "line\r\nline\u2028line",
    [`{"json": "\\u0000 \\ud83d"}`]: `{"json": "\\u0000 \\ud83d"}`,
  };
  for (const [index, [text, expected]] of Object.entries(texts).entries()) {
    const sessionId = `s${index}`;
    const result = await purser.run({ systemPrompt: text.toWellFormed() }, text, { sessionId });
    assert.equal(result.output, `You said: ${expected}`);
    const [question, answer] = await purser.messages(sessionId);
    assert.equal(question!.content, expected);
    assert.deepEqual(answer!.content, [{ type: "text", text: result.output }]);
    const { body: run } = await purser.api("GET", `/runs/${result.run_id}`);
    // The file driver reads a text column up to a NUL; everything else here is stored as JSON, and is whole.
    if (!expected.includes("\0")) assert.equal(run.output, result.output);
    const events = await purser.events(sessionId);
    assert.equal(events[1]!.payload.input, expected);
    assert.equal(events.at(-1)!.payload.output, result.output);
  }
});

Deno.test("an input of a megabyte passes unchanged", async () => {
  await using purser = await openTestPurser();
  await purser.api("PUT", "/agents/big", { model: "demo:echo" });
  const input = "0123456789abcdef".repeat(65_536);
  const { body } = await purser.api("POST", "/agents/big/runs", { input, session_id: "s1" });
  assert.equal(body.output, `You said: ${input}`);
  assert.equal((await purser.messages("s1"))[0]!.content, input);
});

Deno.test("a listener's failure does not fail the run, and is logged", async () => {
  await using purser = await openTestPurser();
  const result = await purser.run({}, "Hello", {
    onPart() {
      throw new Error("deaf");
    },
  });
  assert.equal(result.status, "completed");
  assert.ok(purser.logs.some(({ fields }) => fields.reason === "deaf"));
});

Deno.test("any result of a tool is stored as plain JSON", async () => {
  const odd = { big: 10n, when: new Date(0), bytes: new Uint8Array([1, 2]), none: undefined, text: "\ud800" };
  const circular: Record<string, unknown> = {};
  circular.self = circular;
  const outputs = [odd, circular, undefined, Number.NaN];
  for (const output of outputs) {
    const tools: ToolSet = {
      odd: { description: "odd", inputSchema: z.object({}), execute: () => output },
    };
    await using purser = await openTestPurser({ tools });
    const outcome = await purser.run({ model: "demo:loop", tools: ["odd"] }, "1 times", { sessionId: "s1" })
      .catch((error) => error);
    const events = await purser.events("s1");
    assert.ok(events.at(-1)!.type.startsWith("run."), `${Deno.inspect(output)}: ${types(events)}`);
    if (outcome instanceof Error) assert.notEqual((outcome as { code?: string }).code, undefined);
  }
});

Deno.test("a failure of the ledger is not reported as one of the model", async () => {
  await using purser = await openTestPurser();
  failBookings(purser.core.store, new TypeError("the secret name of the disk"));
  const error = await rejection(purser.run({}, "Hello", { sessionId: "s1" }));
  assert.equal(error.code, "internal");
  assert.doesNotMatch(error.message, /secret/);
  const line = purser.logs.find(({ message }) => message.includes("could not be booked"))!;
  assert.equal((line.fields.cost_event as { agent_id: string }).agent_id, "tester");
  assert.equal((await purser.api("GET", "/sessions/s1")).body.status, "failed");
});
