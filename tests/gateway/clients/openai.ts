import { OpenAI } from "#dev/openai.ts";
import { CALCULATOR, QUESTION, type RealClient, RESULT, retries } from "./client.ts";

const { name, description, schema } = CALCULATOR;
const user = { role: "user", content: QUESTION } as const;

export const openaiChat: RealClient = {
  name: "openai, chat completions",
  api: "openai-chat",
  open(place, model) {
    const { chat } = new OpenAI({ baseURL: `${place.url}/v1`, apiKey: place.key, ...retries(place) });
    const tools = [{ type: "function" as const, function: { name, description, parameters: schema } }];
    const ask = { model, messages: [user] };
    return {
      whole: (signal) => chat.completions.create(ask, { signal }),
      async *stream(signal) {
        yield* await chat.completions.create({ ...ask, stream: true }, { signal });
      },
      async tools() {
        const first = await chat.completions.create({ ...ask, tools });
        const { message } = first.choices[0]!;
        const result = { role: "tool" as const, tool_call_id: message.tool_calls![0]!.id, content: RESULT };
        return [first, await chat.completions.create({ model, tools, messages: [user, message, result] })];
      },
      async *toolStream() {
        const stream = chat.completions.stream({ ...ask, tools, stream_options: { include_usage: true } });
        yield* stream;
        yield await stream.finalChatCompletion();
      },
    };
  },
};

export const openaiResponses: RealClient = {
  name: "openai, responses",
  api: "openai-responses",
  open(place, model) {
    const { responses } = new OpenAI({ baseURL: `${place.url}/v1`, apiKey: place.key, ...retries(place) });
    const tools = [{ type: "function" as const, name, description, parameters: schema, strict: true }];
    const ask = { model, input: QUESTION };
    return {
      whole: (signal) => responses.create(ask, { signal }),
      async *stream(signal) {
        yield* await responses.create({ ...ask, stream: true }, { signal });
      },
      async tools() {
        const first = await responses.create({ ...ask, tools });
        const call = first.output.find((item) => item.type === "function_call")!;
        const result = { type: "function_call_output" as const, call_id: call.call_id, output: RESULT };
        return [first, await responses.create({ model, tools, input: [user, call, result] })];
      },
      async *toolStream() {
        const stream = responses.stream({ ...ask, tools });
        yield* stream;
        yield await stream.finalResponse();
      },
    };
  },
};
