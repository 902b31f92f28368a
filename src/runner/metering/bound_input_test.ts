import assert from "node:assert/strict";
import type { LanguageModelV4CallOptions } from "@ai-sdk/provider";
import { boundInput } from "./bound_input.ts";

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

Deno.test("boundInput() refuses a prompt with a file, wherever it stands", () => {
  const file = { role: "user", content: [{ type: "file", mediaType: "image/png", data: "AA" }] } as never;
  for (const messages of [[file], [file, ...prompt], [...prompt, file, ...prompt]]) {
    assert.match(String(bound({ prompt: messages })), /holds a file/);
  }
});
