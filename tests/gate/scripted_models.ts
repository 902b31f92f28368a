import {
  anthropicAnswer,
  geminiAnswer,
  openaiResponsesAnswer,
  type WireAnswer,
  type WireContent,
} from "../fixtures/providers/mod.ts";
import { type FakeProvider, type ProviderRequest, startFakeProvider } from "../harness/fake_provider.ts";

/** A step of a conversation: a tool that the model calls, or else its last words. */
export interface Step {
  tool?: string;
  input?: Record<string, unknown>;
  /** The group of the tool, of Codex. */
  namespace?: string;
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
    const { tool, input = {}, namespace } = scripts[name]?.[turns] ?? {};
    const toolCall = tool === undefined
      ? undefined
      : { id: `toolu_${name}_${turns}_${count}`, name: tool, input };
    const content = { model: request.model, text: `Done with ${name}.`, toolCall };
    const id = String(count).padStart(24, "0");
    const answer = answerOf(request.api, content);
    // By its id a call is counted once.
    const frames = answer.frames.map((frame) =>
      frame.replace(/(?<="(?:id":"(?:msg|resp)_|responseId":"))\w+/g, id)
        .replaceAll(`"name":"${tool}"`, (named) => namespace ? `${named},"namespace":"${namespace}"` : named)
    );
    return { answer: { ...answer, frames } };
  });
  return Object.assign(provider, { played });
}

/** Returns the script of a conversation, and how many of its steps were answered. */
function placeIn({ api, body }: ProviderRequest): { name: string; turns: number } {
  const items = { anthropic: body.messages, google: body.contents }[api as string] ?? body.input;
  const texts: { isAnswer: boolean; text: string }[] = items.map((item: Record<string, unknown>) => ({
    isAnswer: ["assistant", "model"].includes(item.role as string) || /_call$/.test(String(item.type)),
    text: JSON.stringify(item),
  }));
  const last = texts.findLastIndex(({ isAnswer, text }) => !isAnswer && text.includes("<<"));
  const name = texts[last]?.text.match(/<<(\w+)>>/)?.[1] ?? "other";
  return { name, turns: texts.slice(last + 1).filter(({ isAnswer }) => isAnswer).length };
}

function answerOf(api: ProviderRequest["api"], content: Omit<WireContent, "usage">): WireAnswer {
  const [input, output] = [INPUT_TOKENS, OUTPUT_TOKENS];
  if (api === "anthropic") {
    return anthropicAnswer({ ...content, usage: { input_tokens: input, output_tokens: output } });
  }
  if (api === "google") {
    const usage = { promptTokenCount: input, candidatesTokenCount: output, totalTokenCount: input + output };
    return geminiAnswer({ ...content, usage });
  }
  return openaiResponsesAnswer({
    ...content,
    usage: {
      input_tokens: input,
      output_tokens: output,
      total_tokens: input + output,
      input_tokens_details: { cached_tokens: 0 },
      output_tokens_details: { reasoning_tokens: 0 },
    },
  });
}
