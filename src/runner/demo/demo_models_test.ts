import type { LanguageModelV4, LanguageModelV4Prompt, LanguageModelV4StreamPart } from "@ai-sdk/provider";
import { APICallError } from "@ai-sdk/provider";
import { generateText, isStepCount, type ModelMessage, streamText, tool } from "ai";
import assert from "node:assert/strict";
import { z } from "zod";
import { fixedClock } from "../../kernel/clock.ts";
import { DEMO_MODELS } from "../../contract/values.ts";
import { createDemoModel, findExpression } from "./demo_models.ts";
import { createToolbox } from "../tools/mod.ts";

const toolbox = createToolbox({ clock: fixedClock("2026-07-01T12:00:00Z") });
const tools = await toolbox.pick(["calculator", "current_time"]);
const echo = createDemoModel("echo")!;
const loop = createDemoModel("loop")!;

function ask(model: LanguageModelV4, prompt: string | ModelMessage[], options: { maxSteps?: number } = {}) {
  return generateText({ model, prompt, tools, stopWhen: isStepCount(options.maxSteps ?? 10) });
}

function says(text: string): LanguageModelV4Prompt {
  return [{ role: "user", content: [{ type: "text", text }] }];
}

async function collect(
  stream: ReadableStream<LanguageModelV4StreamPart>,
): Promise<LanguageModelV4StreamPart[]> {
  return await Array.fromAsync(stream);
}

Deno.test("createDemoModel() knows echo, loop and fail, and nothing else", () => {
  for (const name of DEMO_MODELS) assert.equal(createDemoModel(name)?.modelId, name);
  assert.equal(createDemoModel("gpt"), undefined);
});

Deno.test("demo:echo answers with the user's last text", async () => {
  const { text, steps } = await ask(echo, [
    { role: "user", content: "first" },
    { role: "assistant", content: "ok" },
    { role: "user", content: "hello there" },
  ]);
  assert.equal(text, "You said: hello there");
  assert.equal(steps.length, 1);
});

Deno.test("demo:echo uses its tools where the text asks for them", async () => {
  const { text, steps } = await ask(echo, "What is 12 * (3 + 4), and what time is it in Europe/Berlin?");
  assert.deepEqual(steps.map((step) => step.toolCalls.map((call) => [call.toolName, call.input])), [
    [["calculator", { expression: "12 * (3 + 4)" }], ["current_time", { timezone: "Europe/Berlin" }]],
    [],
  ]);
  assert.equal(
    text,
    "You said: What is 12 * (3 + 4), and what time is it in Europe/Berlin?\n" +
      "The calculator says 84.\nThe time is 2026-07-01T14:00:00+02:00.",
  );
});

Deno.test("demo:echo repeats a tool's error", async () => {
  const { text } = await ask(echo, "1 / 0");
  assert.equal(text, "You said: 1 / 0\ncalculator failed: Cannot calculate: it divides by zero");
});

Deno.test("demo:echo calls no tool that the agent doesn't have", async () => {
  const { text } = await generateText({ model: echo, prompt: "2 + 2" });
  assert.equal(text, "You said: 2 + 2");
});

Deno.test("findExpression() distinguishes arithmetic from dates, numbers and words", () => {
  const cases: [string, string | undefined][] = [
    ["what is 2+2?", "2+2"],
    ["(see 2 + 3)", "2 + 3"],
    ["sqrt(16) please", "sqrt(16)"],
    ["is -3 * -2 positive", "-3 * -2"],
    ["5 or 17 * 3?", "17 * 3"],
    ["on 2026-07-01", undefined],
    ["call 555-123-4567", undefined],
    ["I have 3 apples", undefined],
    ["and/or (maybe)", undefined],
    ["((((", undefined],
    ["", undefined],
  ];
  for (const [text, expected] of cases) assert.equal(findExpression(text), expected, text);
});

Deno.test("demo:loop calls the calculator until something else stops it", async () => {
  const { steps } = await ask(loop, "go", { maxSteps: 5 });
  assert.deepEqual(
    steps.flatMap((step) => step.toolCalls.map((call) => call.input)),
    [1, 2, 3, 4, 5].map((n) => ({ expression: `${n} * ${n}` })),
  );
  assert.equal(steps.at(-1)?.finishReason, "tool-calls");
});

Deno.test("demo:loop stops after as many calls as the text asks for", async () => {
  for (const text of ["loop 3 times", "times: 3"]) {
    const answer = await ask(loop, text);
    assert.equal(answer.steps.length, 4);
    assert.equal(answer.text, "Called calculator 3 times.");
  }
  assert.equal((await ask(loop, "times: 0")).text, "Called calculator 0 times.");
});

Deno.test("demo:loop makes up an input that another tool accepts", async () => {
  const book = tool({
    inputSchema: z.object({
      seat: z.number().int().min(3).max(4),
      name: z.string(),
      kind: z.enum(["aisle", "window"]),
      meal: z.boolean(),
      legs: z.array(z.object({ to: z.string() })).min(1),
      note: z.string().optional(),
    }),
    execute: () => "booked",
  });
  const { steps } = await generateText({
    model: loop,
    prompt: "3 times",
    tools: { book },
    stopWhen: isStepCount(9),
  });
  assert.deepEqual(steps.flatMap((step) => step.toolResults.map((result) => result.output)), [
    "booked",
    "booked",
    "booked",
  ]);
  const seats = steps.flatMap((step) => step.toolCalls.map((call) => (call.input as { seat: number }).seat));
  assert.deepEqual(seats, [3, 4, 3]);
});

Deno.test("demo:loop says that it needs a tool", async () => {
  const { text } = await generateText({ model: loop, prompt: "go" });
  assert.match(text, /has no tool to call/);
});

Deno.test("demo:fail fails without being retried", async () => {
  const model = createDemoModel("fail")!;
  await assert.rejects(generateText({ model, prompt: "hi" }), (error) => {
    assert.ok(APICallError.isInstance(error));
    assert.equal(error.isRetryable, false);
    return true;
  });
});

Deno.test("demo models count a token per four bytes, and what was sent before as a cache read", async () => {
  const { steps } = await generateText({
    model: loop,
    instructions: "Be brief", // 8 bytes
    prompt: "times: 2", // 8 bytes
    tools,
    stopWhen: isStepCount(9),
  });
  const usage = steps.map((step) => [
    step.usage.inputTokens,
    step.usage.inputTokenDetails.cacheReadTokens,
    step.usage.outputTokens,
  ]);
  // A call is `calculator{"expression":"1 * 1"}` (32 bytes), its result `calculator{"result":1}` (22 bytes).
  const call = 'calculator{"expression":"1 * 1"}'.length;
  const result = 'calculator{"result":1}'.length;
  const answer = "Called calculator 2 times.".length;
  assert.deepEqual(usage, [
    [16 / 4, 0, call / 4],
    [Math.ceil((16 + call + result) / 4), 16 / 4, call / 4],
    [
      Math.ceil((16 + 2 * (call + result)) / 4),
      Math.ceil((16 + call + result) / 4),
      Math.ceil(answer / 4),
    ],
  ]);
});

Deno.test("demo models give every tool call of a session its own id, the same on every run", async () => {
  const first = await ask(echo, "2 + 2");
  const second = await ask(echo, [
    { role: "user", content: "2 + 2" },
    ...first.responseMessages,
    { role: "user", content: "3 + 3 and the time" },
  ]);
  const ids = [first, second].flatMap(({ steps }) =>
    steps.flatMap((step) => step.toolCalls.map((c) => c.toolCallId))
  );
  assert.deepEqual(ids, ["demo_1", "demo_2", "demo_3"]);
});

Deno.test("demo models stream the answer that they generate, in several deltas", async () => {
  const prompt = "give me 6 * 7 twice, with  two blanks \n";
  const generated = await ask(echo, prompt);
  const streamed = streamText({ model: echo, prompt, tools, stopWhen: isStepCount(10) });
  const deltas = await Array.fromAsync(streamed.textStream);
  assert.ok(deltas.length > 5);
  assert.equal(deltas.join(""), generated.text);
  assert.deepEqual((await streamed.usage).raw, generated.usage.raw);
  assert.deepEqual((await streamed.usage).inputTokens, generated.usage.inputTokens);
  assert.deepEqual(
    (await streamed.steps).map((step) => step.toolCalls.map((call) => [call.toolCallId, call.input])),
    generated.steps.map((step) => step.toolCalls.map((call) => [call.toolCallId, call.input])),
  );
});

Deno.test("demo models stop at maxOutputTokens", async () => {
  const cut = await echo.doGenerate({ prompt: says("äöü äöü äöü"), maxOutputTokens: 3 });
  assert.deepEqual(cut.content, [{ type: "text", text: "You said: ä" }]);
  assert.equal(cut.finishReason.unified, "length");
  assert.equal(cut.usage.outputTokens.total, 3);
  const call = await loop.doGenerate({
    prompt: says("go"),
    maxOutputTokens: 2,
    tools: [{ type: "function", name: "calculator", inputSchema: {} }],
  });
  assert.deepEqual(call.content, []);
  assert.equal(call.finishReason.unified, "length");
  const exact = await echo.doGenerate({ prompt: says("ab"), maxOutputTokens: 3 });
  assert.deepEqual(exact.content, [{ type: "text", text: "You said: ab" }]);
  assert.equal(exact.finishReason.unified, "stop");
});

Deno.test("demo models follow the abort signal, before and in a stream", async () => {
  const reason = new Error("enough");
  await assert.rejects(
    async () => await echo.doGenerate({ prompt: says("a"), abortSignal: AbortSignal.abort(reason) }),
    reason,
  );
  const controller = new AbortController();
  const { stream } = await echo.doStream({ prompt: says("one two three"), abortSignal: controller.signal });
  const reader = stream.getReader();
  await reader.read();
  controller.abort(reason);
  await assert.rejects(() => reader.read(), reason);
});

Deno.test("demo streams begin with their warnings and end with their usage", async () => {
  const { stream } = await loop.doStream({
    prompt: says("go"),
    tools: [{ type: "function", name: "calculator", inputSchema: {} }],
  });
  assert.deepEqual((await collect(stream)).map((part) => part.type), [
    "stream-start",
    "response-metadata",
    "tool-input-start",
    "tool-input-delta",
    "tool-input-end",
    "tool-call",
    "finish",
  ]);
});
