import { ChatAnthropic } from "#dev/langchain_anthropic.ts";
import { ChatOpenAI } from "#dev/langchain_openai.ts";
import { CALCULATOR, type Place, QUESTION, type RealClient, RESULT, retries } from "./client.ts";

const { name, description, schema } = CALCULATOR;
const tools = [{ type: "function", function: { name, description, parameters: schema } }];
const user = { role: "user", content: QUESTION };

function langchain(
  clientName: string,
  api: RealClient["api"],
  create: (place: Place, model: string) => ChatOpenAI | ChatAnthropic,
): RealClient {
  return {
    name: clientName,
    api,
    open(place, model) {
      const chat = create(place, model) as ChatOpenAI;
      const withTools = chat.bindTools(tools);
      return {
        whole: (signal) => chat.invoke(QUESTION, { signal }),
        async *stream(signal) {
          yield* await chat.stream(QUESTION, { signal });
        },
        async tools() {
          const first = await withTools.invoke([user]);
          const result = { role: "tool", tool_call_id: first.tool_calls![0]!.id, content: RESULT };
          return [first, await withTools.invoke([user, first, result])];
        },
        async *toolStream() {
          yield* await withTools.stream([user]);
        },
      };
    },
  };
}

const configured = ({ url, key }: Place) => ({ apiKey: key, configuration: { baseURL: `${url}/v1` } });

export const langchainChat = langchain(
  "@langchain/openai, chat completions",
  "openai-chat",
  (place, model) => new ChatOpenAI({ ...configured(place), ...retries(place), model }),
);

export const langchainResponses = langchain(
  "@langchain/openai, responses",
  "openai-responses",
  (place, model) => new ChatOpenAI({ ...configured(place), ...retries(place), model, useResponsesApi: true }),
);

/** Its SDK is an older one than `@anthropic-ai/sdk` alone, and sends the key as `x-api-key`. */
export const langchainAnthropic = langchain(
  "@langchain/anthropic, messages",
  "anthropic",
  (place, model) =>
    new ChatAnthropic({
      ...{ anthropicApiUrl: place.url, apiKey: place.key, model, maxTokens: 64 },
      ...retries(place),
    }),
);
