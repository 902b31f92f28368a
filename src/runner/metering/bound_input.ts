import { Buffer } from "node:buffer";
import type { LanguageModelV4CallOptions } from "@ai-sdk/provider";
import type { InputBound } from "../../calls/mod.ts";
import { InputEstimate } from "./estimate_input.ts";

/**
 * Tokens that providers add around a message, a tool and a request: role markers, the schema preamble, the tool-use system
 * prompt (Anthropic's is the longest, about 350 tokens). Generous, since `strict` relies on them.
 */
const TOKENS_AROUND_A_PART = 16;
const TOKENS_AROUND_A_CALL = 1_024;

/** The parts of a call that become input tokens. */
type Input = Pick<
  LanguageModelV4CallOptions,
  "prompt" | "tools" | "toolChoice" | "responseFormat" | "stopSequences" | "providerOptions" | "reasoning"
>;

/**
 * The provider options that add no tokens beyond the output limit. All others may: cached content, an earlier answer, a
 * remote tool, a thinking budget on top of the limit.
 */
const HARMLESS_OPTIONS: Readonly<Record<string, ReadonlySet<string>>> = {
  openai: new Set([
    "store",
    "user",
    "safetyIdentifier",
    "metadata",
    "strictJsonSchema",
    "parallelToolCalls",
    "textVerbosity",
    "reasoningEffort",
  ]),
};

/**
 * Bounds the input of a call. Tokenizers of the providers are byte-level: a token covers at least one byte of UTF-8, so the
 * number of bytes sent to the provider, as JSON, is a bound. Not bounded are media, which are counted by dimensions or
 * duration, tools that the provider runs, and most provider options, which add input of their own.
 */
export function boundInput(options: Input, counter = new PromptCounter()): InputBound {
  const open = findOpenOption(options);
  if (open) return { unboundedBecause: open };
  const prompt = counter.count(options.prompt);
  if (prompt.unboundedBecause !== undefined) return { unboundedBecause: prompt.unboundedBecause };
  let { parts } = prompt;
  for (const tool of options.tools ?? []) {
    parts++;
    if (tool.type !== "function") return { unboundedBecause: `the provider runs the tool ${tool.name}` };
  }
  const max = prompt.bytes + inputBytesOf({ ...options, prompt: [] }) + parts * TOKENS_AROUND_A_PART +
    TOKENS_AROUND_A_CALL;
  return { max };
}

type Prompt = LanguageModelV4CallOptions["prompt"];

/** The size of a prompt: the bytes of its messages as JSON, separated by commas, and its parts. */
interface PromptSize {
  bytes: number;
  parts: number;
  /** Set if a part has no bound. */
  unboundedBecause?: string;
}

/**
 * Counts the prompts of one loop, of which each continues the previous one: the messages before the last one are encoded
 * once, so that a step encodes no more than it adds. The last one is counted again, since the AI SDK may append the
 * results of further tools to it. A prompt with another beginning, end or number of parts there is counted whole.
 */
export class PromptCounter {
  /** The estimate of the same prompts. */
  readonly inputs = new InputEstimate();
  /** The size of the first `#length` messages, and the texts of the first and the last of them. */
  #size: PromptSize = { bytes: 0, parts: 0 };
  #length = 0;
  #edges = "";

  count(prompt: Prompt): PromptSize {
    if (this.#length > 0 && !this.#isContinuedBy(prompt)) {
      this.#size = { bytes: 0, parts: 0 };
      this.#length = 0;
    }
    const settled = Math.max(prompt.length - 1, 0);
    if (this.#length < settled) {
      while (this.#length < settled) this.#size = withMessage(this.#size, prompt[this.#length++]!);
      this.#edges = edgesOf(prompt, settled);
    }
    return settled < prompt.length ? withMessage(this.#size, prompt[settled]!) : this.#size;
  }

  #isContinuedBy(prompt: Prompt): boolean {
    if (this.#length >= prompt.length || edgesOf(prompt, this.#length) !== this.#edges) return false;
    let parts = 0;
    for (let index = 0; index < this.#length; index++) parts += countParts(prompt[index]!);
    return parts === this.#size.parts;
  }
}

function edgesOf(prompt: Prompt, length: number): string {
  return JSON.stringify([prompt[0], prompt[length - 1]]);
}

/** A message has parts, and is one itself. */
function countParts({ content }: Prompt[number]): number {
  return 1 + (typeof content === "string" ? 0 : content.length);
}

function withMessage(size: PromptSize, message: Prompt[number]): PromptSize {
  return {
    bytes: size.bytes + Buffer.byteLength(JSON.stringify(message)) + 1,
    parts: size.parts + countParts(message),
    unboundedBecause: size.unboundedBecause ?? findOpenPart(message),
  };
}

function findOpenPart({ content }: Prompt[number]): string | undefined {
  if (typeof content === "string") return undefined;
  for (const part of content) {
    if (part.type === "file" || part.type === "reasoning-file") {
      return `its prompt holds a file (${part.mediaType})`;
    }
    if (part.type === "tool-result" && part.output.type === "content") {
      const media = part.output.value.find((item) => item.type !== "text");
      if (media) return `a result of the tool ${part.toolName} holds more than text`;
    }
  }
  return undefined;
}

function findOpenOption({ providerOptions = {}, reasoning = "none" }: Input): string | undefined {
  if (reasoning !== "none" && reasoning !== "provider-default") {
    return "a reasoning effort may come on top of its output limit";
  }
  for (const [provider, options] of Object.entries(providerOptions)) {
    const name = Object.keys(options).find((key) => !HARMLESS_OPTIONS[provider]?.has(key));
    if (name !== undefined) return `the provider option ${provider}.${name} may add tokens`;
  }
  return undefined;
}

/** Returns the bytes of a call that become input. */
export function inputBytesOf(options: Input): number {
  const { prompt, tools, toolChoice, responseFormat, stopSequences, providerOptions } = options;
  return Buffer.byteLength(
    JSON.stringify([prompt, tools, toolChoice, responseFormat, stopSequences, providerOptions]),
  );
}
