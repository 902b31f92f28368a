import assert from "node:assert/strict";
import { APICallError, JSONParseError, TypeValidationError } from "@ai-sdk/provider";
import { usageOf } from "../../pricing/mod.ts";
import { readFailedAnswer } from "./failed_answer.ts";

const ten = usageOf({ inputTokens: 10, outputTokens: 2 });
const chat = { prompt_tokens: 10, completion_tokens: 2 };
const messages = { input_tokens: 10, output_tokens: 2 };
const gemini = { promptTokenCount: 10, candidatesTokenCount: 2 };

function apiError(responseBody: unknown, more = {}): APICallError {
  return new APICallError({
    message: "Failed",
    url: "https://api.example",
    requestBodyValues: {},
    statusCode: 500,
    responseBody: responseBody as string,
    ...more,
  });
}

const WITH_USAGE: [name: string, provider: string, error: unknown][] = [
  ["the body of an error status", "openai.chat", apiError(JSON.stringify({ error: {}, usage: chat }))],
  ["the error inside the body", "local.chat", apiError(JSON.stringify({ error: { usage: chat } }))],
  ["a body of Anthropic", "anthropic.messages", apiError(JSON.stringify({ usage: messages }))],
  ["a body of Gemini", "google.generative-ai", apiError(JSON.stringify({ usageMetadata: gemini }))],
  [
    "the last of a list of chunks",
    "google.generative-ai",
    apiError(JSON.stringify([{ usageMetadata: { promptTokenCount: 10 } }, { usageMetadata: gemini }])),
  ],
  ["a parsed body", "openai.responses", apiError({ id: "r", usage: messages })],
  ["an event", "openai.responses", apiError(JSON.stringify({ type: "x", response: { usage: messages } }))],
  [
    "a stream in place of an answer",
    "openai.chat",
    apiError(`data: {"choices":[],"usage":${JSON.stringify(chat)}}\n\n`),
  ],
  ["the cause", "openai.chat", new Error("Failed", { cause: apiError(JSON.stringify({ usage: chat })) })],
  [
    "a value of another type",
    "openai.chat",
    new TypeValidationError({ value: { usage: chat }, cause: new Error() }),
  ],
  ["a usage known by its shape", "my-gateway", apiError(JSON.stringify({ usage: chat }))],
];

for (const [name, provider, error] of WITH_USAGE) {
  Deno.test(`readFailedAnswer() reads the usage of ${name}`, () => {
    assert.deepEqual(readFailedAnswer(provider, error).counted, ten);
  });
}

Deno.test("readFailedAnswer() reads the tier and the id of the answer", () => {
  const body = JSON.stringify({ id: "resp_1", service_tier: "flex", usage: chat });
  const { served, responseId } = readFailedAnswer("openai.chat", apiError(body));
  assert.deepEqual([served?.serviceTier, responseId], ["flex", "resp_1"]);
});

const WITH_TEXT: [name: string, error: unknown, text: string][] = [
  ["what is not JSON", apiError("<html>"), "<html>"],
  ["what is cut off", new JSONParseError({ text: '{"text":"a', cause: new Error() }), '{"text":"a'],
  [
    "the messages of a model",
    apiError('{"choices":[{"message":{"content":"abc","refusal":"d"}}],"id":"x"}'),
    "abcd",
  ],
  [
    "thoughts and the arguments of tools",
    apiError('{"content":[{"thinking":"t"},{"input":{"a":1}}]}'),
    't{"a":1}',
  ],
  ["JSON without text", apiError('{"surprise":1}'), '{"surprise":1}'],
  ["a broken stream", apiError('data: {"delta":{"text":"ab"}}\n\ndata: {"delta":{"text":"c"}}\n\n'), "abc"],
];

for (const [name, error, text] of WITH_TEXT) {
  Deno.test(`readFailedAnswer() reads the text of ${name}`, () => {
    const answer = readFailedAnswer("openai.chat", error);
    assert.equal(answer.counted, undefined);
    assert.equal(answer.unreadText, text);
  });
}

Deno.test("readFailedAnswer() finds nothing in errors that hold none", () => {
  for (
    const error of [undefined, null, "text", new Error("x"), apiError(undefined), { data: { usage: 7 } }]
  ) {
    assert.equal(readFailedAnswer("openai.chat", error).counted, undefined);
  }
});
