import assert from "node:assert/strict";
import type { LanguageModelV4CallOptions } from "@ai-sdk/provider";
import { boundInput, PromptCounter } from "./bound_input.ts";

const prompt: LanguageModelV4CallOptions["prompt"] = [{
  role: "user",
  content: [{ type: "text", text: "Hi" }],
}];

function bound(more: Partial<LanguageModelV4CallOptions>): number | string {
  const result = boundInput({ prompt, ...more });
  return "max" in result ? result.max : result.unboundedBecause;
}

Deno.test("boundInput() counts every byte of all that goes to the provider", () => {
  const text = "x".repeat(100_000);
  const plain = bound({}) as number;
  const fields: Partial<LanguageModelV4CallOptions>[] = [
    { responseFormat: { type: "json", schema: { description: text } } },
    { tools: [{ type: "function", name: "t", description: text, inputSchema: {} }] },
    { toolChoice: { type: "tool", toolName: text } },
    { stopSequences: [text] },
    { providerOptions: { openai: { metadata: { text } } } },
  ];
  for (const field of fields) {
    assert.ok(bound(field) as number >= plain + text.length, Object.keys(field).join());
  }
});

Deno.test("boundInput() refuses inputs whose tokens can't be bounded", () => {
  const all: LanguageModelV4CallOptions["providerOptions"][] = [
    { google: { cachedContent: "cachedContents/1" } },
    { openai: { previousResponseId: "resp_1" } },
    { anthropic: { mcpServers: [] } },
    { anthropic: { thinking: { type: "enabled", budgetTokens: 10_000 } } },
    { unknown: { anything: true } },
  ];
  for (const providerOptions of all) {
    assert.match(String(bound({ providerOptions })), /provider option \w+\.\w+ may add tokens/);
  }
  assert.match(String(bound({ reasoning: "high" })), /reasoning effort/);
  assert.equal(typeof bound({ reasoning: "none", providerOptions: { openai: { store: false } } }), "number");
});

type Message = LanguageModelV4CallOptions["prompt"][number];

const called = (step: number): Message => ({
  role: "assistant",
  content: [{ type: "tool-call", toolCallId: `c${step}`, toolName: "t", input: { text: "é".repeat(step) } }],
});
const results = (...steps: number[]): Message => ({
  role: "tool",
  content: steps.map((step) => ({
    type: "tool-result" as const,
    toolCallId: `c${step}`,
    toolName: "t",
    output: { type: "text" as const, value: `${step}` },
  })),
});

Deno.test("boundInput() bounds each prompt of a loop as one of its own, also where the last message has grown", () => {
  const counter = new PromptCounter();
  const history: Message[] = [{ role: "system", content: "Be brief" }, ...prompt];
  const prompts: Message[][] = [[], history, history];
  for (let step = 1; step <= 20; step++) {
    prompts.push([...history, called(step), results(step)]);
    prompts.push([...history, called(step), results(step, step + 100)]);
    history.push(called(step), results(step, step + 100));
  }
  // A prompt that doesn't continue the previous one: shorter, and with another beginning.
  prompts.push(history.slice(0, 9), [...prompt, ...prompt, called(1)], history);
  for (const messages of prompts) {
    assert.deepEqual(boundInput({ prompt: messages }, counter), boundInput({ prompt: messages }));
  }
  const file: Message = {
    role: "user",
    content: [{ type: "file", mediaType: "image/png", data: "AA" }],
  } as never;
  for (const more of [[file], [file, called(1)], [file, called(1), results(1)]]) {
    assert.ok("unboundedBecause" in boundInput({ prompt: [...history, ...more] }, counter));
  }
  assert.ok("max" in boundInput({ prompt: history }, counter), "it is forgotten with the prompt");
});

Deno.test("a step of a loop encodes what it adds, however long the prompt is", () => {
  let encoded = 0;
  const counted = (message: Message): Message => ({
    ...message,
    toJSON() {
      encoded++;
      return message;
    },
  } as unknown as Message);
  const counter = new PromptCounter();
  const history = Array.from({ length: 1_000 }, (_, step) => [called(step), results(step)]).flat().map(
    counted,
  );
  counter.count(history);
  assert.ok(encoded <= history.length + 2, "the first and the last once more");
  for (let step = 0; step < 10; step++) {
    encoded = 0;
    history.push(counted(called(step)), counted(results(step)));
    counter.count(history);
    assert.ok(encoded <= 7, `${encoded} messages were encoded`);
  }
});
