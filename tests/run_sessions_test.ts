import assert from "node:assert/strict";
import { answerTo } from "./harness/answers.ts";
import { type ProviderRequest, startFakeProvider } from "./harness/fake_provider.ts";
import { snapshotOf } from "./harness/snapshots.ts";
import { openTestPurser, rejection } from "./harness/test_purser.ts";

const CALL = { id: "call_1", name: "calculator", input: { expression: "2+2" } };
const SYSTEM = "You count.";

/** The request that each provider must receive in the second run: the first run's four messages and the new one. */
const SECOND_REQUEST: Record<string, { model: string; api: ProviderRequest["api"]; body: unknown }> = {
  "OpenAI chat": {
    model: "openai.chat:gpt-4o-mini",
    api: "openai-chat",
    body: {
      messages: [
        { role: "system", content: SYSTEM },
        { role: "user", content: "What is 2+2?" },
        {
          role: "assistant",
          content: null,
          tool_calls: [{
            id: "call_1",
            type: "function",
            function: { name: "calculator", arguments: '{"expression":"2+2"}' },
          }],
        },
        { role: "tool", tool_call_id: "call_1", content: '{"result":4}' },
        { role: "assistant", content: "It is 4." },
        { role: "user", content: "Sure?" },
      ],
    },
  },
  "OpenAI responses": {
    model: "openai:gpt-4o-mini",
    api: "openai-responses",
    body: {
      store: false,
      input: [
        { role: "system", content: SYSTEM },
        { role: "user", content: [{ type: "input_text", text: "What is 2+2?" }] },
        {
          type: "function_call",
          call_id: "call_1",
          name: "calculator",
          arguments: '{"expression":"2+2"}',
        },
        { type: "function_call_output", call_id: "call_1", output: '{"result":4}' },
        { role: "assistant", content: "It is 4." },
        { role: "user", content: [{ type: "input_text", text: "Sure?" }] },
      ],
    },
  },
  "Anthropic": {
    model: "anthropic:claude-haiku-4-5",
    api: "anthropic",
    body: {
      system: [{ type: "text", text: SYSTEM }],
      messages: [
        { role: "user", content: [{ type: "text", text: "What is 2+2?" }] },
        {
          role: "assistant",
          content: [{ type: "tool_use", id: "call_1", name: "calculator", input: { expression: "2+2" } }],
        },
        { role: "user", content: [{ type: "tool_result", tool_use_id: "call_1", content: '{"result":4}' }] },
        { role: "assistant", content: [{ type: "text", text: "It is 4." }] },
        { role: "user", content: [{ type: "text", text: "Sure?" }] },
      ],
    },
  },
  "Gemini": {
    model: "google:gemini-2.5-flash",
    api: "google",
    body: {
      systemInstruction: { parts: [{ text: SYSTEM }] },
      contents: [
        { role: "user", parts: [{ text: "What is 2+2?" }] },
        {
          role: "model",
          parts: [{ functionCall: { id: "call_1", name: "calculator", args: { expression: "2+2" } } }],
        },
        {
          role: "user",
          parts: [{
            functionResponse: {
              id: "call_1",
              name: "calculator",
              response: { name: "calculator", content: { result: 4 } },
            },
          }],
        },
        { role: "model", parts: [{ text: "It is 4." }] },
        { role: "user", parts: [{ text: "Sure?" }] },
      ],
    },
  },
  "OpenAI-compatible": {
    model: "local:my-model",
    api: "openai-chat",
    body: {
      messages: [
        { role: "system", content: SYSTEM },
        { role: "user", content: "What is 2+2?" },
        {
          role: "assistant",
          content: null,
          tool_calls: [{
            id: "call_1",
            type: "function",
            function: { name: "calculator", arguments: '{"expression":"2+2"}' },
          }],
        },
        { role: "tool", tool_call_id: "call_1", content: '{"result":4}' },
        { role: "assistant", content: "It is 4." },
        { role: "user", content: "Sure?" },
      ],
    },
  },
};

for (const [name, { model, api, body }] of Object.entries(SECOND_REQUEST)) {
  for (const more of [{}, { onPart() {} }]) {
    const way = more.onPart ? "streamed" : "whole";
    Deno.test(`${name} receives the whole session in its second run, tool call and result included, ${way}`, async () => {
      await using fake = await startFakeProvider((request) => answerTo(request, { text: "It is 4." }));
      await using purser = await openTestPurser({ fake });
      fake.enqueue(answerTo({ api, model: "m" }, { toolCall: CALL }));
      const agent = { model, tools: ["calculator"], systemPrompt: SYSTEM };
      await purser.run(agent, "What is 2+2?", { sessionId: "s1", ...more });
      await purser.run(agent, "Sure?", { sessionId: "s1", ...more });
      assert.equal(fake.calls, 3);
      const sent = fake.requests[2]!.body;
      const wanted = Object.fromEntries(Object.keys(body as object).map((key) => [key, sent[key]]));
      assert.deepEqual(wanted, body);
    });
  }
}

for (const [name, { model, api, body }] of Object.entries(SECOND_REQUEST)) {
  Deno.test(`${name} receives the whole session also when it was restored into another database in between`, async () => {
    await using fake = await startFakeProvider((request) => answerTo(request, { text: "It is 4." }));
    const directory = await Deno.makeTempDir({ prefix: "purser-test-" });
    try {
      const open = (file: string) => openTestPurser({ fake, config: { dbUrl: `${directory}/${file}` } });
      let snapshot: string;
      {
        await using production = await open("production.db");
        fake.enqueue(answerTo({ api, model: "m" }, { toolCall: CALL }));
        await production.api("PUT", "/agents/a", { model, tools: ["calculator"], system_prompt: SYSTEM });
        await production.api("POST", "/agents/a/runs", { input: "What is 2+2?", session_id: "s1" });
        snapshot = await (await production.fetch("GET", "/agents/s1/snapshot?with_events=true")).text();
      }
      await using laptop = await open("laptop.db");
      const { status, body: restored } = await laptop.api("POST", "/agents/snapshot/restore", snapshot);
      assert.deepEqual([status, restored.messages_restored, restored.agent_defined], [200, 4, true]);
      const { body: result } = await laptop.api("POST", "/agents/a/runs", {
        input: "Sure?",
        session_id: "s1",
      });
      assert.deepEqual([result.status, result.output], ["completed", "It is 4."]);
      const sent = fake.requests[2]!.body;
      assert.deepEqual(Object.fromEntries(Object.keys(body as object).map((key) => [key, sent[key]])), body);
      // Its cost elsewhere is no cost here.
      const { body: session } = await laptop.api("GET", "/sessions/s1");
      assert.deepEqual([session.token_usage.model_calls, session.restored_from.token_usage.model_calls], [
        1,
        2,
      ]);
      assert.deepEqual(
        (await laptop.events("s1")).map(({ type }) => type).slice(0, 3),
        ["session.created", "session.restored", "run.started"],
      );
    } finally {
      await Deno.remove(directory, { recursive: true });
    }
  });
}

Deno.test("a restored session with media by URL can be run: they are URLs again for the SDK", async () => {
  await using fake = await startFakeProvider((request) => answerTo(request, { text: "A ship." }));
  await using purser = await openTestPurser({ fake });
  await purser.api("PUT", "/agents/agent", { model: "anthropic:claude-haiku-4-5" });
  const url = "https://example.com/ship.png";
  const messages = [
    { role: "user", content: [{ type: "image", image: url }, { type: "text", text: "What is it?" }] },
    { role: "assistant", content: "A boat." },
    { role: "user", content: [{ type: "file", mediaType: "image/png", data: { type: "url", url } }] },
    { role: "assistant", content: "The same." },
  ];
  assert.equal(
    (await purser.api("POST", "/agents/snapshot/restore", snapshotOf({}, { messages }))).status,
    200,
  );
  const { body } = await purser.api("POST", "/agents/agent/runs", { input: "Sure?", session_id: "ses" });
  assert.equal(body.output, "A ship.");
  const sent = JSON.stringify(fake.requests[0]!.body);
  assert.equal(sent.split(JSON.stringify({ type: "url", url })).length - 1, 2);
});

Deno.test("unknown parts stay in a session, and are not sent", async () => {
  await using fake = await startFakeProvider((request) => answerTo(request, { text: "Fine." }));
  await using purser = await openTestPurser({ fake });
  await purser.api("PUT", "/agents/agent", { model: "openai.chat:gpt-4o-mini" });
  const messages = [
    { role: "user", content: [{ type: "hologram", data: { x: 1 } }, { type: "text", text: "See?" }] },
    { role: "assistant", content: [{ type: "gesture" }] },
    { role: "assistant", content: [{ type: "gesture" }, { type: "text", text: "Yes." }] },
  ];
  await purser.api("POST", "/agents/snapshot/restore", snapshotOf({}, { messages }));
  const { body } = await purser.api("POST", "/agents/agent/runs", { input: "And now?", session_id: "ses" });
  assert.equal(body.output, "Fine.");
  assert.deepEqual(fake.requests[0]!.body.messages.map(({ content }: { content: unknown }) => content), [
    "See?",
    "Yes.",
    "And now?",
  ]);
  const kept = (await purser.messages("ses")).slice(0, 3).map(({ content }) => content);
  assert.deepEqual(kept, messages.map(({ content }) => content));
});

Deno.test("a session counts its messages and events over its runs", async () => {
  await using purser = await openTestPurser();
  await purser.api("PUT", "/agents/a", { model: "demo:echo" });
  for (const input of ["One", "Two"]) {
    await purser.api("POST", "/agents/a/runs", { input, session_id: "s1" });
  }
  const { body } = await purser.api("GET", "/sessions/s1");
  assert.equal(body.message_count, 4);
  assert.equal(body.event_log_count, 9);
  assert.equal(body.status, "completed");
  assert.equal(body.token_usage.model_calls, 2);
});

Deno.test("of two concurrent runs on one session the second is refused, and nothing of it is stored", async () => {
  await using purser = await openTestPurser();
  await purser.api("PUT", "/agents/a", { model: "demo:echo" });
  const answers = await Promise.all(
    ["One", "Two"].map((input) => purser.api("POST", "/agents/a/runs", { input, session_id: "s1" })),
  );
  assert.deepEqual(answers.map(({ status }) => status), [200, 409]);
  const problem = answers[1]!.body;
  assert.equal(problem.code, "conflict");
  assert.match(problem.detail, /^Cannot start a run on session s1: run run_\d+ is in progress/);
  assert.deepEqual((await purser.messages("s1")).map(({ role }) => role), ["user", "assistant"]);
  assert.deepEqual((await purser.events("s1")).map(({ seq }) => seq), [1, 2, 3, 4, 5]);
});

Deno.test("an agent cannot run on another agent's session", async () => {
  await using purser = await openTestPurser();
  await purser.run({ agentId: "owner" }, "Mine", { sessionId: "s1" });
  const error = await rejection(purser.run({ agentId: "guest" }, "Mine now", { sessionId: "s1" }));
  assert.equal(error.code, "conflict");
  assert.match(error.message, /belongs to agent owner/);
  assert.equal((await purser.messages("s1")).length, 2);
});

Deno.test("a session's id may be chosen, within the rule for names", async () => {
  await using purser = await openTestPurser();
  for (const sessionId of ["a", "A.b_c:d-9", "x".repeat(128), "constructor", "__proto__".slice(2)]) {
    assert.equal((await purser.run({}, "Hi", { sessionId })).session_id, sessionId);
  }
  for (const sessionId of ["", "-a", "a b", "ä", "x".repeat(129), "a/b", "a\n"]) {
    const error = await rejection(purser.run({}, "Hi", { sessionId }));
    assert.equal(error.code, "invalid", sessionId);
  }
});

Deno.test("sixteen concurrent runs, each on a session of its own, do not mix", async () => {
  await using purser = await openTestPurser();
  const results = await Promise.all(
    Array.from(
      { length: 16 },
      (_, i) => purser.run({ tools: ["calculator"] }, `What is ${i} * 10?`, { sessionId: `s${i}` }),
    ),
  );
  for (const [i, result] of results.entries()) {
    assert.match(result.output!, new RegExp(`says ${i * 10}\\.`));
    const events = await purser.events(`s${i}`);
    assert.deepEqual(events.map(({ seq }) => seq), [1, 2, 3, 4, 5, 6, 7, 8, 9]);
    assert.equal(result.token_usage.model_calls, 2);
  }
  const { body } = await purser.api("GET", "/costs");
  assert.equal(body[0].model_calls, 32);
});
