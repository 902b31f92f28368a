import { createAnthropic } from "@ai-sdk/anthropic";
import { createGoogleGenerativeAI } from "@ai-sdk/google";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import type { LanguageModelV4, LanguageModelV4Usage } from "@ai-sdk/provider";
import { wrapLanguageModel } from "ai";
import type { UsageApi } from "../../src/pricing/usage/mod.ts";
import type { FakeProvider } from "./fake_provider.ts";

/** The AI SDK's own model for an API, pointed at the fake provider. */
export function realModel(
  fake: FakeProvider,
  api: UsageApi,
  model: string,
  provider = "local",
): LanguageModelV4 {
  const apiKey = "not-a-key";
  switch (api) {
    case "openai-chat":
      return createOpenAI({ apiKey, baseURL: fake.baseUrls.openai }).chat(model);
    case "openai-responses":
      return createOpenAI({ apiKey, baseURL: fake.baseUrls.openai }).responses(model);
    case "anthropic":
      return createAnthropic({ apiKey, baseURL: fake.baseUrls.anthropic })(model);
    case "google":
      return createGoogleGenerativeAI({ apiKey, baseURL: fake.baseUrls.google })(model);
    case "openai-compatible":
      return createOpenAICompatible({
        name: provider,
        apiKey,
        baseURL: fake.baseUrls.compatible,
        includeUsage: true,
      })(model);
  }
}

/** A model that records the usage of each of its calls as the AI SDK's provider reported it. */
export function meteredModel(
  model: LanguageModelV4,
): { model: LanguageModelV4; usages: LanguageModelV4Usage[] } {
  const usages: LanguageModelV4Usage[] = [];
  const metered = wrapLanguageModel({
    model,
    middleware: {
      specificationVersion: "v4",
      async wrapGenerate({ doGenerate }) {
        const result = await doGenerate();
        usages.push(result.usage);
        return result;
      },
      async wrapStream({ doStream }) {
        const result = await doStream();
        const stream = result.stream.pipeThrough(
          new TransformStream({
            transform(part, controller) {
              if (part.type === "finish") usages.push(part.usage);
              controller.enqueue(part);
            },
          }),
        );
        return { ...result, stream };
      },
    },
  });
  return { model: metered as LanguageModelV4, usages };
}
