import { AGENT_DEFAULTS } from "../src/contract/limits.ts";
import assert from "node:assert/strict";
import type { LanguageModelV4, LanguageModelV4Content } from "@ai-sdk/provider";
import { z } from "zod";
import { type AgentDefinition, defineAgent } from "../src/agents/mod.ts";
import { fullSnapshot, lasting, type LooseDocument, sealedText } from "./harness/any_snapshot.ts";
import { exportText, restore, snapshotOf } from "./harness/snapshots.ts";
import { openTestPurser, rejection, type TestPurser } from "./harness/test_purser.ts";

/** Sessions that runs have made can be moved elsewhere, whatever their models and tools returned. */

function nest(depth: number, value: unknown = 1): unknown {
  let nested = value;
  for (let i = 0; i < depth; i++) nested = i % 2 ? [nested] : { "[{": nested };
  return nested;
}

/** Exports a session, and imports it into an empty environment; it must be the same there. */
async function move({ core }: TestPurser, sessionId: string): Promise<void> {
  const text = await exportText(core, { sessionId, withEvents: true });
  const document = JSON.parse(text);
  assert.equal(text, sealedText(document));
  await using other = await openTestPurser({ config: { environment: "other" } });
  await restore(other.core, text);
  const arrived = JSON.parse(await exportText(other.core, { sessionId }));
  assert.deepEqual(lasting(arrived), lasting(document));
}

const OUTPUTS: Record<string, unknown> = {
  proto: JSON.parse('{"__proto__":1,"a":[{"__proto__":{}}]}'),
  deep: nest(2_000),
  halves: { "\ud800": "\udfff", text: "a\ud83d" },
  bytes: new Uint8Array([0, 255]),
  date: new Date(0),
  nothing: undefined,
  none: null,
  numbers: [NaN, Infinity, -0, 5e-324, 2 ** 53],
  big: 10n ** 30n,
  map: new Map([[1, 2]]),
  text: "\0\u2028",
};

/** A model with scripted outputs, call by call. */
function scriptedModel(...answers: LanguageModelV4Content[][]): LanguageModelV4 {
  const usage = {
    inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
    outputTokens: { total: 1, text: 1, reasoning: 0 },
  };
  const model = {
    specificationVersion: "v4" as const,
    provider: "local",
    modelId: "scripted",
    supportedUrls: {},
    doGenerate: () => {
      const content = answers.shift() ?? [{ type: "text" as const, text: "done" }];
      const reason = content.some(({ type }) => type === "tool-call")
        ? "tool-calls" as const
        : "stop" as const;
      return Promise.resolve({
        content,
        usage,
        warnings: [],
        finishReason: { unified: reason, raw: reason },
      });
    },
    doStream: () => Promise.reject(new Error("this model does not stream")),
  };
  return model;
}

const callOf = (toolCallId: string, toolName: string, input = "{}"): LanguageModelV4Content => ({
  type: "tool-call",
  toolCallId,
  toolName,
  input,
});

const DEEP = JSON.stringify(nest(2_000));

const ANSWERS: Record<string, LanguageModelV4Content[]> = {
  "parts of every kind": [
    { type: "reasoning", text: "a\ud800", providerMetadata: { anthropic: { signature: "c2ln\udfff" } } },
    { type: "reasoning-file", mediaType: "image/png", data: { type: "data", data: new Uint8Array([1, 2]) } },
    { type: "file", mediaType: "image/png", data: { type: "data", data: new Uint8Array([0, 255]) } },
    { type: "file", mediaType: "a/b", data: { type: "url", url: new URL("https://a.example/") } },
    { type: "source", sourceType: "url", id: "1", url: "https://a.example/", title: "\ud800" },
    { type: "custom", kind: "a.b", providerMetadata: { a: JSON.parse('{"__proto__":1}') } },
    callOf("c1", "good"),
  ],
  "odd texts": [{ type: "text", text: "\0\ud800" }, { type: "text", text: "" }],
  "nothing": [],
  "odd keys": [callOf("c1", "good", '{"__proto__":1,"\\ud800":"\\udfff"}')],
  "deep input": [callOf("c1", "good", `{"deep":${DEEP}}`)],
  "half a surrogate as an id": [callOf("c\ud800", "good")],
  "one id twice": [callOf("c1", "good"), callOf("c1", "good")],
  "input that is no object": [callOf("c1", "good", "[1]"), callOf("c2", "good", "")],
  "input that is no JSON": [callOf("c1", "good", "no JSON")],
  "an unknown tool": [callOf("c1", "unknown tool")],
  "a tool without a name": [callOf("c1", "")],
  "a call without an id": [callOf("", "good")],
};

const DEFINITIONS: Record<string, Partial<AgentDefinition>> = {
  "half a surrogate": { systemPrompt: "a\ud800" },
  "odd characters": { systemPrompt: "😀\u2028\ufeff\u0001" },
  "the largest limits": { maxSteps: 1000, maxOutputTokens: 10_000_000 },
  "the smallest budget": { costBudgetNanoUsd: 1n, allowUnpriced: true },
  "the largest budget": { costBudgetNanoUsd: 10n ** 18n, budgetMode: "strict", allowUnpriced: true },
};

for (const [name, output] of Object.entries(OUTPUTS)) {
  Deno.test(`a session whose tool returned ${name} can be moved elsewhere`, async () => {
    const tool = { description: "", inputSchema: z.object({}), execute: () => output };
    const failing = { ...tool, execute: () => Promise.reject(output) };
    const model = scriptedModel([callOf("c1", "good"), callOf("c2", "bad")]);
    await using purser = await openTestPurser({ models: { m: model }, tools: { good: tool, bad: failing } });
    await purser.run({ model: "m", tools: ["good", "bad"] }, "Hello", { sessionId: "ses" }).catch(() => {});
    await move(purser, "ses");
  });
}
for (const [what, answer] of Object.entries(ANSWERS)) {
  Deno.test(`a session with ${what} in a model's output can be moved elsewhere`, async () => {
    const tool = { description: "", inputSchema: z.looseObject({}), execute: () => "ok" };
    await using purser = await openTestPurser({
      models: { m: scriptedModel(answer) },
      tools: { good: tool },
    });
    await purser.run({ model: "m", tools: ["good"] }, "Hello\ud800", { sessionId: "ses" }).catch(() => {});
    await move(purser, "ses");
  });
}

/** Returns what tools have returned in a session: their names, and the size of each result or its error. */
async function returnedIn(purser: TestPurser, sessionId: string) {
  const events = await purser.events(sessionId);
  return events.filter(({ type }) => type === "tool.returned").map((
    { payload: { tool_name, output, error } },
  ) => [
    tool_name,
    error ?? String(output).length,
  ]);
}

Deno.test("a result that has no room among the messages of its run is an error for the model, and the session can be moved", async () => {
  const schema = { description: "", inputSchema: z.object({}) };
  const tools = {
    large: { ...schema, execute: () => Promise.resolve("x".repeat(3_400)) },
    wide: { ...schema, execute: () => "日".repeat(1_200) },
    streaming: {
      ...schema,
      async *execute() {
        for (const length of [300, 300, 400]) yield "x".repeat(length);
      },
    },
    // Not a promise, but like one.
    later: {
      ...schema,
      execute: () => ({ then: (resolve: (value: string) => void) => resolve("x".repeat(3_400)) }),
    },
    fitting: { ...schema, execute: () => "x".repeat(900) },
  };
  const model = scriptedModel(
    ...["large", "wide", "streaming", "later", "fitting", "fitting", "fitting"].map((
      name,
      i,
    ) => [callOf(`c${i}`, name)]),
  );
  const config = { maxContextBytes: 3_300 };
  await using purser = await openTestPurser({ config, models: { m: model }, tools });
  const run = (input: string) =>
    purser.run({ model: "m", tools: Object.keys(tools) }, input, { sessionId: "ses" });
  await run("Hello");
  const refused = /has \d+ bytes of JSON, .* room for \d+: max_context_bytes in the config allows more$/;
  const returned = await returnedIn(purser, "ses");
  assert.deepEqual(returned.map(([name, size]) => [name, refused.test(String(size)) ? "refused" : size]), [
    ["large", "refused"],
    ["wide", "refused"],
    ["streaming", 400],
    ["later", "refused"],
    ["fitting", 900],
    ["fitting", 900],
    ["fitting", "refused"],
  ]);
  await move(purser, "ses");
});

Deno.test("streaming tools that run side by side share the room of their run", async () => {
  const tool = {
    description: "",
    inputSchema: z.object({}),
    async *execute() {
      yield "x".repeat(900);
      await Promise.resolve();
      yield "x".repeat(901);
    },
  };
  const model = scriptedModel(["c1", "c2", "c3"].map((id) => callOf(id, "streaming")));
  const config = { maxContextBytes: 2_300 };
  await using purser = await openTestPurser({ config, models: { m: model }, tools: { streaming: tool } });
  await purser.run({ model: "m", tools: ["streaming"] }, "Hello", { sessionId: "ses" });
  const returned = await returnedIn(purser, "ses");
  assert.equal(returned.filter(([, size]) => size === 901).length, 2);
  await move(purser, "ses");
});

Deno.test("the answers of the model leave less room for the results of tools", async () => {
  const tool = { description: "", inputSchema: z.object({}), execute: () => "x".repeat(500) };
  const model = scriptedModel([{ type: "text", text: "y".repeat(700) }, callOf("c1", "fitting")], [
    { type: "text", text: "y".repeat(700) },
    callOf("c2", "fitting"),
  ]);
  const config = { maxContextBytes: 1_800 };
  await using purser = await openTestPurser({ config, models: { m: model }, tools: { fitting: tool } });
  await purser.run({ model: "m", tools: ["fitting"] }, "Hello", { sessionId: "ses" });
  const [first, second] = await returnedIn(purser, "ses");
  assert.deepEqual(first, ["fitting", 500]);
  assert.match(String(second), /has 502 bytes of JSON, and the messages of this run have room for \d+/);
});

Deno.test("an error of a tool is shortened, and the session can be moved", async () => {
  const failing = {
    description: "",
    inputSchema: z.object({}),
    execute: () => Promise.reject(new Error("e".repeat(100_000))),
  };
  const model = scriptedModel([callOf("c1", "failing")]);
  await using purser = await openTestPurser({ models: { m: model }, tools: { failing } });
  await purser.run({ model: "m", tools: ["failing"] }, "Hello", { sessionId: "ses" });
  assert.deepEqual(await returnedIn(purser, "ses"), [["failing", "e".repeat(10_000) + "…"]]);
  await move(purser, "ses");
});

Deno.test("an input without room beside the system prompt and the session is refused, and the session continues", async () => {
  await using purser = await openTestPurser({ config: { maxContextBytes: 2_000 } });
  const agent = { systemPrompt: "x".repeat(500) };
  const run = (input: string, sessionId: string) => purser.run(agent, input, { sessionId });
  assert.equal((await run("y".repeat(300), "ses")).status, "completed");
  for (const [input, sessionId] of [["y".repeat(900), "ses"], ["日".repeat(600), "new"]] as const) {
    const refused = await rejection(run(input, sessionId));
    assert.equal(refused.code, "too_large");
    assert.match(refused.message, /max_context_bytes in the config allows 2000 in all/);
  }
  assert.equal((await purser.api("GET", "/sessions/new")).status, 404);
  assert.equal((await purser.api("GET", "/runs?status=failed")).body.length, 0);
  assert.equal((await run("y", "ses")).status, "completed");
  await move(purser, "ses");
});

Deno.test("a session can be moved elsewhere after any end of its run", async () => {
  await using purser = await openTestPurser();
  await purser.run({}, "What is 2+2? Use the calculator", { sessionId: "good" });
  await purser.run({ model: "demo:loop", tools: ["calculator"], maxSteps: 3 }, "Go", { sessionId: "loop" });
  await purser.run({ model: "demo:fail" }, "Hello", { sessionId: "failed" }).catch(() => {});
  await purser.run({ model: "demo:loop", tools: ["calculator"], costBudgetNanoUsd: 0n }, "Go", {
    sessionId: "spent",
  }).catch(() => {});
  await purser.run({}, "Hello", { sessionId: "cancelled", signal: AbortSignal.abort("x\ud800") }).catch(
    () => {},
  );
  for (const session of (await purser.api("GET", "/sessions")).body) await move(purser, session.session_id);
});
for (const [what, definition] of Object.entries(DEFINITIONS)) {
  Deno.test(`a session whose agent has ${what} can be moved elsewhere, defined or not`, async () => {
    await using purser = await openTestPurser();
    const agent = { ...AGENT_DEFAULTS, agentId: "agent", model: "demo:echo", ...definition };
    await purser.run(agent, "Hello", { sessionId: "ses" }).catch(() => {});
    await move(purser, "ses");
    await defineAgent(purser.core, agent);
    await move(purser, "ses");
  });
}

Deno.test("a definition of few fields keeps them, and has the defaults beside them", async () => {
  await using purser = await openTestPurser();
  const agent = { model: "demo:echo", max_steps: 3, extra: { a: [1] }, created_at: "some day" };
  await purser.api("POST", "/agents/snapshot/restore", snapshotOf({ agent }));
  assert.deepEqual((await purser.api("GET", "/agents/ses/snapshot")).body.agent, {
    agent_id: "agent",
    name: "agent",
    system_prompt: "",
    cost_budget_usd: null,
    budget_mode: "stop",
    allow_unpriced: false,
    max_output_tokens: null,
    tools: [],
    ...agent,
  });
});

Deno.test("a document of the maximum depth can be exported and imported repeatedly", async () => {
  // A value of the document may be 510 deep, counted from its own bracket.
  const places: Record<string, (document: LooseDocument) => unknown> = {
    "an unknown field": (document) => document.extra = nest(510),
    "the state": (document) => document.state.extra = nest(510),
    "the agent": (document) => document.agent.extra = nest(509),
    "a message": (document) => document.state.messages[0].mood = nest(509),
    "a tool's input": (document) => document.state.messages[2].content[2].input = nest(507),
    "an event": (document) => document.events[1].payload.deep = nest(508),
    "the token usage": (document) => document.state.token_usage.extra = nest(509),
  };
  for (const [name, put] of Object.entries(places)) {
    await using purser = await openTestPurser();
    let document = fullSnapshot();
    put(document);
    for (let hop = 0; hop < 3; hop++) {
      const { status, body } = await purser.api("POST", "/agents/snapshot/restore", document);
      assert.equal(status, 200, `${name}, hop ${hop}: ${JSON.stringify(body)}`);
      document = (await purser.api("GET", "/agents/ses/snapshot?with_events=true")).body;
    }
  }
});
