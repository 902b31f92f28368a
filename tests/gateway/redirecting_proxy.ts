import type { ProviderSettings } from "../../src/config/mod.ts";
import { openTestPurser, type TestPurser } from "../harness/test_purser.ts";
import { type PlainProvider, type PlainRequest, startPlainProvider } from "./plain_provider.ts";

/** A gateway before a proxy that takes the model from a query parameter or a header before the body's. */

export const CHAT = { model: "cheap", messages: [{ role: "user", content: "Hi" }] };
const ANSWER = {
  object: "chat.completion",
  choices: [{ index: 0, finish_reason: "stop", message: { role: "assistant", content: "Hi" } }],
  usage: { prompt_tokens: 1_000, completion_tokens: 1_000 },
};

export const CALLS: Record<string, { path: string; body: Record<string, unknown> }> = {
  lite: { path: "/lite/v1/chat/completions", body: CHAT },
  openai: { path: "/openai/v1/responses", body: { model: "gpt-4o-mini", input: "Hi" } },
  embeddings: { path: "/lite/v1/embeddings", body: { model: "cheap", input: "Hi" } },
  anthropic: {
    path: "/anthropic/v1/messages",
    body: { model: "claude-haiku-4-5", max_tokens: 9, messages: [] },
  },
  gemini: { path: "/gemini/v1beta/models/gemini-2.5-flash:generateContent", body: { contents: [] } },
};

/** Returns the model that a proxy like LiteLLM calls. */
function modelOf({ path, headers, body }: PlainRequest): string {
  const { searchParams } = new URL(path, "http://x");
  return searchParams.get("model") ?? headers.get("x-litellm-model") ?? headers.get("x-ai-eg-model") ??
    JSON.parse(body).model;
}

interface Gateway {
  purser: TestPurser;
  provider: PlainProvider;
  called: string[];
  send(
    path: string,
    body?: unknown,
    headers?: Record<string, string>,
  ): Promise<{ status: number; text: string }>;
}

export async function withProxy(
  test: (gateway: Gateway) => Promise<void>,
  more: Partial<ProviderSettings> = {},
): Promise<void> {
  const called: string[] = [];
  await using provider = startPlainProvider((request) => {
    if (request.method === "POST") called.push(modelOf(request));
    return Response.json(ANSWER);
  });
  const price = (model: string, usd: number) => ({
    provider: "lite",
    model,
    input_usd_per_million: usd,
    output_usd_per_million: usd,
  });
  await using purser = await openTestPurser({
    fake: provider,
    config: {
      prices: [price("cheap", 1), price("dear", 100_000)],
      providers: {
        lite: { baseUrl: provider.baseUrls.compatible, apiKey: "sk-lite-1234567890", ...more },
        azure: {
          baseUrl: `${provider.baseUrls.compatible.replace("/v1", "/openai/v1/")}?api-version=preview`,
          apiKey: "0123456789abcdef",
        },
      },
    },
  });
  await test({
    ...{ purser, provider, called },
    async send(path, body, headers = {}) {
      const response = await purser.app.request(path, {
        method: body === undefined ? "GET" : "POST",
        headers: { "content-type": "application/json", ...headers },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      });
      return { status: response.status, text: await response.text() };
    },
  });
}
