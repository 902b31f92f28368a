import { createAnthropic } from "@ai-sdk/anthropic";
import { createGoogleGenerativeAI } from "@ai-sdk/google";
import { createOpenAI } from "@ai-sdk/openai";
import { generateText, isStepCount, jsonSchema, type LanguageModel, streamText, tool } from "ai";
import { CALCULATOR, type Place, QUESTION, type RealClient, RESULT, retries } from "./client.ts";

function aiSdk(
  name: string,
  api: RealClient["api"],
  create: (place: Place, model: string) => LanguageModel,
): RealClient {
  return {
    name,
    api,
    open(place, modelId) {
      const model = create(place, modelId);
      // The ids and times that it makes up are the same in both places.
      let ids = 0;
      const generateId = () => `made-${++ids}`;
      const options = {
        model,
        prompt: QUESTION,
        maxOutputTokens: 64,
        ...retries(place),
        include: { requestBody: true, responseBody: true },
        _internal: { generateId, generateCallId: generateId, now: () => 0 },
      };
      const { description, schema } = CALCULATOR;
      const inputSchema = jsonSchema<{ expression: string }>(schema as object);
      const calculator = tool({ description, inputSchema, execute: () => RESULT });
      const callOnly = tool({ description, inputSchema });
      const onError = () => {}; // it prints errors otherwise
      return {
        async whole(abortSignal) {
          return (await generateText({ ...options, abortSignal })).steps;
        },
        stream: (abortSignal) =>
          streamText({ ...options, abortSignal, onError, includeRawChunks: true }).fullStream,
        async tools() {
          const stopWhen = isStepCount(2);
          return (await generateText({ ...options, stopWhen, tools: { calculator } })).steps;
        },
        toolStream: () => streamText({ ...options, onError, tools: { calculator: callOnly } }).fullStream,
      };
    },
  };
}

const openai = ({ url, key }: Place) => createOpenAI({ baseURL: `${url}/v1`, apiKey: key });

export const aiSdkOpenai = aiSdk(
  "ai, @ai-sdk/openai, responses",
  "openai-responses",
  (place, model) => openai(place)(model),
);

export const aiSdkOpenaiChat = aiSdk(
  "ai, @ai-sdk/openai, chat completions",
  "openai-chat",
  (place, model) => openai(place).chat(model),
);

export const aiSdkAnthropic = aiSdk(
  "ai, @ai-sdk/anthropic, messages",
  "anthropic",
  ({ url, key }, model) => createAnthropic({ baseURL: `${url}/v1`, apiKey: key })(model),
);

export const aiSdkGoogle = aiSdk(
  "ai, @ai-sdk/google, generateContent",
  "google",
  ({ url, key }, model) => createGoogleGenerativeAI({ baseURL: `${url}/v1beta`, apiKey: key })(model),
);
