import { anthropicAnswer, openaiResponsesAnswer } from "../fixtures/providers/mod.ts";
import { type FakeProvider, type ProviderRequest, startFakeProvider } from "../harness/fake_provider.ts";

/** A step of a conversation: a tool that the model calls, or else its last words. */
export interface Step {
  tool?: string;
  input?: Record<string, unknown>;
}

/** The scripts of conversations by the marker in their prompts, such as `<<main>>`. A conversation without one is answered at once. */
export type Scripts = Readonly<Record<string, readonly Step[]>>;

/** A provider that plays scripts, and the names of those whose model calls it has answered, in their order. */
export interface ScriptedProvider extends FakeProvider {
  played: string[];
}

/** Each answer costs so much of the models that are used here. */
const INPUT_TOKENS = 10_000;
const OUTPUT_TOKENS = 1_000;

export async function startScriptedProvider(scripts: Scripts): Promise<ScriptedProvider> {
  const played: string[] = [];
  let count = 0;
  const provider = await startFakeProvider((request) => {
    const { name, turns } = placeIn(request);
    played.push(name);
    count++;
    const { tool, input = {} } = scripts[name]?.[turns] ?? {};
    const toolCall = tool === undefined
      ? undefined
      : { id: `toolu_${name}_${turns}_${count}`, name: tool, input };
    const content = { model: request.model, text: `Done with ${name}.`, toolCall };
    const id = String(count).padStart(24, "0");
    const answer = request.api === "anthropic"
      ? anthropicAnswer({ ...content, usage: { input_tokens: INPUT_TOKENS, output_tokens: OUTPUT_TOKENS } })
      : openaiResponsesAnswer({
        ...content,
        usage: {
          input_tokens: INPUT_TOKENS,
          output_tokens: OUTPUT_TOKENS,
          total_tokens: INPUT_TOKENS + OUTPUT_TOKENS,
          input_tokens_details: { cached_tokens: 0 },
          output_tokens_details: { reasoning_tokens: 0 },
        },
      });
    // By its id a call is counted once.
    const frames = answer.frames.map((frame) => frame.replace(/(?<="id":"(?:msg|resp)_)\w+/g, id));
    return { answer: { ...answer, frames } };
  });
  return Object.assign(provider, { played });
}

/** Returns the script of a conversation, and how many of its steps were answered. */
function placeIn({ api, body }: ProviderRequest): { name: string; turns: number } {
  const items = (api === "anthropic" ? body.messages : body.input) as Record<string, unknown>[];
  const prompts = JSON.stringify(items.filter(({ role }) => role === "user"));
  const name = [...prompts.matchAll(/<<(\w+)>>/g)].at(-1)?.[1] ?? "other";
  const after = items.findLastIndex((item) =>
    item.role === "user" && JSON.stringify(item).includes(`<<${name}>>`)
  );
  const answered = items.slice(after + 1).filter(({ role, type }) =>
    api === "anthropic" ? role === "assistant" : type === "function_call" || type === "custom_tool_call"
  );
  return { name, turns: answered.length };
}
