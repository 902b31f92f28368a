import Anthropic from "#dev/anthropic_sdk.ts";
import { CALCULATOR, QUESTION, type RealClient, RESULT, retries } from "./client.ts";

const { name, description, schema } = CALCULATOR;
const user = { role: "user", content: QUESTION } as const;

/** It sends its key as `Authorization: Bearer`. */
export const anthropicSdk: RealClient = {
  name: "@anthropic-ai/sdk, messages",
  api: "anthropic",
  open(place, model) {
    const { messages } = new Anthropic({ baseURL: place.url, apiKey: place.key, ...retries(place) });
    const input_schema = { ...schema, required: [...schema.required] };
    const tools = [{ name, description, input_schema }];
    const ask = { model, max_tokens: 64, messages: [user] };
    return {
      whole: (signal) => messages.create(ask, { signal }),
      async *stream(signal) {
        yield* await messages.create({ ...ask, stream: true }, { signal });
      },
      async tools() {
        const first = await messages.create({ ...ask, tools });
        const call = first.content.find((block) => block.type === "tool_use")!;
        const answer = { role: "assistant" as const, content: first.content };
        const result = { type: "tool_result" as const, tool_use_id: call.id, content: RESULT };
        const turn = { role: "user" as const, content: [result] };
        return [first, await messages.create({ ...ask, tools, messages: [user, answer, turn] })];
      },
      async *toolStream() {
        const stream = messages.stream({ ...ask, tools });
        yield* stream;
        yield await stream.finalMessage();
      },
    };
  },
};
