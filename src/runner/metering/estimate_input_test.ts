import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import type { LanguageModelV4CallOptions } from "@ai-sdk/provider";
import { estimateInput } from "./estimate_input.ts";

type Prompt = LanguageModelV4CallOptions["prompt"];

const text = (text: string): Prompt[number] => ({ role: "user", content: [{ type: "text", text }] });
const file = (mediaType: string, data: Uint8Array): Prompt[number] => ({
  role: "user",
  content: [{ type: "file", mediaType, data: { type: "data", data } }],
});

Deno.test("an estimate has each text in UTF-8, and no less than its bytes, with little around it", () => {
  const texts = ["x".repeat(10_000), "日本語".repeat(1_000), "é".repeat(500)];
  const bytes = texts.reduce((sum, each) => sum + Buffer.byteLength(each), 0);
  const prompt: Prompt = [{ role: "system", content: texts[0]! }, text(texts[1]!), {
    role: "tool",
    content: [{
      type: "tool-result",
      toolCallId: "1",
      toolName: "t",
      output: { type: "text", value: texts[2]! },
    }],
  }];
  const estimate = estimateInput({ prompt });
  assert.ok(estimate >= bytes && estimate < bytes + 200, `${estimate} of ${bytes}`);
});

Deno.test("an estimate counts media as what they cost at most, other files as text, and tools", () => {
  const size = (mediaType: string) => estimateInput({ prompt: [file(mediaType, new Uint8Array(1_000_000))] });
  assert.ok(size("image/png") <= 20_100);
  assert.ok(size("audio/wav") <= 10_200);
  assert.ok(size("application/pdf") >= 1_000_000);
  const inputSchema = { type: "object" as const, description: "x".repeat(5_000) };
  const tools = [{ type: "function" as const, name: "t", inputSchema }];
  for (let call = 0; call < 2; call++) {
    const bytes = estimateInput({ prompt: [text("Hi")], tools });
    assert.ok(bytes >= 5_000 && bytes < 5_200, `${bytes}`);
  }
});
